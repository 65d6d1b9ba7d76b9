"""A user's own model: exported from Python, trained unchanged, the same as in Python's DDP, and in the report."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from torch import nn

from test_parity import Comparison
from tiers import LONG, long_test
from worker_runs import run_ranks


class Convolutional(nn.Module):
    """Buffers (BatchNorm), a tied weight, a frozen parameter and control flow: what users' models have."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.conv3 = nn.Conv2d(8, 8, 3, padding=1)
        self.conv3.weight = self.conv2.weight
        self.head = nn.Linear(8, 10)
        self.scale = nn.Parameter(torch.ones(10), requires_grad=False)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv1(x)))
        if x.size(0) > 0:
            x = torch.relu(self.conv3(torch.relu(self.conv2(x))))
        return self.head(x.mean((2, 3))) * self.scale


class OwnLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(12, 3)

    def forward(self, x, target):
        return ((self.layer(x) - target) ** 2).mean()


def case_of(file, inputs, target, loss, batch=4):
    return dict(model=dict(kind="torchscript", file=str(file), inputs=inputs, target=target), loss=loss, batch=batch,
                rate=0.05)


class Script(Comparison):
    def test_trains_as_in_python(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(3)
            scripted, traced = pathlib.Path(folder) / "scripted.pt", pathlib.Path(folder) / "traced.pt"
            torch.jit.script(Convolutional()).save(scripted)
            torch.jit.trace(Convolutional(), torch.randn(4, 3, 16, 16)).save(traced)
            self.compare({file.stem: case_of(file, ["float32[3,16,16]"], "int64[]<10", "cross_entropy")
                          for file in (scripted, traced)[:2 if LONG else 1]}, 2)

    def run_program(self, *arguments):
        program = pathlib.Path(os.environ["DDPPROF_WORKER"]).parent / "ddpprof"
        return subprocess.run([str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=240)

    def scenario(self, folder, file, inputs='["float32[3,16,16]"]', target='"int64[]<10"', loss="cross_entropy",
                 strategies="[ddp, dp]"):
        path = pathlib.Path(folder) / "own.yaml"
        path.write_text(f"""
name: own
workload:
  model: {{kind: torchscript, file: {file}, inputs: {inputs}, target: {target}}}
  data: {{samples: 256}}
  loss: {loss}
  batch_per_worker: 4
strategies: {strategies}
workers: [1, 2]
measure: {{warmup_steps: 3, steps: 6, threads_per_rank: 1}}
predict: {{workers: [4]}}
""")
        return path

    def test_is_in_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "my-model.pt"
            model = Convolutional()
            torch.jit.script(model).save(file)
            database = pathlib.Path(folder) / "own.db"
            done = self.run_program("run", str(self.scenario(folder, file)), "--out", str(database), "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            text = done.stdout
            self.assertIn("torchscript-my-model", text)
            # A tied weight counts once, a frozen parameter is part of the model.
            self.assertIn(str(sum(p.numel() for p in model.parameters())), text)
            steps = next(table for table in report["tables"] if table["name"] == "step")
            found = {(row["strategy"], row["workers"]) for row in steps["rows"]}
            self.assertTrue({("ddp", 1), ("ddp", 2), ("dp", 1), ("dp", 2)} <= found, found)

    @long_test
    def test_returns_its_own_loss(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "loss.pt"
            torch.manual_seed(5)  # a start from which nine steps learn something
            torch.jit.script(OwnLoss()).save(file)
            text = self.scenario(folder, file, '["float32[12]"]', '"float32[3]"', "model", "[ddp]").read_text()
            results = run_ranks(text, 2, folder)
            self.assertEqual(results[0]["parameter_hash"], results[1]["parameter_hash"])
            self.assertLess(sum(results[0]["losses"][-3:]), sum(results[0]["losses"][:3]))

    def test_mistakes_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            torch.save(Convolutional().state_dict(), folder / "state.pt")
            torch.jit.freeze(torch.jit.script(Convolutional().eval())).save(folder / "frozen.pt")
            torch.jit.script(Convolutional()).save(folder / "good.pt")
            (folder / "text.pt").write_text("no model")
            cases = [
                ("missing.pt", {}, 2, "missing.pt: no such file"),
                ("state.pt", {}, 2, "not a TorchScript module"),
                ("text.pt", {}, 2, "not a TorchScript module"),
                ("frozen.pt", {}, 2, "no parameter that requires a gradient"),
                ("good.pt", {"inputs": '["float32[7]"]'}, 4, "forward() failed on workload.model.inputs"),
                ("good.pt", {"inputs": '["float32[3,16,16]", "float32[2]"]'}, 4,
                 "forward() failed on workload.model.inputs"),
                ("good.pt", {"target": '"int64[5]<10"'}, 2, "cross_entropy of an output of 4 × 10 and targets of 4 × 5"),
            ]
            for name, changes, exit_code, message in cases if LONG else cases[1::2]:
                with self.subTest(file=name, **changes):
                    path = self.scenario(folder, folder / name, **changes)
                    done = self.run_program("run", str(path), "--out", str(folder / "x.db"), "--overwrite")
                    self.assertEqual(done.returncode, exit_code, done.stderr)
                    self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
