"""DistributedDataParallel with gradient accumulation over four micro-batches: torchrun --nproc-per-node 2 no_sync.py"""
import argparse
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--accumulate", type=int, default=4)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(16 * 16 * 16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)), bucket_cap_mb=1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
clock = StepClock()
for step in range(args.steps):
    total = 0.0
    for micro in range(args.accumulate):
        images, labels = torch.randn(args.batch_size, 3, 16, 16), torch.randint(10, (args.batch_size,))
        last = micro + 1 == args.accumulate
        with contextlib.nullcontext() if last else model.no_sync():
            loss = torch.nn.functional.cross_entropy(model(images), labels) / args.accumulate
            loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    clock.step_ended()
    if rank == 0 and step % 20 == 0:
        print(f"step {step} loss {total:.4f}")
if rank == 0:
    print_facts(clock, list(model.parameters()), dist.get_world_size(), args.batch_size, args.accumulate, ddp=model)
dist.destroy_process_group()
