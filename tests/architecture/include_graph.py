#!/usr/bin/env python3
"""Checks who includes whom: no circle, no upward arrow, third-party headers only where they belong.

    include_graph.py ROOT            exit 0 when the tree keeps the rules, 1 with every violation on its own line
    include_graph.py ROOT --print    the arrows between rooms
"""
import re
import sys
from pathlib import Path

REPORT_TABLES = [f"analysis/report/tables/{subject}" for subject in
                 ("run", "steps", "collectives", "ranks", "devices", "models", "learning_rate", "sharding",
                  "compare")]
REPORT_SQL = ["analysis/report", "analysis/report/tables", *REPORT_TABLES]
REPORT = ["analysis/metrics", "analysis/report", "analysis/report/core", "analysis/report/render", *REPORT_TABLES]

# room -> rooms it may include (itself always). The longest matching prefix names a file's room.
ALLOWED = {
    "simulator": [],
    "tracer/format": [],
    "tracer/record/shard": ["tracer/format"],
    "tracer/record/recorder": ["tracer/record/shard", "tracer/format"],
    "tracer/record/nvtx": ["tracer/record/recorder", "tracer/record/shard", "tracer/format"],
    "tracer/record/cupti": ["tracer/record/recorder", "tracer/record/shard", "tracer/format"],
    "tracer/record": ["tracer/record/cupti", "tracer/record/nvtx", "tracer/record/recorder"],
    "tracer/nccl": ["tracer/record/cupti", "tracer/record/nvtx", "tracer/record/recorder", "tracer/record/shard",
                    "tracer/format"],
    "tracer/store": ["tracer/format"],
    "analysis/ingest": ["tracer/store", "tracer/format", "simulator"],
    "analysis/fit": ["tracer/store", "tracer/format", "simulator"],
    "analysis/predict/step_model": ["analysis/fit", "simulator"],
    "analysis/predict": ["analysis/predict/step_model", "analysis/fit", "tracer/store", "tracer/format", "simulator"],
    "analysis/metrics": ["analysis/fit", "analysis/ingest", "tracer/store", "tracer/format", "simulator"],
    "analysis/report/core": ["simulator"],
    "analysis/report/html": ["analysis/report/core", "simulator"],
    "analysis/report/render": ["analysis/report/core", "analysis/report/html", "simulator"],
    "analysis/report/tables": ["analysis/report/core", "analysis/metrics", "simulator"],
    **{room: ["analysis/report/core", "analysis/report/tables", "analysis/metrics", "analysis/fit", "analysis/predict", "tracer/store",
              "tracer/format", "simulator"] for room in REPORT_TABLES},
    "analysis/report/tables/compare": ["analysis/report/core", "analysis/report/tables", "analysis/report/tables/run",
                                       "analysis/report/tables/models", "analysis/metrics", "analysis/fit",
                                       "analysis/predict", "tracer/store", "tracer/format", "simulator"],
    "analysis/report/tables/learning_rate": ["analysis/report/core", "analysis/report/tables",
                                             "analysis/report/tables/models", "analysis/metrics", "analysis/fit",
                                             "analysis/predict", "tracer/store", "tracer/format", "simulator"],
    "analysis/report/answer": ["analysis/report/core", "analysis/report/render", "analysis/report/tables", *REPORT_TABLES,
                               "analysis/metrics", "analysis/fit", "analysis/predict", "tracer/store", "tracer/format",
                               "simulator"],
    "analysis/report": ["analysis/report/answer", "analysis/report/core", "analysis/report/tables", *REPORT_TABLES, "analysis/metrics",
                        "analysis/fit", "analysis/predict", "tracer/store", "tracer/format", "simulator"],
    "analysis/export": ["tracer/store", "tracer/format", "simulator", *REPORT, "analysis/timeline", "analysis/ingest"],
    "analysis/import/bytes": [],
    "analysis/import/sort": [],
    "analysis/import/json": [],
    "analysis/import/trace": ["analysis/import/sort", "analysis/ingest", "tracer/store", "tracer/format", "simulator"],
    "analysis/import/kineto": ["analysis/import/json", "analysis/import/trace", "analysis/import/sort", "analysis/ingest",
                               "tracer/store", "tracer/format", "simulator"],
    "analysis/import/nsight": ["analysis/import/kineto", "analysis/import/trace", "analysis/import/sort", "analysis/ingest", "tracer/store",
                               "tracer/format", "simulator"],
    "analysis/import/recorded": ["analysis/import/nsight", "analysis/import/trace", "analysis/import/sort",
                                 "analysis/ingest", "tracer/store", "tracer/format", "simulator"],
    "analysis/import/load": ["analysis/import/bytes", "analysis/import/json", "analysis/import/kineto",
                             "analysis/import/nsight", "analysis/import/recorded", "analysis/import/sort", "analysis/import/trace",
                             "analysis/ingest", "analysis/fit", "tracer/store", "tracer/format", "simulator"],
    "analysis/import/tables": ["analysis/fit", "tracer/store", "tracer/format", "simulator"],
    "analysis/import/files": ["analysis/import/load", "analysis/import/tables", "analysis/fit", "analysis/predict",
                              "runner/errors", "tracer/store", "tracer/format", "simulator"],
    "analysis/timeline": ["tracer/store", "tracer/format", "simulator", "analysis/ingest"],
    # Reads what the launcher's ranks write, so it includes the launcher's description of their files.
    "analysis/import/ranks": ["analysis/ingest", "analysis/export", "tracer/store", "tracer/format", "simulator",
                              "runner/errors", "runner/host", "runner/scenario", "runner/launcher"],
    "runner/errors": [],
    "runner/scenario": ["simulator"],
    "runner/scenario_queries": ["runner/scenario", *REPORT, "analysis/fit", "analysis/predict", "tracer/store", "tracer/format", "simulator"],
    "runner/host": [],
    "runner/launcher": ["tracer/format", "simulator", "runner/scenario"],
    "runner/measure": ["runner/errors", "runner/host", "runner/scenario", "runner/launcher", "analysis/import/ranks",
                       "analysis/ingest", "tracer/store", "tracer/format", "simulator"],
    "runner/python_tracer": [],
    "runner/job": ["runner/errors", "runner/launcher", "runner/measure", "runner/python_tracer", "analysis/import/bytes", "analysis/import/load",
                   "tracer/store"],
    "runner/doctor": ["simulator", "runner/errors", "runner/host", "runner/measure", *REPORT, "tracer/format"],
    "runner/worker": ["tracer/format", "simulator", "runner/host", "runner/scenario", "runner/launcher"],
    "cli": ["simulator", "tracer/format", "tracer/store", "analysis/ingest", "analysis/fit", "analysis/predict", *REPORT,
            "analysis/export", "analysis/import/bytes", "analysis/import/files", "analysis/import/load", "analysis/import/tables",
            "analysis/import/ranks", "analysis/import/trace",
            "analysis/timeline", "runner/errors", "runner/job", "runner/measure", "runner/python_tracer", "runner/doctor", "runner/host", "runner/scenario", "runner/launcher",
            "runner/scenario_queries"],
    "gui": ["simulator", "tracer/format", "tracer/store", "analysis/ingest", "analysis/fit", "analysis/predict", *REPORT,
            "analysis/export", "analysis/import/files", "analysis/import/load", "analysis/timeline", "runner/errors", "runner/scenario",
            "runner/scenario_queries"],
}

# header prefixes of third parties -> rooms that may include them
THIRD_PARTY = {
    r"(torch|ATen|c10|c10d|caffe2)/": ["runner/worker"],
    r"gloo/": ["runner/worker"],
    r"nccl": ["runner/worker"],
    r"nvtx3/": ["tracer/record/nvtx", "runner/worker"],
    r"(cupti|cuda)": ["tracer/record/cupti", "runner/worker"],
    r"(SQLiteCpp/|sqlite3)": ["tracer/store", "analysis/ingest", "analysis/import/load", "analysis/import/nsight", "analysis/import/tables", "analysis/import/files", "analysis/fit", "analysis/predict", "analysis/metrics", *REPORT_SQL, "analysis/export", "analysis/timeline",
                               "runner/scenario_queries", "runner/measure", "runner/job", "analysis/import/ranks", "cli"],
    r"zlib\.h$": ["analysis/import/bytes", "runner/worker"],
    r"openssl/": ["runner/launcher"],
    r"zstd": ["analysis/import/bytes"],
    r"simdjson": ["analysis/import/json"],
    r"ceres/": ["analysis/fit"],
    r"Eigen/": ["analysis/fit"],
    r"yaml-cpp/": ["runner/scenario"],
    r"CLI/": ["cli", "runner/worker"],
    r"(Q[A-Z]\w*|Qt\w*/.*|qcustomplot\.h)$": ["gui"],
}
PURE = ["simulator", "tracer/format"]  # the standard library only

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCES = {".hpp", ".h", ".cpp", ".cu"}


def room_of(path):
    best = ""
    for room in ALLOWED:
        if path.startswith(room + "/") and len(room) > len(best):
            best = room
    return best


def read_tree(root):
    files = {}
    for top in sorted({room.split("/")[0] for room in ALLOWED}):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCES:
                files[path.relative_to(root).as_posix()] = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return files


def find_circle(graph):
    """One circle as a list of nodes, or None. Depth first, iterative, in sorted order."""
    state = {}
    for start in sorted(graph):
        if start in state:
            continue
        stack, path = [(start, iter(sorted(graph[start])))], [start]
        state[start] = 1
        while stack:
            node, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                state[node] = 2
                stack.pop()
                path.pop()
            elif state.get(child) == 1:
                return path[path.index(child):] + [child]
            elif child not in state and child in graph:
                state[child] = 1
                stack.append((child, iter(sorted(graph[child]))))
                path.append(child)
    return None


def check(files):
    problems, arrows, file_graph = [], {}, {}
    for path, includes in files.items():
        room = room_of(path)
        if not room:
            problems.append(f"{path}: belongs to no room; add it to ALLOWED with what it may include")
            continue
        file_graph[path] = set()
        for quote, header in includes:
            target_room = room_of(header)
            if quote == '"':
                if header not in files:
                    problems.append(f'{path}: includes "{header}", which is not a file of the project '
                                    f"(name it from the root; third-party headers take <>)")
                    continue
                file_graph[path].add(header)
                if target_room != room:
                    arrows.setdefault((room, target_room), []).append(path)
                    if target_room not in ALLOWED[room]:
                        problems.append(f"{path}: {room} may not include {target_room} ({header})")
                continue
            for pattern, rooms in THIRD_PARTY.items():
                if re.match(pattern, header) and room not in rooms:
                    problems.append(f"{path}: <{header}> belongs only in {', '.join(rooms)}")
            if room in PURE and "/" in header and not header.startswith("sys/"):
                problems.append(f"{path}: {room} is pure: the standard library only, not <{header}>")
    circle = find_circle(file_graph)
    if circle:
        problems.append("include circle: " + " -> ".join(circle))
    rooms = {room: set() for room in ALLOWED}
    for source, target in arrows:
        rooms[source].add(target)
    circle = find_circle(rooms)
    if circle:
        problems.append("circle between rooms: " + " -> ".join(circle))
    return problems, arrows


def self_test():
    """The checker must find each kind of violation it exists for."""
    good = {"simulator/a.hpp": [("<", "vector")], "tracer/store/b.hpp": [("<", "SQLiteCpp/SQLiteCpp.h")],
            "cli/c.cpp": [('"', "simulator/a.hpp"), ('"', "tracer/store/b.hpp")]}
    assert check(good)[0] == [], check(good)[0]
    bad = [
        ({"simulator/a.hpp": [('"', "cli/c.hpp")], "cli/c.hpp": []}, "simulator may not include cli"),
        ({"cli/c.cpp": [("<", "torch/torch.h")]}, "belongs only in runner/worker"),
        ({"cli/c.cpp": [('"', "runner/worker/w.hpp")], "runner/worker/w.hpp": []}, "cli may not include runner/worker"),
        ({"runner/measure/m.cpp": [('"', "cli/c.hpp")], "cli/c.hpp": []}, "runner/measure may not include cli"),
        ({"runner/measure/m.cpp": [('"', "runner/doctor/d.hpp")], "runner/doctor/d.hpp": []},
         "runner/measure may not include runner/doctor"),
        ({"runner/measure/m.cpp": [('"', "runner/doctor/d.hpp")], "runner/doctor/d.hpp": [],
          "runner/doctor/e.cpp": [('"', "runner/measure/n.hpp")], "runner/measure/n.hpp": []},
         "circle between rooms: runner/doctor -> runner/measure -> runner/doctor"),
        ({"simulator/a.hpp": [("<", "fmt/core.h")]}, "is pure"),
        ({"simulator/a.hpp": [('"', "simulator/b.hpp")], "simulator/b.hpp": [('"', "simulator/a.hpp")]}, "include circle"),
        ({"runner/odd.cpp": []}, "belongs to no room"),
        ({"cli/c.cpp": [('"', "missing.hpp")]}, "not a file of the project"),
    ]
    for files, expected in bad:
        problems = check(files)[0]
        assert any(expected in problem for problem in problems), (files, expected, problems)


def main():
    self_test()
    root = Path(sys.argv[1])
    files = read_tree(root)
    if len(files) < 10:
        sys.exit(f"include_graph: only {len(files)} sources under {root}: is this the project's root?")
    problems, arrows = check(files)
    if "--print" in sys.argv:
        for source, target in sorted(arrows):
            print(f"{source} -> {target}")
    for problem in problems:
        print(problem)
    print(f"{len(files)} files, {len(arrows)} arrows between rooms, {len(problems)} violations")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
