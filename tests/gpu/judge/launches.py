"""The range in which a kernel was launched, and the gaps between launch, range and kernel."""

import bisect
from typing import NamedTuple


class Launched(NamedTuple):
    counts: list  # kernels launched within each range, as the ranges were given
    kernels: list  # those kernels, a list a range
    without_call: list  # kernels whose launch was not recorded
    range_gap_ns: int | None  # the smallest kernel start - range start; None without kernels in ranges
    call_gap_ns: int | None  # the smallest kernel start - launch start; None without launches


def launched_in(ranges, kernels, calls):
    """Ranges have start_ns and end_ns. The thread of a launch is ignored, since a backward runs on its own.

    A kernel belongs to every range that contains the start of its launch.
    """
    begin = {}
    for call in calls:
        begin[call.correlation] = min(call.start_ns, begin.get(call.correlation, call.start_ns))
    launches, without_call = [], []
    for kernel in kernels:
        at = begin.get(kernel.correlation)
        if at is None:
            without_call.append(kernel)
            continue
        launches.append((at, kernel))
    launches.sort(key=lambda one: one[0])
    times = [at for at, _ in launches]
    inside, range_gaps_ns = [], []
    for one in ranges:
        held = [kernel for _, kernel in launches[bisect.bisect_left(times, one.start_ns):
                                                 bisect.bisect_left(times, one.end_ns)]]
        inside.append(held)
        range_gaps_ns += [kernel.start_ns - one.start_ns for kernel in held]
    return Launched([len(held) for held in inside], inside, without_call, min(range_gaps_ns, default=None),
                    min((kernel.start_ns - at for at, kernel in launches), default=None))


def outside(kernels, lifetime_ns):
    """Kernels that start at zero, or outside of the job's lifetime [begin, end] by the job's own clock."""
    begin_ns, end_ns = lifetime_ns
    return [kernel for kernel in kernels if kernel.start_ns == 0 or not begin_ns <= kernel.start_ns <= end_ns]
