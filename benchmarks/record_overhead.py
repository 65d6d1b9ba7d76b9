#!/usr/bin/env python3
"""What `ddpprof record` costs a two-process Python training, taken two ways.

    benchmarks/record_overhead.py [--build build/dev] [--python PYTHON] [--widths 256,1024] [--pairs 20] [--seconds 60]
                                  [--ranks alone,ddp]

Steps in turn: one job in which of each two neighbouring steps one is annotated and the other not, so that both see the
same moment of the machine; recorded it tells what annotations and their recording cost together, unrecorded what the
package nvtx costs by itself. Whole runs: the annotated job with and without `ddpprof record` in turn; the median step of
each. Ranks that train alone do not wait for other ranks: their steps vary least.

Printed: the median ratio annotated / not, of whole runs recorded / not, and its 95 % interval (order statistics of the
pairs' ratios).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tracing_overhead import median_interval

ROOT = Path(__file__).resolve().parent.parent
PAIR_STEPS = 150  # of a whole run


def train(arguments, folder, steps, width, which, ranks, recorded):
    """Rank 0's steps: pairs of wall and processor time in ns."""
    times = folder / "times.json"
    job = [arguments.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
           ROOT / "benchmarks" / "recorded_training.py", times, steps, width, which, ranks]
    database = folder / "job.db"
    if recorded:
        job = [arguments.build / "bin" / "ddpprof", "record", "-q", "--overwrite", "--no-raw", "--out", database, "--", *job]
    done = subprocess.run([str(part) for part in job], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    if done.returncode != 0 or (recorded and not database.exists()):
        sys.exit(f"{' '.join(map(str, job))}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(times.read_text())


def in_turn(steps, which):
    """Ratios annotated / plain of neighbouring steps' times (0: wall, 1: processor), and the plain steps."""
    times = [step[which] for step in steps]
    ratios, plain = [], []
    for first in range(0, len(times) - 1, 2):
        on, off = (first, first + 1) if first % 4 == 0 else (first + 1, first)
        ratios.append(times[on] / times[off])
        plain.append(times[off])
    return ratios, plain


def row(arguments, width, ranks):
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for pair in range(arguments.pairs + 1):  # the first warms the caches and is not counted
            step = {}
            for recorded in ((True, False) if pair % 2 else (False, True)):
                took = train(arguments, folder, PAIR_STEPS, width, "all", ranks, recorded)
                step[recorded] = statistics.median(wall for wall, _ in took)
            if pair > 0:
                runs.append(step[True] / step[False])
        steps = int(min(40000, max(400, arguments.seconds * 1e9 / step[False]))) // 4 * 4
        recorded = train(arguments, folder, steps, width, "turn", ranks, True)
        bare = train(arguments, folder, steps, width, "turn", ranks, False)
    wall, plain = in_turn(recorded, 0)

    def cell(ratios):
        low, middle, high = median_interval(ratios)
        return f"{middle:.4f} ({low:.4f} to {high:.4f}, {len(ratios)})" if ratios else ""

    print(f"| {ranks} | {width} | {statistics.median(plain) / 1e6:.2f} ms | {cell(wall)} | {cell(in_turn(recorded, 1)[0])} | "
          f"{cell(in_turn(bare, 1)[0])} | {cell(runs)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument("--python", default=os.environ.get("DDPPROF_TORCH_PYTHON", sys.executable))
    parser.add_argument("--widths", default="256,1024")
    parser.add_argument("--ranks", default="alone,ddp")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    print("| ranks | width of the layers | step | steps in turn: annotated and recorded / not (95 % interval, pairs) | "
          "… processor time | annotated, not recorded / not: processor time | whole runs: recorded / not |\n"
          "|---|---|---|---|---|---|---|")
    for ranks in arguments.ranks.split(","):
        for width in map(int, arguments.widths.split(",")):
            row(arguments, width, ranks)


if __name__ == "__main__":
    main()
