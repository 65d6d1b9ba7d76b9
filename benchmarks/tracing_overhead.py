#!/usr/bin/env python3
"""What tracing costs a training step, taken two ways.

    benchmarks/tracing_overhead.py [--scenario FILE]… [--pairs 8] [--seconds 60] [--ranks 1,2] [--build build/dev]

Steps in turn: one traced training of about `--seconds` in which steps 0, 3, 4, 7, … are annotated and recorded and the others are not; a pair
is an annotated step and the plain one beside it, so that both see the same moment of the machine. What stays on in the
plain steps is a test of a flag at each annotation and LibTorch's callback at a user scope.
Whole runs: a traced and an untraced training (no tracer in the process) in an order that alternates; the median step of
each, `--pairs` times. It holds everything, and the machine's drift from run to run.

Printed for each: the median ratio traced / untraced and its 95 % interval (order statistics of the pairs' ratios); the
events a step, and events x 100 ns as a share of the step.
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from math import comb
from pathlib import Path


def median_interval(values, confidence=0.95):
    """Order statistics (k-th smallest, k-th largest) whose binomial coverage is at least the confidence."""
    values = sorted(values)
    n = len(values)
    if n > 200:  # the binomial is normal by then
        best = int(n / 2 - statistics.NormalDist().inv_cdf((1 + confidence) / 2) * n**0.5 / 2)
    else:
        best = 0
        for k in range(1, n // 2 + 1):
            if 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n >= confidence:
                best = k
    if best == 0:
        return values[0], statistics.median(values), values[-1]
    return values[best - 1], statistics.median(values), values[n - best]


def train(build, scenario, ranks, traced, folder, arguments=()):
    """Runs one training and returns rank 0's measured steps in ns."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                           LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                           OMP_NUM_THREADS="1")
        if traced:
            environment.update(NVTX_INJECTION64_PATH=str(build / "lib" / "libddpprof-tracer.so"),
                               DDPPROF_TRACE_DIR=str(folder))
        command = [build / "bin" / "ddpprof-worker", "--scenario", scenario, "--strategy", "ddp", "--mode", "train",
                   "--result", folder / f"result-{rank}.json", *arguments]
        log = open(folder / f"rank-{rank}.log", "w")
        processes.append((rank, subprocess.Popen([str(part) for part in command], env=environment, stdout=log,
                                                 stderr=subprocess.STDOUT)))
    deadline = time.monotonic() + 300
    try:
        for rank, process in processes:
            if process.wait(max(1, deadline - time.monotonic())) != 0:
                sys.exit(f"rank {rank} failed:\n" + (folder / f"rank-{rank}.log").read_text()[-2000:])
    finally:
        for _, process in processes:
            if process.poll() is None:
                process.kill()
    result = json.loads((folder / "result-0.json").read_text())
    return result["step_ns"]["measured"]


def steps_in_turn(build, scenario, ranks, steps):
    """Ratios annotated / plain of neighbouring steps, and the plain steps' times in ns."""
    text = scenario.read_text()
    changed = re.sub(r"\bsteps: \d+", f"steps: {steps}", text)
    changed = re.sub(r"warmup_steps: \d+", "warmup_steps: 8", changed)  # a multiple of 4: measured step 0 is annotated
    if "warmup_steps: 8" not in changed or f" steps: {steps}" not in changed:
        sys.exit(f"{scenario}: expected measure.warmup_steps and measure.steps")
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / scenario.name
        own.write_text(changed)
        times = train(build, own, ranks, True, Path(folder), ["--annotate-in-turn"])
    ratios, plain = [], []
    for first in range(0, len(times) - 1, 2):
        on, off = (first, first + 1) if first % 4 == 0 else (first + 1, first)
        ratios.append(times[on] / times[off])
        plain.append(times[off])
    return ratios, plain


def events_per_step(folder, steps):
    """Whole records of the rank's shard, from its chunks' lengths (tracer/format/shard_format.hpp), per step."""
    shard = next(folder.glob("shard-0-*.ddps")).read_bytes()
    header_bytes = int.from_bytes(shard[12:16], "little")
    chunk_bytes = int.from_bytes(shard[16:24], "little")
    used = min(int.from_bytes(shard[32:40], "little"), int.from_bytes(shard[24:32], "little"))
    events = 0
    for chunk in range(used):
        at = header_bytes + chunk * chunk_bytes
        end = at + 24 + int.from_bytes(shard[at + 16:at + 24], "little")
        at += 24
        while at + 16 <= end:
            kind, size = int.from_bytes(shard[at:at + 2], "little"), int.from_bytes(shard[at + 2:at + 4], "little")
            if size == 0:
                break
            events += 6 <= kind <= 10
            at += size
    return events / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--scenario", action="append", type=Path)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--build", type=Path, default=root / "build" / "dev")
    arguments = parser.parse_args()
    scenarios = arguments.scenario or [root / "benchmarks" / "scenarios" / name
                                       for name in ("step-5ms.yaml", "step-50ms.yaml", "step-short.yaml")]
    print("| scenario | ranks | step untraced | steps in turn: traced / untraced (95 % interval, pairs) | "
          "whole runs: traced / untraced (95 % interval, pairs) | events a step | events x 100 ns / step |\n"
          "|---|---|---|---|---|---|---|")
    for scenario in scenarios:
        for ranks in map(int, arguments.ranks.split(",")):
            row(arguments, scenario, ranks)


def row(arguments, scenario, ranks):
    runs, events, step_ns = [], 0.0, 0.0
    for pair in range(arguments.pairs + 1):  # the first pair warms the caches and is not counted
        times = {}
        for traced in ((True, False) if pair % 2 else (False, True)):
            with tempfile.TemporaryDirectory() as folder:
                times[traced] = statistics.median(train(arguments.build, scenario, ranks, traced, Path(folder)))
                if traced and pair == 0:
                    result = json.loads((Path(folder) / "result-0.json").read_text())
                    events = events_per_step(Path(folder), sum(result["steps"].values()))
                    step_ns = times[traced]
        if pair > 0:
            runs.append(times[True] / times[False])
    wanted = int(min(20000, max(400, arguments.seconds * 1e9 / step_ns)))
    steps, plain = steps_in_turn(arguments.build, scenario, ranks, wanted)
    step_ns = statistics.median(plain)

    def cell(ratios):
        low, middle, high = median_interval(ratios)
        return f"{middle:.4f} ({low:.4f} to {high:.4f}, {len(ratios)})" if ratios else ""

    print(f"| {scenario.stem} | {ranks} | {step_ns / 1e6:.3f} ms | {cell(steps)} | {cell(runs)} | "
          f"{events:.0f} | {events * 100 / step_ns:.4%} |", flush=True)


if __name__ == "__main__":
    main()
