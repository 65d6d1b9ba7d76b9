"""DDP of a GPT-2-style decoder in Python: the operations of ddpprof-worker's training, in the same order.

Each step is in a range "step N". Writes what the job itself knows to --told, as JSON: step times in ns, by its own
clock, without the warm-up. With --profile, torch.profiler runs over the same steps and writes its trace there.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402
from torch.cuda import nvtx  # noqa: E402

from step import join  # noqa: E402

# The model that the worker's model is compared with, parameter by parameter (tests/oracle/test_parity.py).
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "oracle"))
import models  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--model", required=True, help="workload.model of a scenario, as JSON, with all sizes")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True, help="steps before the timed ones; also annotated")
    parser.add_argument("--profile")
    parser.add_argument("--told", required=True)
    return parser.parse_args()


class Training:
    def __init__(self, options):
        self.options, self.device, self.done = options, torch.device(options.device), 0
        if options.device == "cpu":
            torch.set_num_threads(1)
        torch.manual_seed(0)
        spec = json.loads(options.model)
        self.tokens = torch.randint(spec["vocabulary"], (8 * options.batch, spec["sequence"]))
        self.targets = torch.randint(spec["vocabulary"], (8 * options.batch, spec["sequence"]))
        model = models.make(**{name: value for name, value in spec.items() if name != "sequence"}).to(self.device)
        self.model = torch.nn.parallel.DistributedDataParallel(model)
        # One parameter after the other, as the worker's optimizer: other kernels would update several at once.
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, foreach=False)

    def step(self):
        """Returns its time in ns. Reading the loss waits for the device."""
        begin = time.monotonic_ns()
        with nvtx.range(f"step {self.done}"):
            rows = torch.arange(self.options.batch) + self.done % 8 * self.options.batch
            tokens, targets = (one.index_select(0, rows).to(self.device) for one in (self.tokens, self.targets))
            autocast = torch.autocast(self.options.device, torch.bfloat16, enabled=self.options.precision == "bf16")
            with autocast:
                loss = models.loss_of("cross_entropy", self.model(tokens), targets)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            loss.item()
        self.done += 1
        return time.monotonic_ns() - begin


def main():
    options = arguments()
    dist = join("nccl" if options.device == "cuda" else "gloo", one_gpu=False)
    training = Training(options)
    for _ in range(options.warmup):
        training.step()
    kinds = torch.profiler.ProfilerActivity
    profiler = torch.profiler.profile(activities=[kinds.CPU, *([kinds.CUDA] if options.device == "cuda" else [])])
    with profiler if options.profile else contextlib.nullcontext():
        times = []
        for _ in range(options.steps):
            times.append(training.step())
            if options.profile:
                profiler.step()  # writes the name and the borders of the step
    if options.profile:
        profiler.export_chrome_trace(options.profile)
    with open(options.told + ".partial", "w") as file:
        json.dump({"warmup": options.warmup, "step_ns": times}, file)
    os.rename(options.told + ".partial", options.told)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
