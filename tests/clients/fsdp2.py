"""Fully sharded data parallel (fully_shard): torchrun --nproc-per-node 2 fsdp2.py"""
import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True) for _ in range(2)],
                            torch.nn.Linear(64, 10))
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
for layer in model[:2]:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
clock = StepClock()
for step in range(args.steps):
    inputs, labels = torch.randn(args.batch_size, 16, 64), torch.randint(10, (args.batch_size,))
    loss = torch.nn.functional.cross_entropy(model(inputs)[:, 0], labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    clock.step_ended()
    if rank == 0 and step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
if rank == 0:
    print_facts(clock, list(model.parameters()), dist.get_world_size(), args.batch_size)
dist.destroy_process_group()
