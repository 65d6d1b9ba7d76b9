"""A training whose facts the tests compare with what ddpprof found. Runs under torchrun, or alone as one process.

Writes facts-RANK.json into the current folder if --facts is given, and prints losses, which are the same in every run.
"""
import argparse
import contextlib
import copy
import json
import os
import pickle
import resource
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--batch", type=int, default=24)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--loader-workers", type=int, default=0)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--adversary", action="store_true", help="two optimizers step in every iteration")
parser.add_argument("--fork-at", type=int, help="before this step a child computes, and prints how its memory grew")
parser.add_argument("--facts", action="store_true")
parser.add_argument("--profile", choices=["schedule", "late"], help="the job has its own profiler")
parser.add_argument("--copy-at", type=int, help="copies the model before this step")
parser.add_argument("--end", choices=["exit", "raise", "os_exit", "kill"], help="how the job ends at --end-at")
parser.add_argument("--end-at", type=int, default=10**9)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(200, 600), torch.nn.ReLU(), torch.nn.Linear(600, 600),
                                          torch.nn.ReLU(), torch.nn.Linear(600, 10))
        self.frozen = torch.nn.Parameter(torch.zeros(77), requires_grad=False)

    def forward(self, images, labels):  # keywords, as in transformers
        return torch.nn.functional.cross_entropy(self.layers(images), labels)


def batches(options):
    generator = torch.Generator().manual_seed(int(os.environ.get("RANK", "0")))
    if options.loader_workers == 0:
        while True:
            yield torch.randn(options.batch, 200, generator=generator), torch.randint(10, (options.batch,), generator=generator)
    data = torch.utils.data.TensorDataset(torch.randn(512, 200, generator=generator),
                                          torch.randint(10, (512,), generator=generator))
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=options.batch, num_workers=options.loader_workers,
                                               drop_last=True, multiprocessing_context="fork")


def end(how):
    if how == "raise":
        raise ValueError("the job's own error")
    if how == "exit":
        sys.exit(3)
    sys.stdout.flush()
    if how == "os_exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGKILL)


def compute_in_a_child():
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        number = torch.ones(10)
        for _ in range(100_000):
            number.add(1)
        print("child grew by less than 50 MB:", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)


def main(options):
    torch.manual_seed(0)
    several = "RANK" in os.environ
    if several:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if several else 0
    net = Net()
    model = DistributedDataParallel(net, bucket_cap_mb=1) if several else net
    called = torch.compile(model, backend="aot_eager") if options.compile else model
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01)
    other = torch.optim.Adam([torch.nn.Parameter(torch.zeros(3))]) if options.adversary else None
    profiler = contextlib.nullcontext()
    if options.profile == "schedule":
        profiler = torch.profiler.profile(schedule=torch.profiler.schedule(wait=35, warmup=1, active=3, repeat=1),
                                          on_trace_ready=lambda p: p.export_chrome_trace("own.json"))
    durations_ns, data = [], batches(options)
    with profiler:
        for step in range(options.steps):
            begin_ns = time.monotonic_ns()
            if step == options.end_at:
                end(options.end)
            if step == options.copy_at:
                copy.deepcopy(model)
                pickle.loads(pickle.dumps(net if several else model))
            if step == options.fork_at:
                compute_in_a_child()
            late = torch.profiler.profile() if options.profile == "late" and step == 35 else contextlib.nullcontext()
            with late:
                for k in range(options.accumulate):
                    images, labels = next(data)
                    waits = several and k + 1 < options.accumulate
                    with model.no_sync() if waits else contextlib.nullcontext():
                        loss = called(images, labels=labels)
                        (loss / options.accumulate).backward()
                if other:
                    other.step()
                optimizer.step()
                optimizer.zero_grad()
            if options.profile == "late" and step == 35:
                late.export_chrome_trace("own.json")
            if options.profile == "schedule":
                profiler.step()
            durations_ns.append(time.monotonic_ns() - begin_ns)
            if step % 10 == 0 and rank == 0:
                print("step", step, "loss", loss.item())
    if options.facts:
        trained = [p for p in net.parameters() if p.requires_grad]
        facts = {"durations_ns": durations_ns, "parameter_count": sum(p.numel() for p in trained),
                 "parameter_bytes": sum(p.nbytes for p in trained), "threads": torch.get_num_threads(),
                 "cores": len(os.sched_getaffinity(0)), "torch": torch.__version__}
        if several:
            log = model._get_ddp_logging_data()
            facts["buckets"] = [int(size) for size in log["rebuilt_bucket_sizes"].split(",")]
            facts["bucket_cap_mb"] = int(log["bucket_cap_bytes"]) / 2**20
        with open("facts-%d.json" % rank, "w") as file:
            json.dump(facts, file)
    if several:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(parser.parse_args())
