#!/usr/bin/env python3
"""Imports public GPU traces of sharded jobs, and compares what the reports show with interval arithmetic of its own.

    public_sharded_traces.py FOLDER

FOLDER has one folder per job with the traces of its ranks (PyTorch's profiler, .json or .json.gz); they are not part of
this repository. For each job and rank, kernels are read from the file, and assigned to an operation by the call of the
host that launched them. Exposed time: the union of an operation's kernels minus the union of all kernels that belong to
no collective, inside of the measured steps of the database. DDPPROF_PROGRAM names the program. Exits with 1 if a value
differs by more than a nanosecond per interval.
"""

import bisect
import gzip
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("DDPPROF_PROGRAM", "ddpprof")
COLLECTIVE = re.compile("nccl|rccl|::ep::intern|::ep::intran", re.IGNORECASE)
OPERATIONS = (("allreduce", "all_reduce"), ("broadcast", "broadcast"), ("allgather", "all_gather"),
              ("reducescatter", "reduce_scatter"), ("alltoall", "all_to_all"), ("send", "send"), ("recv", "receive"))


def operation(text):
    letters = text.lower().replace("_", "").replace("-", "")
    return next((op for word, op in OPERATIONS if word in letters), None)


def united(intervals):
    result = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        elif end > begin:
            result.append([begin, end])
    return result


def intersected(a, b):
    result, j = [], 0
    for begin, end in a:
        while j < len(b) and b[j][1] <= begin:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            result.append([max(begin, b[k][0]), min(end, b[k][1])])
            k += 1
    return [one for one in result if one[1] > one[0]]


def subtracted(a, b):
    result = []
    for begin, end in a:
        for low, high in intersected([[begin, end]], b):
            if low > begin:
                result.append([begin, low])
            begin = high
        if end > begin:
            result.append([begin, end])
    return result


def total_ns(intervals):
    return sum(end - begin for begin, end in intervals)


def nanoseconds(number):
    """The decimals of the file, without rounding to a double."""
    whole, _, part = str(number).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


class Rank:
    """One trace: the kernels that compute, and those of each group and operation."""

    def __init__(self, path):
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
        with opened as file:
            trace = json.load(file, parse_float=str)
        events = [one for one in trace["traceEvents"] if one.get("ph") == "X" and "dur" in one]
        calls = {}
        for one in events:
            if one.get("cat") in ("cpu_op", "user_annotation") and re.match("(c10d::|nccl:)", one["name"]):
                calls.setdefault(one["tid"], []).append((nanoseconds(one["ts"]), nanoseconds(one["dur"]), one["name"]))
        for of_thread in calls.values():
            of_thread.sort()
        launches = {one["args"]["correlation"]: (one["tid"], nanoseconds(one["ts"])) for one in events
                    if one.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in one.get("args", {})}
        self.rank = trace.get("distributedInfo", {}).get("rank", 0)
        self.compute, self.groups = [], {}
        for one in events:
            if one.get("cat") != "kernel":
                continue
            begin = nanoseconds(one["ts"])
            span = (begin, begin + nanoseconds(one["dur"]))
            arguments = one.get("args", {})
            if not (COLLECTIVE.search(one["name"]) or arguments.get("Collective name")):
                self.compute.append(span)
                continue
            op = operation(arguments.get("Collective name", "")) or self.called(
                calls, launches.get(arguments.get("correlation"))) or self.named(one["name"])
            group = arguments.get("Process Group Description") or arguments.get("Process Group Name") or ""
            self.groups.setdefault((group, op), []).append(span)
        self.compute = united(self.compute)

    @staticmethod
    def called(calls, launch):
        of_thread = calls.get(launch[0], []) if launch else []
        for begin, duration, name in reversed(of_thread[max(0, bisect.bisect(of_thread, (launch[1],)) - 8):
                                                        bisect.bisect(of_thread, (launch[1],))] if launch else []):
            if begin <= launch[1] < begin + duration:
                return operation(name)
        return None

    @staticmethod
    def named(kernel):
        return "all_to_all" if "::ep::" in kernel else operation(kernel) or "other"

    def exposed_ns(self, group, op, steps):
        kernels = [span for (of_group, of_op), spans in self.groups.items() if of_group == group and op in (of_op, "all")
                   for span in spans]
        return total_ns(subtracted(intersected(united(kernels), steps), self.compute))


def reported(database):
    done = subprocess.run([PROGRAM, "report", database, "--report", "collectives", "--format", "json"],
                          capture_output=True, text=True, timeout=300, check=True)
    return next(table["rows"] for table in json.loads(done.stdout)["tables"] if table["name"] == "process_groups")


def check(job, place):
    database = pathlib.Path(place) / f"{job.name}.db"
    files = sorted(one for one in job.iterdir() if one.name.endswith((".json", ".json.gz")))
    subprocess.run([PROGRAM, "import", *files, "--out", database, "-q"], capture_output=True, timeout=600, check=True)
    ranks = {one.rank: one for one in map(Rank, files)}
    connection = sqlite3.connect(database)
    shards = dict(connection.execute("SELECT rank, id FROM shard"))
    steps = {rank: united(connection.execute("SELECT start_ns, start_ns + duration_ns FROM step WHERE shard_id = ? AND "
                                             "kind = 'measured'", (shard,))) for rank, shard in shards.items()}
    count = connection.execute("SELECT COUNT(*) FROM step WHERE kind = 'measured'").fetchone()[0]
    of_ranks = connection.execute("SELECT sh.rank, COUNT(*), SUM(st.exposed_ns) FROM step st JOIN shard sh ON sh.id = "
                                  "st.shard_id WHERE st.kind = 'measured' GROUP BY 1").fetchall()
    connection.close()
    worst = 0.0
    for row in reported(database):
        group, op = row["group"] or "", row["op"]
        own = sum(ranks[rank].exposed_ns(group, op, steps[rank]) for rank in shards) / count
        difference = row["exposed_s"] * 1e9 - own
        worst = max(worst, abs(difference))
        print(f"| {job.name} | {group or '(not named)'} | {op} | {row['collectives_per_step']:.1f} | "
              f"{row['time_s'] * 1e3:.3f} ms | {row['exposed_s'] * 1e3:.3f} ms | {own * 1e-6:.3f} ms |")
    for rank, of_rank, exposed in of_ranks:
        kernels = united(span for spans in ranks[rank].groups.values() for span in spans)
        own = total_ns(subtracted(intersected(kernels, steps[rank]), ranks[rank].compute))
        worst = max(worst, abs(exposed - own) / of_rank)
        print(f"| {job.name} | all groups of rank {rank} | all | | | {exposed / of_rank * 1e-6:.3f} ms | "
              f"{own / of_rank * 1e-6:.3f} ms |")
    return worst


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        print(__doc__)
        return 2
    print("| job | group | operation | calls per step | time | exposed | exposed, own arithmetic |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        worst = [check(job, place) for job in sorted(pathlib.Path(sys.argv[1]).iterdir()) if job.is_dir()]
    print(f"\nlargest difference: {max(worst, default=0.0):.3f} ns per step")
    return 0 if worst and max(worst) < 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
