"""One matrix product and one all-reduce of one rank.    warm_up.py DEVICE FILE

A new machine reads the libraries from its disk and starts the driver. Both must not count as time of the first part.
"""

import json
import sys
import time

import stacks

stacks.print_before_the_limit()
begin = time.monotonic()

import torch  # noqa: E402

from step import join  # noqa: E402


def product(device):
    """A value of the product of two matrices of ones: their size."""
    ones = torch.ones(256, 256, device=device)
    return torch.mm(ones, ones)[0, 0].item()


def all_reduced(device):
    """The sum of one rank's ones: 1. The first collective initialises NCCL."""
    dist = join("nccl" if device == "cuda" else "gloo", one_gpu=False)
    one = torch.ones(256, device=device)
    dist.all_reduce(one)
    value = one[0].item()
    dist.destroy_process_group()
    return value


def main():
    device, path = sys.argv[1:]
    found, times = {}, [begin, time.monotonic()]
    for name, work in (("product", product), ("all_reduced", all_reduced)):
        found[name] = work(device)
        times.append(time.monotonic())
    found["seconds"] = [round(after - before, 2) for before, after in zip(times, times[1:])]
    with open(path, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
