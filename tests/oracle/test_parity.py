"""The same training in the worker and in Python's own DDP: buckets, gradients and loss curves, for small presets."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

from tiers import LONG, long_test
from worker_runs import RankDump, free_port, read_floats, run_ranks

STEPS, GRADIENT_STEPS = 20, 3
GRADIENT_LIMIT, LOSS_LIMIT, BUFFER_LIMIT = 1e-6, 1e-5, 1e-4
HERE = pathlib.Path(__file__).resolve().parent

MODELS = {
    "mlp": dict(model=dict(kind="mlp", widths=[64, 300, 300, 10]), loss="cross_entropy", batch=8,
                ddp=dict(bucket_cap_mb=0.2)),
    "resnet50": dict(model=dict(kind="resnet50", classes=10, image_size=32), loss="cross_entropy", batch=4, rate=0.002),
    "gpt": dict(model=dict(kind="gpt", layers=2, heads=4, width=64, vocabulary=500, positions=32), loss="cross_entropy",
                batch=4, optimizer=dict(kind="adamw"), rate=1e-3, ddp=dict(bucket_cap_mb=0.1)),
    "bert": dict(model=dict(kind="bert", layers=2, heads=4, width=64, vocabulary=500, positions=32),
                 loss="cross_entropy", batch=4, optimizer=dict(kind="adam", weight_decay=0.01), rate=1e-3,
                 ddp=dict(bucket_cap_mb=0.1, gradient_as_bucket_view=True)),
    "recommender": dict(model=dict(kind="recommender", tables=4, rows=1000, embedding=16, dense=13, hidden=32),
                        loss="bce", batch=16, optimizer=dict(kind="sgd", momentum=0.9, weight_decay=1e-4), rate=0.05,
                        ddp=dict(bucket_cap_mb=0.1)),
}

SCENARIO = """
name: parity
workload:
  model: {model}
  data: {{samples: {samples}, seed: 5}}
  loss: {loss}
  batch_per_worker: {batch}
  accumulation: {accumulation}
  precision: {precision}
  optimizer: {optimizer}
ddp: {ddp}
measure: {{warmup_steps: 4, steps: {steps}, unwrapped: false, threads_per_rank: 1, timeout_s: 120}}
learning_rate: {rate}
"""


def scenario_text(case, steps=STEPS - 4):
    def flow(values):
        return json.dumps({key: value for key, value in values.items() if value is not None})

    return SCENARIO.format(model=flow(case["model"]), loss=case["loss"], batch=case["batch"],
                           accumulation=case.get("accumulation", 1), precision=case.get("precision", "fp32"),
                           optimizer=flow(case.get("optimizer", {"kind": "sgd"})), ddp=flow(case.get("ddp", {})),
                           rate=flow({"base": case.get("rate", 0.05), **case.get("schedule", {})}),
                           samples=case.get("samples", 4096), steps=steps)


def python_case(case, folder, steps, dumped_steps, gradient_steps):
    """What python_ddp.py is told."""
    return {"folder": str(folder),
            "model": {key: value for key, value in case["model"].items()
                      if key not in ("image_size", "sequence", "inputs", "target")},
            "loss": case["loss"], "optimizer": case.get("optimizer", {"kind": "sgd"}),
            "learning_rate": case.get("rate", 0.05), "ddp": case.get("ddp", {}),
            "precision": case.get("precision", "fp32"), "accumulation": case.get("accumulation", 1),
            "steps": steps, "dumped_steps": dumped_steps, "gradient_steps": gradient_steps, "threads": 1}


def start_python(descriptions, world_size, folder, **popen):
    """One process a rank for all cases: most of a short run is Python's start."""
    path = pathlib.Path(folder) / "cases.json"
    path.write_text(json.dumps(descriptions))
    port = free_port()
    ranks = []
    for rank in range(world_size):
        variables = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK=str(rank),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
        ranks.append(subprocess.Popen([sys.executable, "-B", str(HERE / "python_ddp.py"), str(path)], env=variables,
                                      stderr=subprocess.PIPE, text=True, **popen))
    return ranks


def run_python(descriptions, world_size, folder):
    ranks = start_python(descriptions, world_size, folder)
    try:
        for rank, process in enumerate(ranks):
            _, errors = process.communicate(timeout=400)
            assert process.returncode == 0, f"Python's rank {rank}: {errors}"
    finally:
        for process in ranks:
            process.kill()


KNOBS = {
    "fp16": dict(ddp=dict(bucket_cap_mb=0.2, compression="fp16")),
    "find_unused_parameters": dict(ddp=dict(bucket_cap_mb=0.2, find_unused_parameters=True)),
    "static_graph": dict(ddp=dict(bucket_cap_mb=0.2, static_graph=True)),
    "gradient_as_bucket_view": dict(ddp=dict(gradient_as_bucket_view=True)),
    "no_sync": dict(accumulation=3),
    "bf16": dict(precision="bf16"),
}


@dataclasses.dataclass
class Differences:
    buckets: dict           # "first": bytes, "rebuilt": parameter lists; each (ours, Python's)
    gradient_errors: list   # a step: (largest relative error, of which parameter)
    buffer_error: float     # largest relative error of a floating-point buffer at the end
    loss_errors: list       # a step: relative where the loss is above 1
    loss_range: float       # of Python's losses


def differences(folder, rank, result):
    """One rank's training in the worker against the same in Python."""
    dump, judge = RankDump(folder, rank), json.loads((folder / f"python{rank}.json").read_text())
    sizes = [4 * torch.Size(shape).numel() for shape in dump.shapes]
    buckets = {"first": ([sum(sizes[i] for i in bucket) for bucket in dump.index["first_buckets"]],
                         [int(size) for size in judge["first_sizes"].split(",")]),
               "rebuilt": (dump.index["rebuilt_buckets"], judge["rebuilt"])}
    gradient_errors = []
    for step in range(GRADIENT_STEPS):
        expected = torch.load(folder / f"python{rank}.gradients{step}.pt")
        # A gradient that is zero but for rounding (an attention key's bias: softmax does not see it) has no relative
        # error: the whole gradient's norm is the measure from a thousandth of it down.
        least = 1e-3 * torch.stack([one.norm() for one in expected]).norm()
        gradient_errors.append(max(
            (((got - want).norm() / torch.maximum(want.norm(), least)).item(), index)
            for index, (got, want) in enumerate(zip(dump.gradients(step), expected, strict=True))))
    loss_errors = [abs(got - want) / max(1.0, abs(want))
                   for got, want in zip(result["losses"], judge["losses"], strict=True)]
    judged = torch.load(folder / f"python{rank}.buffers.pt")
    own = read_floats(folder / dump.index["buffers"], sum(one.numel() for one in judged))
    pieces = own.split([one.numel() for one in judged]) if judged else ()
    buffer_error = max((((got - want.flatten()).norm() / want.norm().clamp(min=1e-6)).item()
                        for got, want in zip(pieces, judged, strict=True)), default=0.0)
    return Differences(buckets, gradient_errors, buffer_error, loss_errors, max(judge["losses"]) - min(judge["losses"]))


def run_both(cases, world_size, folder):
    """Runs cases {name: case} in the worker, each in its folder, then all in Python. Returns {name: the ranks' results}."""
    results, descriptions = {}, []
    for name, case in cases.items():
        own = pathlib.Path(folder) / name
        own.mkdir()
        results[name] = run_ranks(scenario_text(case), world_size, own,
                                  ["--dump", str(own), "--dump-steps", str(STEPS),
                                   "--dump-gradients", str(GRADIENT_STEPS)])
        judged = python_case(case, own, STEPS, STEPS, GRADIENT_STEPS)
        descriptions.append({**judged, **case["judge"](world_size)} if "judge" in case else judged)
    run_python(descriptions, world_size, folder)
    return results


class Comparison(unittest.TestCase):
    """Runs cases at one world size in the worker, then in Python, and compares every rank's trainings."""

    def compare(self, cases, world_size):
        with tempfile.TemporaryDirectory() as folder:
            results = run_both(cases, world_size, folder)
            for name in cases:
                for rank in range(world_size):
                    with self.subTest(case=name, world_size=world_size, rank=rank):
                        self.compare_rank(pathlib.Path(folder) / name, rank, results[name][rank])

    def compare_rank(self, folder, rank, result):
        found = differences(folder, rank, result)
        for which in ("first", "rebuilt"):
            self.assertEqual(*found.buckets[which], f"{which} buckets")
        for step, (error, parameter) in enumerate(found.gradient_errors):
            # Later steps start from weights that differ in their last bits.
            limit = GRADIENT_LIMIT if step == 0 else 20 * GRADIENT_LIMIT
            self.assertLess(error, limit, f"step {step}, gradient of parameter {parameter}")
        self.assertLess(found.buffer_error, BUFFER_LIMIT, "buffers")
        self.assertEqual(len(found.loss_errors), STEPS)
        for step, error in enumerate(found.loss_errors):
            self.assertLess(error, LOSS_LIMIT, f"loss of step {step}")
        self.assertGreater(found.loss_range, 1e-3, "a training that stands still shows nothing")


class Parity(Comparison):
    @long_test
    def test_one_rank(self):
        self.compare(MODELS, 1)

    def test_two_ranks(self):
        """Without long tests: all layers and Adam in a small transformer, and accumulation. test_script.py has buffers."""
        cases = {**MODELS, **{name: {**MODELS["mlp"], **knob} for name, knob in KNOBS.items()},
                 "own buffers": {**MODELS["resnet50"], "ddp": dict(broadcast_buffers=False)}}
        self.compare(cases if LONG else {name: cases[name] for name in ("bert", "no_sync")}, 2)

    @long_test
    def test_four_ranks(self):
        self.compare(MODELS, 4)


if __name__ == "__main__":
    unittest.main()
