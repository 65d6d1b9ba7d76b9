"""A user's training with the usual NVTX annotations. Writes the duration of each step by its own clock.

    recorded_ddp.py OUT_FOLDER STEPS EXIT_CODE
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.cuda import nvtx
from torch.nn.parallel import DistributedDataParallel


def main():
    folder, steps, code = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    took_ns = {"step": [], "forward": [], "backward": [], "optimizer": []}

    def timed(name, label, work):
        begin = time.monotonic_ns()
        nvtx.range_push(label)
        result = work()
        nvtx.range_pop()
        took_ns[name].append(time.monotonic_ns() - begin)
        return result

    def train():
        loss = timed("forward", "forward", lambda: model(torch.randn(64, 256)).sum())
        timed("backward", "backward", loss.backward)
        timed("optimizer", "optimizer", lambda: (optimizer.step(), optimizer.zero_grad()))

    for step in range(steps):
        timed("step", f"step {step}", train)
    rank = dist.get_rank()
    with open(os.path.join(folder, f"rank{rank}.json"), "w") as file:
        json.dump({"rank": rank, "pid": os.getpid(), "took_ns": took_ns}, file)
    dist.destroy_process_group()
    print(f"rank {rank} is done", flush=True)
    sys.exit(code)


main()
