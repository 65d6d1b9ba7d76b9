"""One rank of a training that averages its gradients by hand, with one blocking all-reduce after backward.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… profiled_blocking.py CASE.json

CASE.json: {"folder", "widths", "batch", "warmup", "steps", "slow_rank_s"}. The last rank computes `slow_rank_s` longer in
each step, so that the others wait in their all-reduce. Writes rank<R>.json, a Chrome trace, and truth<R>.json: what the
script's own clock measured of each traced step: the step, and the time inside of its all-reduce.
"""

import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

import models


def compute_for(seconds):
    """Keeps the processor busy in operators, as a slower model would."""
    values = torch.ones(64, 64)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        values = values @ values.t() * 1e-3


def train(case, rank, world_size):
    folder = pathlib.Path(case["folder"])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = models.mlp(*case["widths"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(case["batch"], case["widths"][0])
    targets = torch.randint(0, case["widths"][-1], (case["batch"],))
    sizes = [parameter.numel() for parameter in model.parameters()]
    truth = {"step_ns": [], "collective_ns": []}
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=case["warmup"] - 1, warmup=1, active=case["steps"], repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(folder / f"rank{rank}.json"))) as profiler:
        for step in range(case["warmup"] + case["steps"]):
            begin = time.monotonic_ns()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            if rank == world_size - 1:
                compute_for(case["slow_rank_s"])
            gradients = torch.cat([parameter.grad.view(-1) for parameter in model.parameters()])
            before = time.monotonic_ns()
            dist.all_reduce(gradients)
            inside = time.monotonic_ns() - before
            gradients /= world_size
            for parameter, gradient in zip(model.parameters(), gradients.split(sizes)):
                parameter.grad.copy_(gradient.view_as(parameter))
            optimizer.step()
            optimizer.zero_grad()
            if step >= case["warmup"]:
                truth["step_ns"].append(time.monotonic_ns() - begin)
                truth["collective_ns"].append(inside)
            profiler.step()
    (folder / f"truth{rank}.json").write_text(json.dumps(truth))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    train(json.loads(pathlib.Path(sys.argv[1]).read_text()), dist.get_rank(), dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
