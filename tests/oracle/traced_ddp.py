"""A user's training with Python's DDP, which traces itself with torch.profiler if DDPPROF_TRACE_DIR is set.

    torchrun --nproc-per-node N traced_ddp.py --batch-size B [--steps S] [--width W] [--endless] [--ignore-sigterm]
             [--fail-at N] [--no-trace] [--facts FOLDER]

Writes one line of facts for each rank to FOLDER: what the job did, by its own clock.
"""

import argparse
import json
import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

WARMUP = 3


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--batch-size", type=int, required=True)
    options.add_argument("--steps", type=int, default=10)
    options.add_argument("--width", type=int, default=512)
    options.add_argument("--endless", action="store_true", help="train on after the trace")
    options.add_argument("--ignore-sigterm", action="store_true")
    options.add_argument("--fail-at", type=int, help="exit with code 7 if this is the number of ranks")
    options.add_argument("--no-trace", action="store_true", help="ignore DDPPROF_TRACE_DIR")
    options.add_argument("--facts", type=pathlib.Path)
    asked = options.parse_args()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if asked.fail_at == world_size:
        sys.exit(7)
    if asked.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(256, asked.width), torch.nn.ReLU(), torch.nn.Linear(asked.width, asked.width), torch.nn.ReLU(),
        torch.nn.Linear(asked.width, 10)), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(asked.batch_size, 256), torch.randint(0, 10, (asked.batch_size,))
    traces = None if asked.no_trace else os.environ.get("DDPPROF_TRACE_DIR")
    times = []

    def train_step():
        begin = time.monotonic()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.monotonic() - begin)

    if traces:
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                     schedule=schedule(wait=WARMUP - 1, warmup=1, active=asked.steps, repeat=1),
                     on_trace_ready=lambda done: done.export_chrome_trace(f"{traces}/rank{rank}.json.gz")) as profiler:
            for _ in range(WARMUP + asked.steps):
                train_step()
                profiler.step()
    else:
        for _ in range(WARMUP + asked.steps):
            train_step()
    facts = {"rank": rank, "world_size": world_size, "batch": asked.batch_size, "steps": asked.steps,
             "step_s": times[WARMUP:],
             "parameter_bytes": sum(4 * parameter.numel() for parameter in model.parameters()),
             "environment": {name: value for name, value in os.environ.items() if name.startswith("DDPPROF_")}}
    if asked.facts:
        (asked.facts / f"n{world_size}-b{asked.batch_size}-rank{rank}-{os.getpid()}.json").write_text(json.dumps(facts))
    while asked.endless:
        train_step()
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank} of {world_size} is done", flush=True)


if __name__ == "__main__":
    main()
