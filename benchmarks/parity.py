#!/usr/bin/env python3
"""Step time of the worker beside Python's own DDP: same weights, batches, threads and cores, in turns.

    benchmarks/parity.py [--build build/dev] [--seconds 120] [--rounds 1] [--workers 1,2,4] [--full] [--keep-memory]
                         [MODEL]…

Both trainings are alive at once and only one may run (SIGSTOP and SIGCONT to its ranks): turns of half a second or
four steps, so that both see the same seconds of the machine. A turn's step time is the median of rank 0's whole steps
in it; a pair is a turn of ours and one of Python's beside it. --seconds is for both. --rounds starts both anew so
many times: large models depend on which memory a process happens to get, which no number of turns averages out.
--keep-memory has both sides' malloc keep what is freed: by its default it gives memory back to the kernel or not as
blocks happen to lie at the heap's end, and from start to start gradients freed in every step are then paid for by page
faults or not.

Printed as a Markdown table: medians, the median ratio ours / Python's with its 95 % interval (order statistics, of the
rounds' ratios where there are six and more, else of the pairs) and, of several rounds, each one's, and the spread of
Python's own turns (median absolute deviation over median). Run it with the interpreter of the torch wheel. --full takes
models of real size.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "oracle"), str(ROOT / "benchmarks")]

def halt(processes, which):
    for process in processes:
        if process.poll() is None:
            os.kill(process.pid, which)


def wait_for(processes, limit_s, what):
    deadline = time.monotonic() + limit_s
    for rank, process in enumerate(processes):
        try:
            _, errors = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
        except Exception:
            halt(processes, signal.SIGCONT)
            raise
        if process.returncode != 0:
            sys.exit(f"{what}, rank {rank}: exit {process.returncode}\n{errors[-2000:]}")


def turns(step_ns, turn_s, stops):
    """Medians of the runs of steps between pauses, None where there are too few to tell; a pause is a step that took more
    than half a turn longer, and of those no more than the longest `stops`: the machine too may hold a step up."""
    usual = statistics.median(step_ns)
    longest = sorted(range(len(step_ns)), key=lambda i: -step_ns[i])[:stops]
    pauses = {i for i in longest if step_ns[i] > usual + 0.5e9 * turn_s}
    parts, part = [], []
    for number, step in enumerate(step_ns):
        if number in pauses:
            parts.append(part)
            part = []
        else:
            part.append(step)
    parts.append(part)
    # The first turn saw both sides run, the last may be cut short.
    return [statistics.median(part[1:]) if len(part) >= 3 else None for part in parts[1:-1]]


def compare(parity, runs, case, workers, seconds):
    with tempfile.TemporaryDirectory() as folder:
        results = runs.run_ranks(parity.scenario_text(case, 6), workers, folder, ["--dump", folder, "--dump-steps", "4"])
        step_s = statistics.median(results[0]["step_ns"]["measured"]) / 1e9
        turn_s = max(0.5, 4.5 * step_s)
        steps = max(45, int(seconds / 2 / step_s))
        ours = runs.start_ranks(parity.scenario_text(case, steps), workers, folder)
        theirs = parity.start_python([parity.python_case(case, folder, steps, 4, 0)], workers, folder)
        try:
            time.sleep(8 + 4 * step_s)  # both import, build and warm up
            mine = True
            stops = {True: 0, False: 1}  # by whose ranks: ours, Python's
            halt(theirs, signal.SIGSTOP)
            while ours[0].poll() is None and theirs[0].poll() is None:
                time.sleep(turn_s)
                halt(ours if mine else theirs, signal.SIGSTOP)
                stops[mine] += 1
                mine = not mine
                halt(ours if mine else theirs, signal.SIGCONT)
            for ranks, what in ((ours, "worker"), (theirs, "Python")):
                halt(ranks, signal.SIGCONT)
                wait_for(ranks, 600 + 4 * seconds, what)
        finally:
            for process in ours + theirs:
                process.kill()
        own = json.loads((pathlib.Path(folder) / "result0.json").read_text())["step_ns"]["measured"]
        python = json.loads((pathlib.Path(folder) / "python0.json").read_text())["step_ns"][4:]
    return turns(own, turn_s, stops[True]), turns(python, turn_s, stops[False])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--keep-memory", action="store_true")
    arguments = parser.parse_args()
    os.environ["DDPPROF_WORKER"] = str(arguments.build.resolve() / "bin" / "ddpprof-worker")
    if arguments.keep_memory:
        os.environ.update(MALLOC_MMAP_THRESHOLD_=str(1 << 32), MALLOC_TRIM_THRESHOLD_=str(1 << 34))
    import full_parity
    import test_parity as parity
    import worker_runs as runs
    from tracing_overhead import median_interval

    # A rate at which nothing is learnt: a training that has converged computes with denormal numbers, several times
    # slower, and the two sides need not get there together.
    cases = full_parity.MODELS if arguments.full else parity.MODELS
    print("| model | N | Python [ms] | ours [ms] | ours / Python (95 % interval, pairs) | spread of Python's turns |\n"
          "|---|---|---|---|---|---|", flush=True)
    for name, case in cases.items():
        if arguments.models and name not in arguments.models:
            continue
        for workers in map(int, arguments.workers.split(",")):
            pairs, rounds = [], []
            for _ in range(arguments.rounds):
                own, python = compare(parity, runs, {**case, "rate": 1e-7}, workers, arguments.seconds)
                # No pause goes unseen, as each is longer than what turns() takes for one; but a side that starts slowly may
                # have been stopped before its first counted step. So they are paired from the end.
                if abs(len(own) - len(python)) > 4:
                    sys.exit(f"{name}, N = {workers}: {len(own)} turns of ours, {len(python)} of Python's: no pairs")
                both = min(len(own), len(python))
                own, python = own[len(own) - both:], python[len(python) - both:]
                found = [(a, b) for a, b in zip(own, python) if a and b]
                pairs += found
                rounds.append(statistics.median(a / b for a, b in found) if found else float("nan"))
            own, python = zip(*pairs) if pairs else ((), ())
            ratios = [a / b for a, b in pairs]
            if len(ratios) < 6:
                print(f"| {name} | {workers} | | | {len(ratios)} pairs: too few; raise --seconds | |", flush=True)
                continue
            of_rounds = len(rounds) >= 6 and not any(map(math.isnan, rounds))
            low, _, high = median_interval(rounds if of_rounds else ratios)
            middle = statistics.median(ratios)
            centre = statistics.median(python)
            spread = statistics.median(abs(value - centre) for value in python) / centre
            print(f"| {name} | {workers} | {centre / 1e6:.3f} | {statistics.median(own) / 1e6:.3f} | "
                  f"{middle:.4f} ({low:.4f} to {high:.4f}, {len(ratios)})"
                  + (f"; rounds {', '.join(f'{one:.3f}' for one in rounds)}" if arguments.rounds > 1 else "")
                  + f" | {spread:.1%} |", flush=True)


if __name__ == "__main__":
    main()
