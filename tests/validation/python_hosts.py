#!/usr/bin/env python3
"""Predicts steps of a Python DDP job on several hosts from measurements of one and two of them, measures them without
ddpprof, and prints both.

    python_hosts.py --data FOLDER [--only mlp-400,…]   measure what FOLDER lacks, then print the table

The hosts are network namespaces (tests/cluster/hosts.py): one rank each, links of a given rate in Mbit/s, a fixed share of
a core at every N. `ddpprof run` measures N = 1 and 2 of tests/cluster/train_ddp.py, `ddpprof bench-comm` the link between two
hosts. The predictions for N = 4 and 8 are compared with the job's own clock in runs without ddpprof. A case is MODEL-RATE.
DDPPROF_PROGRAM names the program, DDPPROF_TORCH_PYTHON the Python with torch. Exits with 77 and the reason if such hosts
cannot be made here.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

import hosts  # noqa: E402
import measure  # noqa: E402

JOB = HERE.parent / "cluster" / "train_ddp.py"
SHARE = 0.2  # of a core, for each host
MODELS, RATES = ("mlp", "gpt"), (100, 400)  # Mbit/s
FITTED, HELD_OUT = (1, 2), (4, 8)
REPEATS = {1: 3, 2: 3, 4: 2, 8: 2}
WARMUP = 10
TIMEOUT_S = 500


def launcher(made, workers, folder):
    """Writes a shell script that runs its arguments as a Python script in one rank on each of the first hosts."""
    lines = ["code=0"]
    for rank in range(workers):
        variables = {"RANK": rank, "WORLD_SIZE": workers, "LOCAL_RANK": 0, "OMP_NUM_THREADS": 1,
                     "MASTER_ADDR": made.address(0), "MASTER_PORT": measure.PORT, "GLOO_SOCKET_IFNAME": "eth0"}
        words = made.command(rank, ["env", *(f"{name}={value}" for name, value in variables.items()),
                                    os.environ["DDPPROF_TORCH_PYTHON"], "-B"])
        lines.append(f'{shlex.join(words)} "$@" & pids="$pids $!"')
    lines.append('for pid in $pids; do wait "$pid" || code=1; done; exit $code')
    path = folder / f"launch-{workers}.sh"
    path.write_text("\n".join(lines) + "\n")
    return ["sh", str(path)]


def own_steps_s(output):
    return json.loads(re.search(r"facts (\{.*\})", output)[1])["step_s"][WARMUP - 1:]


class Case:
    def __init__(self, name, data):
        self.name, (self.model, mbit) = name, name.split("-")
        self.mbit, self.folder = int(mbit), data / name
        self.database = self.folder / "job.db"

    def measure(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        with hosts.Hosts(max(HELD_OUT), self.mbit, SHARE) as made:
            launchers = {workers: launcher(made, workers, self.folder) for workers in (*FITTED, *HELD_OUT)}
            if not (self.folder / "plain.json").exists():
                self.measure_plain(launchers)
            command = self.folder / "launch-{workers}.sh"
            measure.ddpprof("run", "--workers", ",".join(map(str, FITTED)), "--repeats", 3, "--nodes", max(FITTED), "--steps",
                            f"{WARMUP}-49", "--out",
                            self.database, "--overwrite", "-q", "--", "sh", command, JOB, self.model, codes=(0, 5), timeout_s=1200)
            measure.ddpprof("bench-comm", "--append", self.database, "--nodes", 2, "--limit", 200, "--", *launchers[2],
                            "{script}", timeout_s=400)
        (self.folder / "done").touch()

    def measure_plain(self, launchers):
        plain = {workers: [] for workers in launchers}
        # All N in turn, so that a drift of the machine affects every N.
        for repeat in range(max(REPEATS.values())):
            for workers, command in launchers.items():
                if repeat < REPEATS[workers]:
                    plain[workers].append(self.plain(command))
                    print(f"  {self.name} N = {workers} run {repeat + 1}", file=sys.stderr, flush=True)
        (self.folder / "plain.json").write_text(json.dumps({"steps_s": plain, "load": os.getloadavg()[0]}))

    def plain(self, command):
        done = subprocess.run([*command, JOB, self.model], capture_output=True, text=True, timeout=TIMEOUT_S,
                              env=measure.environment())
        if done.returncode != 0:
            raise measure.Failed(f"{self.name}: {command} ended with {done.returncode}: {done.stderr[-2000:]}")
        return own_steps_s(done.stdout)

    def rows(self):
        predicted = measure.predictions(self.database, HELD_OUT)
        facts = json.loads((self.folder / "plain.json").read_text())
        medians = {int(workers): [statistics.median(run) for run in runs] for workers, runs in facts["steps_s"].items()}
        fitted = statistics.median(medians[max(FITTED)])
        return [Row(self.name, workers, medians[workers], predicted[workers], fitted, facts["load"]) for workers in HELD_OUT]


class Row:
    def __init__(self, case, workers, runs_s, predicted, fitted_s, load):
        self.case, self.workers, self.load = case, workers, load
        self.measured_s = statistics.median(runs_s)
        self.spread = (max(runs_s) - min(runs_s)) / self.measured_s
        self.predicted_s, self.low_s, self.high_s = (predicted[name] for name in ("step_s", "step_low_s", "step_high_s"))
        self.error, self.linear = self.predicted_s / self.measured_s - 1, fitted_s / self.measured_s - 1
        self.covered = self.low_s <= self.measured_s <= self.high_s

    def print(self):
        print(f"| {self.case} | {self.workers} | {self.measured_s * 1e3:.1f} ms | {self.spread:.1%} | {self.load:.1f} | "
              f"{self.predicted_s * 1e3:.1f} ms | {self.low_s * 1e3:.0f} to {self.high_s * 1e3:.0f} | "
              f"{'yes' if self.covered else 'no'} | {self.error:+.1%} | {self.linear:+.1%} |".replace("%", " %"))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that hosts are removed
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", default=",".join(f"{model}-{mbit}" for model in MODELS for mbit in RATES))
    arguments = parser.parse_args()
    missing = hosts.why_not()
    if missing:
        print(f"skipped: several hosts on one machine cannot be made here: {missing}")
        return 77
    cases = [Case(name, arguments.data.resolve()) for name in arguments.only.split(",")]
    for case in cases:
        if not (case.folder / "done").exists():
            case.measure()
    rows = [row for case in cases for row in case.rows()]
    print("| case | N | measured | runs differ by | load | predicted | 90 % interval | covers | error | error of the step of "
          "N = 2 |\n|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        row.print()
    errors, linear = ([abs(getattr(row, name)) for row in rows] for name in ("error", "linear"))
    print(f"\n{len(rows)} points: median error {statistics.median(errors):.1%}, largest {max(errors):.1%}, the interval covers "
          f"{sum(row.covered for row in rows)}; the step of N = 2: median {statistics.median(linear):.1%}".replace("%", " %"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
