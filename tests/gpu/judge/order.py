"""A bucket's all-reduce follows the kernel that made the bucket's last gradient."""

import bisect
from typing import NamedTuple

COLLECTIVE_PARTS = ("nccl", "Nccl", "NCCL")


class Order(NamedTuple):
    pairs: int  # buckets whose two kernels were both found
    early: list  # (step, bucket, ns that the all-reduce begins before the gradient's kernel ends)
    missing: list  # (step, bucket, what was not found)


def is_all_reduce(name):
    """NCCL's kernels; alone in its world, NCCL scales with one called oneRankReduce, and sums with none."""
    return any(part in name for part in COLLECTIVE_PARTS) or "oneRankReduce" in name


def check(steps, buckets, marks, kernels, calls):
    """`steps` are ranges, `buckets` lists of parameters in launch order, `marks` (parameter, time_ns) in order of time:
    the host's moment after the gradient's kernels were launched.

    The last gradient's kernel is the last kernel before its mark, all-reduces excluded. The all-reduce of the n-th
    bucket is the n-th all-reduce of the step.
    """
    begin = {}
    for call in calls:
        begin[call.correlation] = min(call.start_ns, begin.get(call.correlation, call.start_ns))
    launches = sorted(((begin[kernel.correlation], kernel) for kernel in kernels if kernel.correlation in begin),
                      key=lambda one: one[0])
    computing = [(at, kernel) for at, kernel in launches if not is_all_reduce(kernel.name)]
    reducing = [(at, kernel) for at, kernel in launches if is_all_reduce(kernel.name)]
    compute_times, reduce_times = [at for at, _ in computing], [at for at, _ in reducing]
    pairs, early, missing = 0, [], []
    for number, step in enumerate(steps):
        ready = {parameter: at for parameter, at in marks if step.start_ns <= at < step.end_ns}
        own = reducing[bisect.bisect_left(reduce_times, step.start_ns):bisect.bisect_left(reduce_times, step.end_ns)]
        if len(own) != len(buckets):
            missing.append((number, None, f"{len(own)} all-reduces for {len(buckets)} buckets"))
            continue
        for bucket, parameters in enumerate(buckets):
            if any(parameter not in ready for parameter in parameters):
                missing.append((number, bucket, "a gradient's mark"))
                continue
            last = bisect.bisect_right(compute_times, max(ready[parameter] for parameter in parameters)) - 1
            if last < 0 or compute_times[last] < step.start_ns:
                missing.append((number, bucket, "the last gradient's kernel"))
                continue
            pairs += 1
            if (by_ns := computing[last][1].end_ns - own[bucket][1].start_ns) > 0:
                early.append((number, bucket, by_ns))
    return Order(pairs, early, missing)
