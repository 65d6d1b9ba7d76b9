"""Which range a kernel was launched in, and whether it lies where it can lie."""

import bisect
from typing import NamedTuple


class Launched(NamedTuple):
    counts: list  # kernels launched within each range, as the ranges were given
    kernels: list  # those kernels, a list a range
    before_range: list  # kernels that begin before the range they were launched in
    before_call: list  # … before their own launch
    without_call: list  # kernels whose launch was not recorded


def launched_in(ranges, kernels, calls):
    """Ranges have start_ns and end_ns; whose thread launched is left aside, since a backward runs on its own.

    A kernel belongs to every range that holds the begin of its launch.
    """
    begin = {}
    for call in calls:
        begin[call.correlation] = min(call.start_ns, begin.get(call.correlation, call.start_ns))
    launches, before_call, without_call = [], [], []
    for kernel in kernels:
        at = begin.get(kernel.correlation)
        if at is None:
            without_call.append(kernel)
            continue
        if kernel.start_ns < at:
            before_call.append(kernel)
        launches.append((at, kernel))
    launches.sort(key=lambda one: one[0])
    times = [at for at, _ in launches]
    inside, before_range = [], []
    for one in ranges:
        held = [kernel for _, kernel in launches[bisect.bisect_left(times, one.start_ns):
                                                 bisect.bisect_left(times, one.end_ns)]]
        inside.append(held)
        before_range += [kernel for kernel in held if kernel.start_ns < one.start_ns]
    return Launched([len(held) for held in inside], inside, before_range, before_call, without_call)
