#!/usr/bin/env python3
"""How fast other profilers' traces are imported, and in how much memory, beside Python's reading of the same file.

    benchmarks/import/run.py [--program build/dev/bin/ddpprof] [--traces FOLDER] [--work FOLDER] [--runs 7] [--long]

FOLDER of traces holds v100_ddp_rank1of2.json.gz and two_gpus_nsys.sqlite (DDPPROF_DATA_DIR/traces unless given; rows
without their file are left out and said). Short jobs: the least and the median of several runs, taken in turn. --long
adds one run each of 5 GB of one rank, two ranks of 2.5 GB, 64 ranks of 100 MB, and reports on the 5 GB's database; it
needs 25 GB below the work folder, where temporary files go, too, and takes half an hour. Prints Markdown.
"""

import argparse
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "import gzip, json, sys; json.load(gzip.open(sys.argv[1]) if sys.argv[1].endswith('.gz') else open(sys.argv[1]))"
INFLATE = ("import sys, zlib; d = zlib.decompressobj(31); f = open(sys.argv[1], 'rb')\n"
           "while b := f.read(1 << 19): d.decompress(b)")


@dataclass
class Run:
    wall_s: float
    processor_s: float
    resident_mb: float
    temporary_mb: float = 0.0


def run(command, watch=None) -> Run:
    """One process and its children. `watch`: a folder whose unlinked open files count as temporary."""
    environment = dict(os.environ, TMPDIR=str(watch)) if watch else None
    begin = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    temporary = 0
    if watch:
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            temporary = max(temporary, open_bytes_below(child.pid, watch))
            time.sleep(0.2)
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    said = child.stderr.read().decode()
    child.stderr.close()
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {child.returncode}\n{said}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, temporary / 1e6)


def made(path: Path, size: int, rank: int, world_size: int) -> tuple[int, int]:
    """Events and bytes of a made-up trace. In a process of its own: what this one holds counts as its children's peak."""
    said = subprocess.run([sys.executable, ROOT / "benchmarks/import/make_trace.py", path, "--bytes", str(size), "--rank", str(rank),
                           "--world-size", str(world_size), "--indent"], check=True, stdout=subprocess.PIPE, text=True).stdout
    events, written = re.search(r": (\d+) events, (\d+) bytes", said).groups()
    return int(events), int(written)


def gzip_content_bytes(path: Path) -> int:
    with open(path, "rb") as file:  # the format's last four bytes
        file.seek(-4, os.SEEK_END)
        return int.from_bytes(file.read(), "little")


def open_bytes_below(pid: int, folder: Path) -> int:
    total = 0
    try:
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(descriptor.path).startswith(str(folder)):
                    total += os.stat(descriptor.path).st_size
            except OSError:
                pass  # closed meanwhile
    except OSError:
        pass  # ended meanwhile
    return total


def in_turn(jobs: dict, runs: int) -> dict:
    """Each job once, then each again: what slows the machine meets all alike."""
    results = {name: [] for name in jobs}
    for _ in range(runs):
        for name, commands in jobs.items():
            parts = [run(command) for command in commands]
            results[name].append(Run(sum(part.wall_s for part in parts), sum(part.processor_s for part in parts),
                                     max(part.resident_mb for part in parts)))
    return results


def table(heads, rows):
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def row_of(name, results):
    walls = [result.wall_s for result in results]
    return [name, f"{min(walls):.3f} s", f"{statistics.median(walls):.3f} s",
            f"{min(result.processor_s for result in results):.3f} s", f"{max(result.resident_mb for result in results):.0f} MB"]


def importing(program, files, database, *more):
    return [program, "import", *files, "--out", database, "--overwrite", "--quiet", *more]


HEADS = ["job", "wall, least", "wall, median", "processor, least", "resident, most"]


def short_jobs(program, traces, work, runs):
    v100, nsight, database = traces / "v100_ddp_rank1of2.json.gz", traces / "two_gpus_nsys.sqlite", work / "short.db"
    overlap = [program, "report", database, "--report", "overlap"]
    if v100.exists():
        imported = "import with its single events, report overlap"
        results = in_turn({
            "Python: gzip, json.load": [[sys.executable, "-c", PYTHON, v100]],
            imported: [importing(program, [v100], database), overlap],
            "import without the single events, report overlap": [importing(program, [v100], database, "--no-raw"), overlap],
            "Python: zlib alone": [[sys.executable, "-c", INFLATE, v100]],
        }, runs)
        print(f"V100 trace, {gzip_content_bytes(v100) / 1e6:.0f} MB of JSON in {v100.stat().st_size / 1e6:.1f} MB of gzip:\n")
        table(HEADS, [row_of(name, result) for name, result in results.items()])
        least = {name: min(result.wall_s for result in of) for name, of in results.items()}
        ratios = [ours.wall_s / python.wall_s for ours, python in zip(results[imported], results["Python: gzip, json.load"])]
        print(f"Import and report / Python: {least[imported] / least['Python: gzip, json.load']:.2f} of least times, "
              f"{statistics.median(ratios):.2f} median of runs taken in turn (goal 0.4)\n")
    else:
        print(f"no {v100}: left out\n")
    if nsight.exists():
        results = in_turn({
            "import without the single events": [importing(program, [nsight], database, "--no-raw")],
            "import, report overlap": [importing(program, [nsight], database), overlap],
            "report overlap alone": [overlap],
        }, runs)
        print(f"Nsight Systems' export of two GPUs, {nsight.stat().st_size / 1e6:.1f} MB (goal: 0.1 s):\n")
        table(HEADS, [row_of(name, result) for name, result in results.items()])
    else:
        print(f"no {nsight}: left out\n")


def end_to_end(program, work, runs):
    """JSON in, database out: one and two files, plain and gzip."""
    plain, packed = [], []
    for rank in range(2):
        plain.append(work / f"rank{rank}.json")
        _, bytes_each = made(plain[rank], 200_000_000, rank, 2)
        packed.append(work / f"rank{rank}.json.gz")
        with open(plain[rank], "rb") as source, gzip.GzipFile(packed[rank], "wb", 6, mtime=0) as out:
            shutil.copyfileobj(source, out, 1 << 20)
    database = work / "short.db"
    jobs = {
        "one file": [importing(program, plain[:1], database)],
        "one file, without the single events": [importing(program, plain[:1], database, "--no-raw")],
        "two files": [importing(program, plain, database)],
        "two files, without the single events": [importing(program, plain, database, "--no-raw")],
        "one file, gzip, without the single events": [importing(program, packed[:1], database, "--no-raw")],
        "two files, gzip, without the single events": [importing(program, packed, database, "--no-raw")],
        "Python: zlib alone, one file": [[sys.executable, "-c", INFLATE, packed[0]]],
    }
    results = in_turn(jobs, runs)
    print(f"Made-up traces of {bytes_each / 1e6:.0f} MB each:\n")
    rows = []
    for name, result in results.items():
        size = bytes_each * (2 if name.startswith("two") else 1)
        least = min(result, key=lambda one: one.wall_s)
        rows.append(row_of(name, result) + [f"{size / 1e6 / least.wall_s:.0f} MB/s", f"{least.processor_s / least.wall_s:.2f}"])
    table([*HEADS, "JSON", "cores used"], rows)
    for file in plain + packed:
        file.unlink()


def long_job(name, program, files, database, temporary, events):
    print(f"<!-- {name}: load {os.getloadavg()[0]:.1f} -->", file=sys.stderr, flush=True)
    json_bytes = sum(file.stat().st_size for file in files)
    result = run(importing(program, files, database, "--format", "json"), temporary)
    return [name, f"{events / 1e6:.1f} M", f"{json_bytes / 1e9:.2f} GB", f"{result.wall_s:.1f} s", f"{result.processor_s:.1f} s",
            f"{json_bytes / 1e6 / result.wall_s:.0f} MB/s", f"{result.resident_mb:.0f} MB", f"{result.temporary_mb:.0f} MB",
            f"{database.stat().st_size / 1e9:.2f} GB"]


LONG = (("one rank of 5 GB", 1, 5_000_000_000), ("two ranks of 2.5 GB", 2, 2_500_000_000), ("64 ranks of 100 MB", 64, 100_000_000))


def long_jobs(program, work, runs):
    temporary, rows, reports = work / "temporary", [], []
    temporary.mkdir()
    for name, ranks, size in LONG:
        files, events = [work / f"long_rank{rank}.json" for rank in range(ranks)], 0
        for rank, file in enumerate(files):
            events += made(file, size, rank, max(2, ranks))[0]
        database = work / "long.db"
        rows.append(long_job(name, program, files, database, temporary, events))
        for file in files:
            file.unlink()
        if ranks == 1:
            jobs = {report: [[program, "report", database, "--report", report]] for report in ("overlap", "kernels", "summary", "steps")}
            reports = [row_of(report, result) for report, result in in_turn(jobs, runs).items()]
        database.unlink()
    print("Large traces, one run each (goal: 512 MB resident):\n")
    table(["job", "events", "JSON", "wall", "processor", "JSON", "resident, most", "temporary files, most", "database"], rows)
    print("Reports on the first one's database (goal for 10 M events: 1 s):\n")
    table(HEADS, reports)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/dev/bin/ddpprof")
    parser.add_argument("--traces", type=Path, default=Path(os.environ.get("DDPPROF_DATA_DIR", ROOT / "shared/data")) / "traces")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="ddpprof-import-", dir=arguments.work))
    try:
        print(f"<!-- load average {os.getloadavg()[0]:.1f} -->", file=sys.stderr)
        short_jobs(arguments.program.resolve(), arguments.traces, work, arguments.runs)
        end_to_end(arguments.program.resolve(), work, max(1, arguments.runs // 2))
        if arguments.long:
            long_jobs(arguments.program.resolve(), work, max(1, arguments.runs // 2))
    finally:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
