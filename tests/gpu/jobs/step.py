"""A deterministic training of a perceptron, plain or by DDP, annotated and timed as the arguments say.

Writes what the job itself knows to --told, as JSON: step times and lifetime (ns, its own clock), buckets, gradient
bytes, the allocator's peak. RANK and WORLD_SIZE say who it is under DDP; alone it is rank 0 of 1.
"""

import argparse
import contextlib
import datetime
import json
import os
import sys
import time
import weakref

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402
from torch.cuda import nvtx  # noqa: E402

ADDS = 7  # launches of one kernel each, in a range of their own
began_ns = time.monotonic_ns()
telling = weakref.WeakSet()  # the hook's calls that threads of Gloo still hold


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3, help="steps before the timed ones; also annotated")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", default="256", help="one or several, each trained on for --steps")
    parser.add_argument("--ddp", choices=("nccl", "gloo"))
    parser.add_argument("--average", action="store_true",
                        help="all-reduces that average: alone in its world NCCL has a kernel for these only")
    parser.add_argument("--tell", action="store_true", help="a range around each all-reduce that says its bytes")
    parser.add_argument("--one-gpu", action="store_true",
                        help="every rank on device 0; NCCL takes each for a host of its own")
    parser.add_argument("--bucket-mb", type=float)
    parser.add_argument("--marks", action="store_true", help="a mark for each gradient that is there")
    parser.add_argument("--quiet", action="store_true", help="no annotation at all")
    parser.add_argument("--copy", action="store_true", help="each step's batch comes from the host, on another stream")
    parser.add_argument("--profile", help="run torch.profiler over the timed steps and write its trace there")
    parser.add_argument("--pause-s", type=float, default=0, help="between two steps")
    parser.add_argument("--ready", help="file to make once ten steps are done")
    parser.add_argument("--told", required=True)
    return parser.parse_args()


def join(backend, one_gpu):
    rank = os.environ.setdefault("RANK", "0")
    for name, value in (("WORLD_SIZE", "1"), ("LOCAL_RANK", rank), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, value)
    if one_gpu:
        # NCCL refuses two ranks of one host on one device, and knows a host by this name.
        os.environ.update(NCCL_HOSTID=f"rank-{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
    import torch.distributed as dist
    limit = datetime.timedelta(seconds=60)
    if os.environ["WORLD_SIZE"] == "1":
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1, timeout=limit)
    else:
        dist.init_process_group(backend, timeout=limit)
    return dist


def average(group, bucket):
    import torch.distributed as dist
    work = dist.all_reduce(bucket.buffer(), op=dist.ReduceOp.AVG, group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def told(group, bucket):
    """DDP's own all-reduce in a range that says its bytes: Gloo annotates nothing (docs/guide/record.md)."""
    import torch.distributed as dist
    gradients = bucket.buffer().div_(dist.get_world_size(group))
    under_way = nvtx.range_start(f"gloo:all_reduce {gradients.nbytes}")
    work = dist.all_reduce(gradients, group=group, async_op=True)

    def done(future):
        nvtx.range_end(under_way)
        return future.value()[0]

    telling.add(done)
    return work.get_future().then(done)


def leave(dist):
    """Ends the process group once no thread of Gloo is in Python: one that is when Python ends aborts the process.
    A barrier does not do: it may take Gloo's other thread."""
    until = time.monotonic() + 60
    while telling:
        if time.monotonic() > until:
            raise TimeoutError(f"{len(telling)} of the hook's calls have not ended within 60 s of the last step")
        time.sleep(0.001)
    dist.destroy_process_group()


class Training:
    def __init__(self, options):
        self.options, self.cuda = options, options.device == "cuda"
        torch.manual_seed(0)
        if not self.cuda:
            torch.set_num_threads(1)
        self.device = torch.device(options.device)
        self.dist = join(options.ddp, options.one_gpu) if options.ddp else None
        layers = []
        for _ in range(options.layers):
            layers += [torch.nn.Linear(options.width, options.width), torch.nn.ReLU()]
        self.bare = self.model = torch.nn.Sequential(*layers).to(self.device)
        if options.marks:
            for index, parameter in enumerate(self.bare.parameters()):
                parameter.register_post_accumulate_grad_hook(lambda _, index=index: nvtx.mark(f"gradient {index}"))
        if self.dist:
            self.model = torch.nn.parallel.DistributedDataParallel(self.bare, bucket_cap_mb=options.bucket_mb)
            if options.average or options.tell:
                self.model.register_comm_hook(None, average if options.average else told)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.counter = torch.zeros(1024, device=self.device)
        self.copies = torch.cuda.Stream() if self.cuda and options.copy else None
        self.done = 0

    def range(self, name):
        return contextlib.nullcontext() if self.options.quiet else nvtx.range(name)

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def make_batch(self, batch):
        self.host = torch.randn(batch, self.options.width)
        if self.cuda:
            self.host = self.host.pin_memory()
        self.inputs = self.host.to(self.device)

    def step(self):
        """Returns its time in ns by the job's own clock, the device's work included."""
        self.synchronize()
        begin = time.monotonic_ns()
        with self.range(f"step {self.done}"):
            if self.copies:  # beside the computing: what it brings is for the next step
                with torch.cuda.stream(self.copies):
                    self.host.to(self.device, non_blocking=True)
            with self.range("forward"):
                loss = self.model(self.inputs).square().mean()
            with self.range("backward"):
                loss.backward()
            with self.range("optimizer"):
                self.optimizer.step()
                self.optimizer.zero_grad()
            with self.range("adds"):
                for _ in range(ADDS):
                    self.counter.add_(1)
            self.synchronize()
        self.done += 1
        if self.options.ready and self.done == 10:
            open(self.options.ready, "w").close()
        if self.options.pause_s:
            time.sleep(self.options.pause_s)
        return time.monotonic_ns() - begin

    def buckets(self):
        """Parameters by bucket in the order of their all-reduces, as DDP has them since its second step."""
        text = self.model._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices", "")
        return [[int(index) for index in bucket.split()] for bucket in text.split(",") if bucket.strip()]


def profiled(options):
    activities = [torch.profiler.ProfilerActivity.CPU]
    if options.device == "cuda":
        activities = [torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=activities)


def main():
    options = arguments()
    training = Training(options)
    told = {"pid": os.getpid(), "rank": int(os.environ.get("RANK", 0)), "warmup": options.warmup, "adds": ADDS,
            "gradient_bytes": sum(4 * one.numel() for one in training.bare.parameters()), "step_ns": {}}
    for batch in map(int, options.batch.split(",")):
        training.make_batch(batch)
        for _ in range(options.warmup):
            training.step()
        if training.cuda:
            torch.cuda.reset_peak_memory_stats()
        with profiled(options) if options.profile else contextlib.nullcontext() as profiler:
            told["step_ns"][batch] = [training.step() for _ in range(options.steps)]
        if options.profile:
            profiler.export_chrome_trace(options.profile)
        if training.cuda:
            told["peak_bytes"] = torch.cuda.max_memory_allocated()
    if training.dist:
        told["buckets"] = training.buckets()
    told["lifetime_ns"] = [began_ns, time.monotonic_ns()]
    name, dot, ending = options.told.rpartition(".")
    path = f"{name}{dot}{ending}" if told["rank"] == 0 else f"{name}-rank{told['rank']}{dot}{ending}"
    with open(path + ".partial", "w") as file:
        json.dump(told, file)
    os.rename(path + ".partial", path)
    if training.dist:
        leave(training.dist)


if __name__ == "__main__":
    sys.exit(main())
