"""A two-process training annotated with the package nvtx, for record_overhead.py. Writes rank 0's step
times and the processor time of all of its threads meanwhile, in ns.

    recorded_training.py OUT.json STEPS WIDTH all|turn ddp|alone

alone: each process trains for itself, so that no process waits for another. turn: of each two neighbouring steps one is annotated, the other not: 0, 3, 4, 7, … are.
"""
import contextlib
import json
import sys
import time
import weakref

import nvtx
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

out, steps, width, which, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
WARMUP = 8
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())],
                            torch.nn.Linear(width, 10))
annotated = True
telling = weakref.WeakSet()  # the hook's calls that threads of Gloo still hold


def mark(name):
    return nvtx.annotate(name) if annotated else contextlib.nullcontext()


def told_all_reduce(group, bucket):
    gradients = bucket.buffer().div_(dist.get_world_size(group))
    under_way = nvtx.start_range("gloo:all_reduce", payload=gradients.nbytes) if annotated else None
    reduced = dist.all_reduce(gradients, group=group, async_op=True).get_future()

    def done(future):
        if under_way is not None:
            nvtx.end_range(under_way)
        return future.value()[0]

    telling.add(done)
    return reduced.then(done)


if ranks == "ddp":
    model = DistributedDataParallel(model)
    model.register_comm_hook(None, told_all_reduce)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
images, labels = torch.randn(64, width), torch.randint(10, (64,))
took_ns = []
for step in range(WARMUP + steps):
    annotated = which == "all" or step % 4 in (0, 3)
    begin, used = time.monotonic_ns(), time.process_time_ns()
    with mark(f"step {step}"):
        with mark("data"):
            images.add_(1e-6)
        with mark("forward"):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        with mark("backward"):
            loss.backward()
        with mark("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
    if step >= WARMUP:
        took_ns.append((time.monotonic_ns() - begin, time.process_time_ns() - used))
if dist.get_rank() == 0:
    with open(out, "w") as file:
        json.dump(took_ns, file)
while telling:  # a thread of Gloo that is in Python when Python ends aborts the process
    time.sleep(0.001)
dist.destroy_process_group()
