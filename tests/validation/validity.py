"""Decides which runs of hosts on one machine were disturbed by other work, before anything is predicted.

The rule uses forward times and steal time only. Forward has no communication, so on hosts with a fixed share of a core it
takes the same time at every N, unless the machine is busy. Steal time is what the hypervisor gave to other machines.
"""

import dataclasses
import statistics

LARGEST_DIFFERENCE = 0.05  # of a run's forward time from the reference
LARGEST_STEAL = 0.02  # of all processor time during the run
EXTRA_RUNS = 3  # for each N, to replace disturbed ones
LARGEST_INVALID_SHARE = 0.2  # of all points


@dataclasses.dataclass(frozen=True)
class Run:
    workers: int
    repeat: int
    forward_s: float  # mean over steps and hosts
    steal: float | None  # share of the processors' time, 0 to 1; None if it was not recorded


def reference_s(runs, fitted):
    """The median forward time of the runs at the world sizes in `fitted`. Seconds."""
    return statistics.median(run.forward_s for run in runs if run.workers in fitted)


def disturbance(run, reference):
    """Says what disturbed a run; empty if it is valid. `reference` in seconds."""
    if run.steal is not None and run.steal > LARGEST_STEAL:
        return f"steal time {run.steal:.1%}"
    difference = run.forward_s / reference - 1
    if abs(difference) > LARGEST_DIFFERENCE:
        return f"forward {difference:+.1%}"
    return ""


def valid_runs(runs, fitted):
    """The runs that nothing disturbed, in their order."""
    reference = reference_s(runs, fitted)
    return [run for run in runs if not disturbance(run, reference)]


def missing_repeats(runs, fitted, wanted, limit=EXTRA_RUNS):
    """How many runs each world size in `wanted` ({N: repeats}) still needs: {N: number}, without the sizes that are
    complete or have had `limit` extra runs."""
    missing = {}
    complete = all(any(run.workers == workers for run in runs) for workers in fitted)
    valid = valid_runs(runs, fitted) if complete else runs
    for workers, repeats in wanted.items():
        made = sum(run.workers == workers for run in runs)
        number = min(repeats - sum(run.workers == workers for run in valid), repeats + limit - made)
        if number > 0:
            missing[workers] = number
    return missing


def steal_share(before, after):
    """The share of processor time that was stolen between two texts of /proc/stat. None if no time passed."""
    def times(text):
        fields = next(line for line in text.splitlines() if line.startswith("cpu ")).split()[1:]
        return [int(field) for field in fields[:8]]  # user to steal; guest times are part of user
    passed = [last - first for first, last in zip(times(before), times(after))]
    return passed[7] / sum(passed) if sum(passed) > 0 else None
