"""One rank of Python's own DDP on the weights and batches that the worker dumped: the judge's side of a parity test.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… python_ddp.py CASES.json

CASES.json: a list of {"folder", "model": workload.model, "loss", "optimizer", "learning_rate", "ddp", "precision",
"steps", "threads", "accumulation", "dumped_steps", "gradient_steps"}, trained one after another; "folder" holds the
worker's dump. "rates", where given: the learning rate of each step, instead of one for all; "adascale": {"base_batch",
"rate", "batch" of one rank and micro-batch, "cut", "factor"}: AdaScale's, which falls by the factor at the base step.
Writes there python<RANK>.json: the loss of every step, first and rebuilt buckets, every step's rate and time in ns; and
python<RANK>.gradients<K>.pt for the first steps.
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
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
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


class AdaScale:
    """Johnson et al. 2020, algorithm 1 and appendix B.3, from the gradients that DDP's hook is given: each rank's own,
    before they are averaged; with one rank, its first micro-batch's."""

    def __init__(self, settings, ddp, micro_batches):
        self.settings, self.micro_batches, self.ddp = settings, micro_batches, ddp
        self.ranks = dist.get_world_size()
        self.parts = self.ranks if self.ranks > 1 else micro_batches
        self.own = 0.0
        self.steps, self.done, self.variance, self.squared = 0, 0.0, 0.0, 0.0
        if self.ranks > 1:
            ddp.register_comm_hook(None, self.hook)

    def hook(self, _, bucket):
        self.own += bucket.buffer().double().square().sum().item()
        return default_hooks.allreduce_hook(None, bucket)

    def norm_sqr(self):
        return sum(p.grad.double().square().sum().item() for p in self.ddp.parameters() if p.grad is not None)

    def after_micro_batch(self, number):
        if self.ranks == 1 and number == 0:
            self.own = self.micro_batches ** 2 * self.norm_sqr()  # the loss is divided by the micro-batches

    def rate(self):
        own = torch.tensor([self.own], dtype=torch.float64)
        dist.all_reduce(own)
        small = self.settings["batch"] * (self.micro_batches if self.ranks > 1 else 1)
        large = small * self.parts
        mean, whole = own.item() / self.ranks, self.norm_sqr()
        scale = large / self.settings["base_batch"]
        # The variance of a gradient of the base batch, and the true gradient's square; both unbiased, then cut at 0.
        trace = (mean - whole) / (1 / small - 1 / large)
        squared = max(whole - trace / large, 0.0)
        variance = max(trace / self.settings["base_batch"], 0.0)
        theta = max(1 - self.parts / 1000, 0.0)
        self.steps += 1
        keep = 1 - 1 / self.steps if self.steps < 1 / (1 - theta) else theta
        self.variance = keep * self.variance + (1 - keep) * variance
        self.squared = keep * self.squared + (1 - keep) * squared
        gain = (self.variance + self.squared) / (self.variance / scale + self.squared)
        base = self.settings["rate"] * (self.settings["factor"] if int(self.done) >= self.settings["cut"] else 1.0)
        self.done += gain
        self.own = 0.0
        return gain * base


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
    adascale = AdaScale(case["adascale"], ddp, case.get("accumulation", 1)) if "adascale" in case else None
    autocast = case.get("precision") == "bf16"
    micro_batches = case.get("accumulation", 1)
    dumped = [dump.batches(step) for step in range(case["dumped_steps"])]
    order = [torch.arange(targets.size(0)) for _, targets in dumped[0]]
    losses, times, rates = [], [], []
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
            if adascale:
                adascale.after_micro_batch(number)
            total = total + loss.detach()
        if step < case["gradient_steps"]:
            torch.save([p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()],
                       folder / f"python{rank}.gradients{step}.pt")
        if "rates" in case or adascale:
            for group in optimizer.param_groups:
                group["lr"] = adascale.rate() if adascale else case["rates"][step]
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(total))
        end = time.monotonic_ns()
        times.append(end - begin)
        begin = end
    torch.save([b.clone() for b in model.buffers() if b.dtype == torch.float32], folder / f"python{rank}.buffers.pt")
    result = {"losses": losses, "step_ns": times, "rates": rates, "first_sizes": first_sizes, **bucket_lists(ddp)}
    (folder / f"python{rank}.json").write_text(json.dumps(result))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    for case in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        train(case, int(os.environ["RANK"]))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
