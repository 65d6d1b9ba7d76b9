"""A training that records itself with ddpprof.profile: torchrun --nproc-per-node 2 profiled.py OUT.db

Writes facts-RANK.json into the current folder. --steps is the training's length, --window FIRST LAST the recorded steps.
"""
import argparse
import contextlib
import json
import os
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim import optimizer as hooks

import ddpprof

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--window", type=int, nargs=2, default=[5, 20])
parser.add_argument("--raise-at", type=int)
parser.add_argument("--only-rank", type=int)     # of --raise-at, --without-tracer; default: all
parser.add_argument("--without-tracer", action="store_true")
parser.add_argument("--again")                   # a second database, of a second block
options = parser.parse_args()

several = "RANK" in os.environ
if several:
    dist.init_process_group("gloo")
rank = dist.get_rank() if several else 0
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(200, 600), torch.nn.ReLU(), torch.nn.Linear(600, 10))
model = DistributedDataParallel(net) if several else net
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
optimizer.zero_grad()
here = options.only_rank in (None, rank)
if options.without_tracer and here:
    os.environ["DDPPROF_PYTHON_MODULE"] = "/nonexistent"
done = 0


def train():
    global done
    for step in range(options.steps):
        if step == options.raise_at and here:
            1 / 0
        inputs, labels = torch.randn(24, 200), torch.randint(10, (24,))
        # No collective of the last steps: a rank that raised does not take part in them.
        forward = model if step < 25 else net
        torch.nn.functional.cross_entropy(forward(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        done += 1


with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ZeroDivisionError):
    warnings.simplefilter("always")
    recording = ddpprof.profile(options.out, steps=range(options.window[0], options.window[1] + 1), timeout_s=30)
    with recording:
        train()
    if options.again:
        with ddpprof.profile(options.again, steps=range(options.window[0], options.window[1] + 1), timeout_s=30):
            train()
for _ in range(3):  # after the block: not recorded
    optimizer.step()
facts = {"done": done, "parameter_count": sum(p.numel() for p in net.parameters()),
         "warnings": [str(one.message) for one in caught if "ddpprof" in str(one.message)],
         "database": recording.database.path if recording.database else None,
         "hooks": len(hooks._global_optimizer_post_hooks)}
with open(f"facts-{rank}.json", "w") as file:
    json.dump(facts, file)
if several:
    dist.destroy_process_group()
