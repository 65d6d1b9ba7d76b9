#!/usr/bin/env python3
"""How long `ddpprof --help` takes as a whole process.   benchmarks/startup.py [PROGRAM] [RUNS]"""
import statistics
import subprocess
import sys
import time
from pathlib import Path

program = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "build/dev/bin/ddpprof"
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
times_ms = []
for run in range(runs + 5):
    begin = time.perf_counter()
    subprocess.run([program, "--help"], stdout=subprocess.DEVNULL, check=True)
    if run >= 5:
        times_ms.append((time.perf_counter() - begin) * 1e3)
times_ms.sort()
print(f"ddpprof --help, {runs} runs: median {statistics.median(times_ms):.1f} ms, "
      f"95th percentile {times_ms[int(0.95 * (runs - 1))]:.1f} ms, slowest {times_ms[-1]:.1f} ms")
