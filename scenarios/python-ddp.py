"""A small training with DistributedDataParallel on a CPU, for python-ddp.yaml."""
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=1000)
arguments = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr)
for step in range(arguments.steps):
    images = torch.randn(arguments.batch_size, 784)
    labels = torch.randint(10, (arguments.batch_size,))
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
