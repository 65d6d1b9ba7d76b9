#!/usr/bin/env python3
"""Time and memory of reports, predictions and comparisons on a database of many configurations.

    sweep.py [--build build/dev] [--configurations 500] [--steps 40] [--runs 3]

Each configuration is a simulated training (tests/analysis/ingest/simulated_ranks.hpp) at N = 1, 2, 4 or 8 and another batch,
raw events of rank 0 included. Prints a table in Markdown: the least of several runs.
"""
import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

COMMANDS = [["report"], ["report", "--report", "steps"], ["report", "--report", "phases"],
            ["report", "--report", "collectives"], ["report", "--report", "skew"], ["report", "--report", "all"],
            ["predict", "--workers", "8,64"], ["compare"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
    parser.add_argument("--configurations", type=int, default=500)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    binaries = options.build.resolve() / "bin"
    with tempfile.TemporaryDirectory() as name:
        file, other = Path(name) / "sweep.db", Path(name) / "other.db"
        subprocess.run([binaries / "merge_shards", "sweep", file, str(options.configurations), str(options.steps)], check=True)
        shutil.copy(file, other)
        print(f"{options.configurations} configurations of {options.steps} steps: {file.stat().st_size / 1e6:,.0f} MB\n")
        print("| command | wall | processor | exit code |\n|---|---|---|---|")
        for command in COMMANDS:
            files = [file, other] if command[0] == "compare" else [file]
            wall_s, processor_s = [], []
            for _ in range(options.runs):
                before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                done = subprocess.run([binaries / "ddpprof", command[0], *files, *command[1:]], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                wall_s.append(time.monotonic() - begin)
                processor_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            print(f"| {' '.join(command)} | {min(wall_s):.2f} s | {min(processor_s):.2f} s | {done.returncode} |", flush=True)


if __name__ == "__main__":
    main()
