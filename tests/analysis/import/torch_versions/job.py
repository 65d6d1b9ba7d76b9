"""One rank of small trainings under torch.profiler, one after the other: makes the traces of scripts/torch-versions.

    RANK=… WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=… job.py FOLDER

Writes FOLDER/CASE/rank<R>.json.gz, and FOLDER/facts<R>.json with what the job itself determines, without the profiler:
DDP's buckets by its Logger, the calls of FSDP2 by wrappers around torch.distributed, times by the clock.

    ddp         DistributedDataParallel, two micro-batches per step
    closure     DistributedDataParallel; forward and backward run inside of optimizer.step(closure)
    fsdp2       fully_shard of each layer and of the model
"""

import contextlib
import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

CASES = {"ddp": {"accumulation": 2}, "closure": {"accumulation": 1}, "fsdp2": {"accumulation": 1}}
# FSDP2 divides the first dimension of each parameter by two ranks: 1023 rows are padded to 1024.
WIDTHS = (256, 1023, 512, 10)
BATCH, WARMUP, STEPS, CAP_MB = 24, 3, 3, 1
# FSDP2 calls the first two or, in newer versions of torch, the other two.
CALLS = {"all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter",
         "all_gather_single": "all_gather", "reduce_scatter_single": "reduce_scatter"}


def make_model(case):
    layers = []
    for before, after in zip(WIDTHS, WIDTHS[1:]):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    if case != "fsdp2":
        return DistributedDataParallel(model, bucket_cap_mb=CAP_MB)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class Calls:
    """The calls of some functions of torch.distributed, with the bytes of the whole tensor, by step."""

    def __init__(self):
        self.step, self.by_step = None, {}

    def __enter__(self):
        self.originals = {name: getattr(dist, name) for name in CALLS if hasattr(dist, name)}
        for name, original in self.originals.items():
            setattr(dist, name, self.wrapped(name, original))
        return self

    def __exit__(self, *_):
        for name, original in self.originals.items():
            setattr(dist, name, original)

    def wrapped(self, name, original):
        def call(*arguments, **options):
            tensors = [*arguments, *options.values()]
            whole = max(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))
            if self.step is not None:
                self.by_step.setdefault(self.step, []).append([CALLS[name], whole])
            return original(*arguments, **options)
        return call


class Clock:
    def __init__(self):
        self.forward_ns, self.backward_ns, self.optimizer_ns = 0, 0, 0

    @contextlib.contextmanager
    def of(self, phase):
        begin = time.monotonic_ns()
        yield
        setattr(self, phase, getattr(self, phase) + time.monotonic_ns() - begin)


def train(case, folder, rank):
    torch.manual_seed(0)
    model = make_model(case)
    shapes = [list(parameter.shape) for parameter in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(BATCH, WIDTHS[0]), torch.randint(WIDTHS[-1], (BATCH,))
    accumulation = CASES[case]["accumulation"]
    times = []

    def passes(clock):
        for micro in range(accumulation):
            with model.no_sync() if micro + 1 < accumulation else contextlib.nullcontext():
                with clock.of("forward_ns"):
                    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
                with clock.of("backward_ns"):
                    loss.backward()

    folder.mkdir(parents=True, exist_ok=True)
    trace = str(folder / f"rank{rank}.json.gz")
    with Calls() as calls, profile(
            activities=[ProfilerActivity.CPU], record_shapes=True,
            schedule=schedule(wait=WARMUP - 1, warmup=1, active=STEPS, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(trace)) as profiler:
        called_ns, returned_ns = time.monotonic_ns(), time.monotonic_ns()
        for step in range(WARMUP + STEPS):
            clock, calls.step = Clock(), step
            if case == "closure":
                with clock.of("optimizer_ns"):
                    optimizer.step(lambda: passes(clock))
                clock.optimizer_ns -= clock.forward_ns + clock.backward_ns
            else:
                passes(clock)
                with clock.of("optimizer_ns"):
                    optimizer.step()
            optimizer.zero_grad()
            calls.step = None
            # The annotation of the step begins in the call of profiler.step() before, and ends in the next.
            before_ns = time.monotonic_ns()
            last = step + 1 == WARMUP + STEPS  # this call writes the trace
            profiler.step()
            after_ns = time.monotonic_ns()
            if step >= WARMUP:
                times.append({"least_ns": before_ns - returned_ns, "most_ns": None if last else after_ns - called_ns,
                              **vars(clock)})
            called_ns, returned_ns = before_ns, after_ns
    facts = {"world_size": dist.get_world_size(), "batch": BATCH, "accumulation": accumulation,
             "first_step": WARMUP, "parameter_shapes": shapes, "steps": times}
    if case == "fsdp2":
        facts["calls"] = [calls.by_step[WARMUP + step] for step in range(STEPS)]
    else:
        text = model._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
        facts["buckets"] = [[int(index) for index in bucket.split()] for bucket in text.split(",")]
    return facts


def main():
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    folder, facts = pathlib.Path(sys.argv[1]), {}
    for case in CASES:
        facts[case] = train(case, folder / case, rank)
        dist.barrier()
    (folder / f"facts{rank}.json").write_text(json.dumps(facts, indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
