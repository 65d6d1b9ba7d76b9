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
done = 0
with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ZeroDivisionError):
    warnings.simplefilter("always")
    with ddpprof.profile(options.out, steps=range(options.window[0], options.window[1] + 1)) as recording:
        for step in range(options.steps):
            if step == options.raise_at:
                1 / 0
            torch.nn.functional.cross_entropy(model(torch.randn(24, 200)), torch.randint(10, (24,))).backward()
            optimizer.step()
            optimizer.zero_grad()
            done += 1
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
