"""Plain DistributedDataParallel: torchrun --nproc-per-node 2 ddp.py"""
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
clock = StepClock()
for step in range(args.steps):
    images, labels = torch.randn(args.batch_size, 256), torch.randint(10, (args.batch_size,))
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    clock.step_ended()
    if rank == 0 and step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
if rank == 0:
    print_facts(clock, list(model.parameters()), dist.get_world_size(), args.batch_size, ddp=model)
dist.destroy_process_group()
