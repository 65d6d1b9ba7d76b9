"""One rank of trainings without DDP, one after the other, each under torch.profiler.

    RANK=… WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=… profiled_others.py CASE.json

CASE.json: {"folder", "widths" (four layers), "batch", "warmup", "steps", "kinds"}: of pipeline, tensor, sharded, zero
(DDP whose optimizer state is sharded), alone. Writes KIND/rank<R>.json; of `alone`, which exchanges nothing and knows of
no group, rank 0's only.
"""

import datetime
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

import models


def replicate(model, inputs, targets):
    cross_entropy(model(inputs), targets).backward()


class Pipeline:
    """The first two layers on rank 0, the others on rank 1."""

    def __init__(self, model, rank, width):
        self.rank, self.width = rank, width
        self.stage = model[:4] if rank == 0 else model[4:]

    def __call__(self, _, inputs, targets):
        if self.rank == 0:
            passed = self.stage(inputs)
            dist.send(passed.detach(), 1)
            gradient = torch.empty_like(passed)
            dist.recv(gradient, 1)
            passed.backward(gradient)
        else:
            passed = torch.empty(len(inputs), self.width)
            dist.recv(passed, 0)
            passed.requires_grad_()
            cross_entropy(self.stage(passed), targets).backward()
            dist.send(passed.grad, 0)


def prepared(kind, model, rank, width):
    if kind == "pipeline":
        return Pipeline(model, rank, width)
    if kind == "tensor":
        parallelize_module(model, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel(),
                                                                  "4": ColwiseParallel(), "6": RowwiseParallel()})
    if kind == "sharded":
        mesh = init_device_mesh("cpu", (2,))
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return replicate


def train(case, kind, rank):
    folder = pathlib.Path(case["folder"]) / kind
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = models.mlp(*case["widths"])
    if kind == "zero":
        model = DistributedDataParallel(model)
    step = prepared(kind, model, rank, case["widths"][2])
    if kind == "zero":
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(case["batch"], case["widths"][0])
    targets = torch.randint(0, case["widths"][-1], (case["batch"],))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=case["warmup"] - 1, warmup=1, active=case["steps"], repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(folder / f"rank{rank}.json"))) as profiler:
        for _ in range(case["warmup"] + case["steps"]):
            step(model, inputs, targets)
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()


def main():
    case, rank = json.loads(pathlib.Path(sys.argv[1]).read_text()), int(os.environ["RANK"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    for kind in case["kinds"]:
        if kind != "alone":
            train(case, kind, rank)
    dist.barrier()
    dist.destroy_process_group()
    if "alone" in case["kinds"] and rank == 0:
        train(case, "alone", rank)


if __name__ == "__main__":
    main()
