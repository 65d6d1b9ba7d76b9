"""Step time recorded and not, in pairs of runs whose order alternates."""

import statistics

from judge.pairs import median_interval
from suite import trace
from suite.figures import figure
from suite.ranks import told

TITLE = "Recording on against off"
LIMIT_S = 150


def judged(pairs, judge):
    """`pairs` of (recorded, plain) step times in any unit; without `judge` the figures are told and have no goal."""
    low, median, high, covers = median_interval(recorded / plain for recorded, plain in pairs)
    interval = f"{len(pairs)} pairs; {covers:.0%} interval {low:.4f} to {high:.4f}" if len(pairs) > 1 else "one pair"
    return [figure("step time, recorded over not, median of pairs", round(median, 4), note=interval,
                   **({"at_most": 1.02} if judge else {})),
            figure("interval's lower end", round(low, 4), **({"at_most": 1.02} if judge else {}))]


def measure(machine, folder):
    pairs, (steps, warmup, width, layers) = [], (150, 20, 2048, 12) if machine.cuda else (30, 5, 64, 4)
    options = ["--device", machine.device, "--steps", steps, "--warmup", warmup, "--width", width, "--layers", layers,
               "--batch", 1024]
    if machine.cuda:
        options += ["--ddp", "nccl"]
    wanted = 1 if machine.small else 6
    for pair in range(wanted):
        took = {}
        for recorded in ((True, False) if pair % 2 else (False, True)):
            job = machine.job("step.py", *options, "--told", folder / "told.json")
            if recorded:
                machine.record(folder / "job.db", job, 60, "--overwrite")
            else:
                machine.run(job, 60)
            took[recorded] = statistics.median(told(folder / "told.json")["step_ns"]["1024"])
        pairs.append((took[True], took[False]))
    (process,) = trace.processes(folder / "job.db")
    # A CPU of a test machine is shared: its ratio says what happened, and judges nothing.
    return [figure("step not recorded, median", statistics.median(plain for _, plain in pairs) / 1e6, "ms"),
            *judged(pairs, judge=machine.cuda),
            figure("steps that were recorded", len(process.named("step ")), equals=steps + warmup),
            figure("events a recorded step", (len(process.kernels) + len(process.copies) + len(process.calls) +
                                              2 * len(process.ranges)) // (steps + warmup))]
