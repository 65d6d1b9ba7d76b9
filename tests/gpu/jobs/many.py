"""Launches one small kernel N times (on a CPU: opens N ranges), and says how long it took.    many.py DEVICE N TOLD"""

import json
import resource
import sys
import time

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402
from torch.cuda import nvtx  # noqa: E402


def main():
    device, count, told = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    value = torch.zeros(32, device=device)
    if device == "cuda":
        value.add_(1)
        torch.cuda.synchronize()
    begin = time.monotonic_ns()
    with nvtx.range("many"):
        if device == "cuda":
            for _ in range(count):
                value.add_(1)
            torch.cuda.synchronize()
        else:
            for _ in range(count):
                nvtx.range_push("one")
                nvtx.range_pop()
    took_ns = time.monotonic_ns() - begin
    with open(told, "w") as file:
        json.dump({"count": count, "took_ns": took_ns,
                   "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}, file)


if __name__ == "__main__":
    main()
