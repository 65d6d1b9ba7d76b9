#!/usr/bin/env python3
"""Predicts steps of FSDP2 on several hosts from measurements of one and two of them, measures them, and prints both.

    sharded_hosts.py --data FOLDER [--only mlp-400-reshard,...]   measure what FOLDER lacks, then print the tables
    sharded_hosts.py --data FOLDER --evaluate                     measure nothing

The hosts are network namespaces (tests/cluster/hosts.py): one rank each, links of a given rate in Mbit/s, a fixed share of
a core at every N. The training is tests/analysis/import/sharded/record_sharded.py with torch.profiler, whose traces are
imported at every N: all step times are those under the profiler. Fitted: N = 1 and 2. Predicted: N = 4 and 8. A case is
MODEL-RATE-SETTING. The setting is `reshard` or `keep` (reshard_after_forward), `hsdp` (two replicas) or `shards2` (HSDP with
shard groups of two ranks; N = 8 is predicted from N = 1, 2 and 4). The second table compares settings with what `--what-if`
predicts from the measurements of `reshard`. DDPPROF_PROGRAM names the program,
DDPPROF_TORCH_PYTHON the Python with torch. Exits with 77 and the reason if such hosts cannot be made here.
"""

import argparse
import json
import os
import pathlib
import signal
import sqlite3
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

import hosts  # noqa: E402
import measure  # noqa: E402

JOB = HERE.parent / "analysis" / "import" / "sharded" / "record_sharded.py"
SHARE = 0.2  # of a core, for each host
# About the sizes of the models in tests/cluster/scenarios. With less compute and smaller units a step consists of messages
# that wait until a host's share of a core begins again, which no real host has.
MODELS = {"mlp": {"model": "mlp", "sizes": [784, 1024, 1024, 1024, 10], "batch": 128},
          "transformer": {"model": "transformer", "sizes": [192, 4, 4, 2000, 64], "batch": 4}}
RATES = (100, 400)  # Mbit/s
FITTED, HELD_OUT = (1, 2), (4, 8)
TIMEOUT_S = 400
SETTINGS = {"reshard": {}, "keep": {"reshard_after_forward": False}, "hsdp": {"replicas": 2}, "shards2": {}}
CHANGES = {"keep": "reshard_after_forward=off", "hsdp": "replicate=2"}


class Case:
    def __init__(self, name, data):
        self.name, (self.model, mbit, self.setting) = name, name.split("-")
        self.mbit, self.data, self.all = int(mbit), data / name, data
        self.job = {"wrapper": "fsdp2", "precision": "fp32", "accumulation": 1, "warmup": 3, "steps": 12,
                    "reshard_after_forward": True, **MODELS[self.model], **SETTINGS[self.setting]}
        self.counts = HELD_OUT if self.setting == "hsdp" else (*FITTED, *HELD_OUT)
        self.fitted = (*FITTED, 4) if self.setting == "shards2" else FITTED

    def folder(self, workers):
        return self.data / f"n{workers}"

    def measure(self, workers):
        folder = self.folder(workers)
        folder.mkdir(parents=True, exist_ok=True)
        replicas = {"replicas": workers // 2} if self.setting == "shards2" and workers > 2 else {}
        (folder / "case.json").write_text(json.dumps({**self.job, **replicas, "folder": str(folder)}))
        with hosts.Hosts(workers, self.mbit, SHARE) as made:
            run_ranks(made, workers, folder)
        # The load of other programs: the number of runnable processes when the ranks ended.
        (folder / "done").write_text(json.dumps({"load": os.getloadavg()[0]}))

    def imported(self, counts, name):
        """Returns a database of the measurements at these N."""
        database = self.data / name
        for place, workers in enumerate(counts):
            target = ["--append", database] if place else ["--out", database, "--overwrite"]
            measure.ddpprof("import", *sorted(self.folder(workers).glob("rank*.json.gz")), *target, "--nodes", workers,
                            "--cores", 1, "--no-raw", "-q", codes=(0, 5))
        return database

    def evaluate(self):
        """Predictions of this setting from its own measurements."""
        if self.counts == HELD_OUT:
            return []
        fitted = self.imported(self.fitted, "fitted.db")
        return self.rows(fitted, predicted(fitted, "predictions"), "step_s", "step_low_s", "step_high_s")

    def evaluate_change(self):
        """Predictions of this setting from the measurements of `reshard`."""
        base = Case(f"{self.model}-{self.mbit}-reshard", self.all)
        if self.setting not in CHANGES or not all((base.folder(workers) / "done").exists() for workers in FITTED):
            return []
        fitted = base.imported(FITTED, "fitted.db")
        return self.rows(fitted, predicted(fitted, "what_if", "--what-if", CHANGES[self.setting]), "changed_step_s",
                         "changed_step_low_s", "changed_step_high_s")

    def rows(self, fitted, rows, step, low, high):
        base = step_facts(fitted, max(self.fitted))
        return [Row(self, workers, step_facts(self.imported([workers], f"n{workers}.db"), workers), base,
                    (rows[workers][step], rows[workers][low], rows[workers][high]))
                for workers in HELD_OUT if workers not in self.fitted and (self.folder(workers) / "done").exists()]


class Row:
    def __init__(self, case, workers, measured, base, predicted):
        self.name, self.workers, (self.predicted_s, self.low_s, self.high_s) = case.name, workers, predicted
        self.step_s = measured["step_s"]
        self.compute = f"{measured['compute_s'] / base['compute_s'] - 1:+.0%}" if measured["compute_s"] else ""
        self.linear = base["step_s"] / self.step_s - 1
        self.error = self.predicted_s / self.step_s - 1
        self.covered = self.low_s <= self.step_s <= self.high_s
        self.load = json.loads((case.folder(workers) / "done").read_text())["load"]

    def print(self):
        print(f"| {self.name} | {self.workers} | {self.step_s * 1e3:.1f} ms | {self.compute} | {self.load:.1f} | "
              f"{self.predicted_s * 1e3:.1f} ms | {self.low_s * 1e3:.0f} to {self.high_s * 1e3:.0f} | "
              f"{'yes' if self.covered else 'no'} | {self.error:+.1%} | {self.linear:+.1%} |".replace("%", " %"))


def predicted(database, table_name, *more):
    """By N, the rows of fsdp in a table of `ddpprof predict`."""
    text = measure.ddpprof("predict", database, "--workers", ",".join(map(str, HELD_OUT)), "--format", "json", *more)
    rows = next(table["rows"] for table in json.loads(text)["tables"] if table["name"] == table_name)
    return {row["workers"]: row for row in rows if row["strategy"] == "fsdp"}


def step_facts(database, workers):
    """Medians over the measured steps of the ranks' means: the step, and the compute of all units."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        steps = connection.execute(
            "SELECT avg(st.duration_ns), avg((SELECT coalesce(sum(w.busy_ns), 0) FROM sharded_work w WHERE w.step_id = st.id)) FROM "
            "step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id WHERE st.kind = "
            "'measured' AND m.world_size = ? GROUP BY st.step", (workers,)).fetchall()
    finally:
        connection.close()
    step, compute = (statistics.median(values) * 1e-9 for values in zip(*steps))
    return {"step_s": step, "compute_s": compute}


def run_ranks(made, workers, folder):
    """Raises measure.Failed with the last words of the first rank that fails."""
    python = os.environ["DDPPROF_TORCH_PYTHON"]
    ranks, logs = [], []
    try:
        for rank in range(workers):
            logs.append(open(folder / f"rank{rank}.log", "w+"))
            ranks.append(made.start(rank, [python, "-B", JOB, folder / "case.json"],
                                    measure.environment(RANK=str(rank), WORLD_SIZE=str(workers), LOCAL_RANK="0",
                                                        OMP_NUM_THREADS="1", MASTER_ADDR=made.address(0),
                                                        MASTER_PORT=str(measure.PORT), GLOO_SOCKET_IFNAME="eth0"),
                                    stdout=logs[-1], stderr=logs[-1]))
        end = time.monotonic() + TIMEOUT_S
        while any(process.poll() is None for process in ranks):
            if any(process.poll() for process in ranks) or time.monotonic() > end:
                break
            time.sleep(0.1)
        for rank, process in enumerate(ranks):
            if process.poll() != 0:
                logs[rank].seek(0)
                raise measure.Failed(f"rank {rank} of {workers}: exit code {process.poll()}: {logs[rank].read()[-2000:]}")
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
            process.wait(30)
        for log in logs:
            log.close()


def report(title, rows):
    if not rows:
        return
    print(f"\n{title}\n")
    print("| case | N | measured | compute against the largest fitted N | load | predicted | 90 % interval | covers | error | error of "
          "that N's step |\n|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        row.print()
    errors = [abs(row.error) for row in rows]
    print(f"\n{len(rows)} points: median error {statistics.median(errors):.1%}, largest {max(errors):.1%}, the interval "
          f"covers {sum(row.covered for row in rows)}".replace("%", " %"))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that hosts are removed
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--evaluate", action="store_true")
    arguments = parser.parse_args()
    missing = "" if arguments.evaluate else hosts.why_not()
    if missing:
        print(f"skipped: several hosts on one machine cannot be made here: {missing}")
        return 77
    names = arguments.only.split(",") if arguments.only else [
        f"{model}-{mbit}-{setting}" for model in MODELS for mbit in RATES for setting in SETTINGS]
    cases = [Case(name, arguments.data.resolve()) for name in names]
    if not arguments.evaluate:
        for case in cases:
            for workers in case.counts:
                if not (case.folder(workers) / "done").exists():
                    case.measure(workers)
                    print(f"  {case.name} N = {workers}", file=sys.stderr, flush=True)
    report("Predictions from N = 1 and 2 (`shards2`: and 4)", [row for case in cases for row in case.evaluate()])
    report("Changes, from N = 1 and 2 of `reshard`", [row for case in cases for row in case.evaluate_change()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
