"""Step time recorded and not, in pairs of runs whose order alternates."""

import statistics

from judge.pairs import median_interval
from suite import trace
from suite.figures import figure
from suite.parts import pairs_in_time
from suite.ranks import told

TITLE = "Recording on against off"
LIMIT_S = 120
PAIRS, LEAST_PAIRS = 6, 3


def percentile_95(values):
    """The 95th percentile, interpolated between two values. Needs two values."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def judged(pairs, judge, least_pairs=LEAST_PAIRS):
    """`pairs` are (recorded, plain) step times in any unit. Without `judge` the figures have no goal."""
    low, median, high, covers = median_interval(recorded / plain for recorded, plain in pairs)
    interval = f"{len(pairs)} pairs; {covers:.0%} interval {low:.4f} to {high:.4f}" if len(pairs) > 1 else "one pair"
    return [figure("step time, recorded over not, median of pairs", round(median, 4), note=interval,
                   **({"at_most": 1.02} if judge else {})),
            figure("interval's lower end", round(low, 4)),
            figure("pairs", len(pairs), **({"at_least": least_pairs} if judge else {}))]


def tails(pairs):
    """Figures of the 95th percentiles, from (recorded, plain) in ns: the ratio and both times. They have no goal."""
    low, median, high, _ = median_interval(recorded / plain for recorded, plain in pairs)
    return [figure("95th percentile of step time, recorded over not, median of pairs", round(median, 4),
                   note=f"interval {low:.4f} to {high:.4f}" if len(pairs) > 1 else "one pair"),
            figure("95th percentile of step time, recorded", statistics.median(one for one, _ in pairs) / 1e6, "ms",
                   note="median of the runs"),
            figure("95th percentile of step time, not recorded", statistics.median(one for _, one in pairs) / 1e6, "ms",
                   note="median of the runs")]


def pair_of_runs(machine, folder, pair, options):
    """One run recorded and one not. Returns {recorded: step times in ns}."""
    found = {}
    for recorded in ((True, False) if pair % 2 else (False, True)):
        job = machine.job("step.py", *options, "--told", folder / "told.json")
        if recorded:
            machine.record(folder / f"{pair}.db", job)
        else:
            machine.run(job)
        found[recorded] = told(folder / "told.json")["step_ns"]["1024"]
    return found


def measure(machine, folder):
    steps, warmup, width, layers = (150, 20, 2048, 12) if machine.cuda else (30, 5, 64, 4)
    options = ["--device", machine.device, "--steps", steps, "--warmup", warmup, "--width", width, "--layers", layers,
               "--batch", 1024]
    if machine.cuda:
        options += ["--ddp", "nccl"]
    runs, failure = pairs_in_time(machine, 1 if machine.small else PAIRS,  # fewer pairs have a wider interval
                                  lambda pair: pair_of_runs(machine, folder, pair, options))
    if runs:
        yield from judged_runs(runs, machine.cuda, 1 if machine.small else LEAST_PAIRS)
        (process,) = trace.processes(folder / f"{len(runs) - 1}.db")
        yield figure("steps that were recorded", len(process.named("step ")), equals=steps + warmup)
        yield figure("events a recorded step", (len(process.kernels) + len(process.copies) + len(process.calls) +
                                                2 * len(process.ranges)) // (steps + warmup))
    if failure:  # the figures of the pairs before it are kept
        raise failure


def judged_runs(runs, judge, least_pairs):
    pairs = [(statistics.median(one[True]), statistics.median(one[False])) for one in runs]
    # A CPU of a test machine is shared: its ratio is reported without a goal.
    return [figure("step not recorded, median", statistics.median(plain for _, plain in pairs) / 1e6, "ms"),
            *judged(pairs, judge, least_pairs),
            *tails([(percentile_95(one[True]), percentile_95(one[False])) for one in runs])]
