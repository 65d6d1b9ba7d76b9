"""A training whose gradient noise scale is known: the gradient of a sample x is x itself, with x = 0.1 + N(0, 1) in each of
D dimensions. So |G|^2 = 0.01 D, tr(Sigma) = D, and the noise scale is 100 samples at any weights."""
import argparse
import gc
import os

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=320)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--own-hook", action="store_true", help="the job has a communication hook of its own")
parser.add_argument("--clip", action="store_true")
parser.add_argument("--without-ddp", action="store_true")
arguments = parser.parse_args()
DIMENSIONS, BATCH = 1000, 8


class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.zeros(DIMENSIONS // 2))
        self.second = torch.nn.Parameter(torch.zeros(DIMENSIONS // 2))

    def forward(self, samples):
        return (samples @ torch.cat([self.first, self.second])).mean()


ranks = int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    dist.init_process_group("gloo")
torch.manual_seed(int(os.environ.get("RANK", "0")))
model = Mean()
if ranks > 1 and not arguments.without_ddp:
    model = DistributedDataParallel(model, gradient_as_bucket_view=arguments.accumulate > 1)
    if arguments.own_hook:
        model.register_comm_hook(None, fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
for step in range(arguments.steps):
    optimizer.zero_grad()
    for part in range(arguments.accumulate):
        if hasattr(model, "require_backward_grad_sync"):
            model.require_backward_grad_sync = part == arguments.accumulate - 1
        (model(0.1 + torch.randn(BATCH, DIMENSIONS)) / arguments.accumulate).backward()
    if arguments.clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    optimizer.step()
if ranks > 1:
    # With a hook in Python, torch 2.11 aborts in about one of five ends if the model outlives the last collective
    # ("terminate called without an active exception"), also without ddpprof.
    dist.barrier()
    del model, optimizer
    gc.collect()
    dist.destroy_process_group()
