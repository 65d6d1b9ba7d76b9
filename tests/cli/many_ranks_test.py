#!/usr/bin/env python3
"""64 ranks on this machine: they start, train, end and are merged. No process or file of them remains.

    many_ranks_test.py --program DDPPROF --scenarios FOLDER [--ranks 64]

Skipped (exit code 77) where less than 256 MiB of memory a rank are free: a process with LibTorch has 184 MB of its own.
"""
import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 5
LIMIT_S = 1500  # two shared cores load LibTorch 64 times


def available_gib():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / (1 << 20)
    return 0.0


def processes_with(text):
    """Pids of processes whose command line has the text."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in command and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def check(condition, message):
    if not condition:
        sys.exit(f"many_ranks_test: {message}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--scenarios", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=64)
    options = parser.parse_args()
    ranks = options.ranks
    if available_gib() < ranks / 4:
        print(f"skipped: {available_gib():.1f} GiB of memory are available, {ranks} ranks need {ranks / 4:.0f}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        database, log = Path(name) / "many.db", Path(name) / "log"
        command = [options.program, "run", options.scenarios / "linear-10-1-ddp.yaml", "--out", database, "--workers",
                   str(ranks), "--device", "cpu"]
        for setting in ("measure.warmup_steps=3", f"measure.steps={STEPS}", "measure.repeats=1",
                        "measure.until_ci_percent=null", "measure.timeout_s=900", "output.raw=none"):
            command += ["--set", setting]
        begin = time.monotonic()
        with log.open("wb") as output:
            # A process group of its own, so that a run that is too slow is ended completely.
            run = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output, start_new_session=True)
            try:
                status = run.wait(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
                sys.exit(f"many_ranks_test: not done after {LIMIT_S} s:\n{log.read_text(errors='replace')[-4000:]}")
        text = log.read_text(errors="replace")
        check(status == 0, f"ddpprof run ended with {status}:\n{text[-4000:]}")
        left = processes_with(name)
        check(not left, f"processes {left} are left")
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        one = lambda query: connection.execute(query).fetchall()
        check(one("SELECT world_size, status FROM measurement") == [(ranks, "ok")], "the measurement is not ok")
        check(one("SELECT count(*), count(DISTINCT rank), min(closed), min(clock_reference), max(clock_reference) "
                  "FROM shard") == [(ranks, ranks, 1, "same-clock", "same-clock")], "shards are missing, or ended early")
        steps = one("SELECT count(*) FROM step WHERE kind = 'measured' GROUP BY shard_id")
        check(steps == [(STEPS,)] * ranks, f"steps of the ranks: {steps}")
        # Every all-reduce of a step has its record on all ranks.
        unmatched = one("SELECT count(*) FROM collective c JOIN step s ON s.id = c.step_id WHERE s.kind = 'measured' AND "
                        "c.transfer_ns IS NULL")
        check(unmatched == [(0,)], f"{unmatched[0][0]} collectives have no record from every rank")
        print(f"{ranks} ranks: {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
