"""One rank of Python's own DDP under torch.profiler: makes the trace that an import is judged by, and what DDP itself says.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… profiled_ddp.py CASE.json

CASE.json: {"folder", "widths", "batch", "accumulation", "bucket_cap_mb", "warmup", "steps"}. Writes rank<R>.json, a Chrome trace, and
truth<R>.json: buckets in ready order, the profiled steps' times, and the Logger's communication time of each.
"""

import contextlib
import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

import models


def train(case, rank):
    folder = pathlib.Path(case["folder"])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DistributedDataParallel(models.mlp(*case["widths"]), bucket_cap_mb=case["bucket_cap_mb"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(case["batch"], case["widths"][0])
    targets = torch.randint(0, case["widths"][-1], (case["batch"],))
    order = torch.arange(case["batch"])
    times, logged = [], []
    # The Logger samples the first ten iterations: all of them are trained within those.
    assert case["warmup"] + case["steps"] <= 10
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=case["warmup"] - 1, warmup=1, active=case["steps"], repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(folder / f"rank{rank}.json"))) as profiler:
        for step in range(case["warmup"] + case["steps"]):
            dist.barrier()
            begin = time.monotonic_ns()
            for micro in range(case["accumulation"]):
                with contextlib.nullcontext() if micro + 1 == case["accumulation"] else model.no_sync():
                    loss = torch.nn.functional.cross_entropy(model(inputs.index_select(0, order)), targets)
                    loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step >= case["warmup"]:
                times.append(time.monotonic_ns() - begin)
            if step > case["warmup"]:  # an iteration's statistics are set in the next one's forward
                logged.append(model._get_ddp_logging_data()["backward_comm_time"])
            profiler.step()
    data = model._get_ddp_logging_data()
    buckets = [[int(index) for index in bucket.split()]
               for bucket in data["rebuilt_per_bucket_param_indices"].split(",")]
    truth = {"buckets": buckets, "step_ns": times, "backward_comm_ns": logged,
             "parameter_bytes": [4 * parameter.numel() for parameter in model.parameters()]}
    (folder / f"truth{rank}.json").write_text(json.dumps(truth))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    train(json.loads(pathlib.Path(sys.argv[1]).read_text()), int(os.environ["RANK"]))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
