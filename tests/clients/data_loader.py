"""DistributedDataParallel with a DistributedSampler and DataLoader workers: torchrun --nproc-per-node 2 data_loader.py"""
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Images(Dataset):
    """Images that are made when they are read."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(1, 28, 28, generator=generator), index % 10


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(784, 1500), torch.nn.ReLU(), torch.nn.Linear(1500, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = Images()
    sampler = DistributedSampler(images, shuffle=True)
    loader = DataLoader(images, batch_size=args.batch_size, sampler=sampler, num_workers=1, drop_last=True,
                        persistent_workers=True)
    clock, step, epoch = StepClock(), 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            clock.step_ended()
            if rank == 0 and step % 20 == 0:
                print(f"step {step} loss {loss.item():.4f}")
            step += 1
            if step == args.steps:
                break
    if rank == 0:
        print_facts(clock, list(model.parameters()), dist.get_world_size(), args.batch_size, ddp=model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
