"""One rank of Python's own DDP on the weights and batches that the worker dumped: the judge's side of a parity test.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… python_ddp.py CASES.json

CASES.json: a list of {"folder", "model": workload.model, "loss", "optimizer", "learning_rate", "ddp", "precision",
"steps", "threads", "accumulation", "dumped_steps", "gradient_steps"}, trained one after another; "folder" holds the
worker's dump. "rates", where given: the learning rate of each step, instead of one for all. Writes there python<RANK>.json: the loss of every step, first and rebuilt buckets, every step's time in ns;
and python<RANK>.gradients<K>.pt for the first steps.
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
from torch.nn.parallel import DistributedDataParallel

import models
from worker_runs import RankDump


class Layerwise:
    """LARS (You, Gitman, Ginsburg 2017, algorithm 1) and LAMB (You et al. 2020, algorithm 2), a tensor a layer."""

    def __init__(self, parameters, options, rate):
        self.parameters, self.options = parameters, options
        self.param_groups = [{"lr": rate}]
        self.momentum = [torch.zeros_like(p) for p in parameters]
        self.square = [torch.zeros_like(p) for p in parameters]
        self.steps = 0

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for i, weight in enumerate(self.parameters):
            (self.lars if self.options["layerwise"] == "lars" else self.lamb)(i, weight, weight.grad)

    def lars(self, i, weight, gradient):
        decay = self.options.get("weight_decay") or 0.0
        size, slope = weight.norm().item(), gradient.norm().item()
        local = self.options["trust"] * size / (slope + decay * size) if size > 0 and slope > 0 else 1.0
        self.momentum[i] = self.options["momentum"] * self.momentum[i] + \
            self.param_groups[0]["lr"] * local * (gradient + decay * weight)
        weight -= self.momentum[i]

    def lamb(self, i, weight, gradient):
        beta1, beta2, epsilon = 0.9, 0.999, 1e-8
        self.momentum[i] = beta1 * self.momentum[i] + (1 - beta1) * gradient
        self.square[i] = beta2 * self.square[i] + (1 - beta2) * gradient * gradient
        first = self.momentum[i] / (1 - beta1 ** self.steps)
        second = self.square[i] / (1 - beta2 ** self.steps)
        update = first / (second.sqrt() + epsilon) + self.options["weight_decay"] * weight
        size, length = weight.norm().item(), update.norm().item()
        ratio = min(max(size, 0.0), 10.0) / length if size > 0 and length > 0 else 1.0
        weight -= self.param_groups[0]["lr"] * ratio * update


def make_optimizer(options, parameters, rate):
    more = {key: options[key] for key in ("weight_decay", "betas", "eps") if options.get(key) is not None}
    if "layerwise" in options:
        return Layerwise(list(parameters), options, rate)
    if options["kind"] == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=options.get("momentum", 0.0), **more)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options["kind"]](parameters, lr=rate, **more)


def wrap(model, options):
    chosen = {key: options[key] for key in ("bucket_cap_mb", "gradient_as_bucket_view", "broadcast_buffers",
                                            "find_unused_parameters", "static_graph") if key in options}
    ddp = DistributedDataParallel(model, **chosen)
    if options.get("compression") == "fp16":
        ddp._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    return ddp


def bucket_lists(ddp):
    data = ddp._get_ddp_logging_data()

    def lists(key):
        text = data.get(key, "")
        return [[int(index) for index in bucket.split()] for bucket in text.split(",")] if text else []

    return {"rebuilt": lists("rebuilt_per_bucket_param_indices"), "sizes": data.get("bucket_sizes", ""),
            "initial_sizes": data.get("initial_bucket_size_limits", "")}


def train(case, rank):
    folder = pathlib.Path(case["folder"])
    torch.set_num_threads(case["threads"])
    dump = RankDump(folder, rank)
    spec = dict(case["model"])
    if spec["kind"] == "torchscript":
        model = torch.jit.load(spec["file"])
    else:
        model = models.make(**spec)
    # Rank 0's weights everywhere, as DDP itself broadcasts them.
    models.load(model, RankDump(folder, 0).initial())
    ddp = wrap(model, case.get("ddp", {}))
    first_sizes = ddp._get_ddp_logging_data().get("bucket_sizes", "")
    optimizer = make_optimizer(case["optimizer"], ddp.parameters(), case["learning_rate"])
    autocast = case.get("precision") == "bf16"
    micro_batches = case.get("accumulation", 1)
    dumped = [dump.batches(step) for step in range(case["dumped_steps"])]
    order = [torch.arange(targets.size(0)) for _, targets in dumped[0]]
    losses, times = [], []
    begin = time.monotonic_ns()
    for step in range(case["steps"]):
        total = 0.0
        for number, (inputs, targets) in enumerate(dumped[step % len(dumped)]):
            # The worker gathers a batch from its data set in each step: so does this.
            inputs = [one.index_select(0, order[number]) for one in inputs]
            targets = targets.index_select(0, order[number])
            last = number + 1 == micro_batches
            with contextlib.nullcontext() if last else ddp.no_sync():
                with torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext():
                    loss = models.loss_of(case["loss"], ddp(*inputs), targets)
                    if micro_batches > 1:
                        loss = loss / micro_batches
                loss.backward()
            total = total + loss.detach()
        if step < case["gradient_steps"]:
            torch.save([p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()],
                       folder / f"python{rank}.gradients{step}.pt")
        if "rates" in case:
            for group in optimizer.param_groups:
                group["lr"] = case["rates"][step]
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(total))
        end = time.monotonic_ns()
        times.append(end - begin)
        begin = end
    torch.save([b.clone() for b in model.buffers() if b.dtype == torch.float32], folder / f"python{rank}.buffers.pt")
    result = {"losses": losses, "step_ns": times, "first_sizes": first_sizes, **bucket_lists(ddp)}
    (folder / f"python{rank}.json").write_text(json.dumps(result))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    for case in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        train(case, int(os.environ["RANK"]))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
