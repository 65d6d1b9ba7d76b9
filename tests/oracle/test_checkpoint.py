"""A training that stops and goes on: as if it had never stopped, at other world sizes, and in Python."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import unittest

import torch
from torch import nn
from torch.utils.data import DistributedSampler

from tiers import LONG, long_test
from worker_runs import RankDump, run_ranks, start_ranks

SAMPLES = 28

SCENARIO = """
name: checkpoint
workload:
  model: {model}
  data: {{samples: 28, seed: 5, loader_threads: {loader_threads}}}
  batch_per_worker: 4
  optimizer: {optimizer}
measure: {{warmup_steps: 3, steps: {steps}, unwrapped: false, threads_per_rank: 1, timeout_s: 60}}
learning_rate: {{base: 0.05}}
checkpoint: {checkpoint}
"""
MLP = {"kind": "mlp", "widths": [20, 30, 10]}
MOMENTUM = {"kind": "sgd", "momentum": 0.9, "weight_decay": 1e-3}


def scenario(steps, checkpoint, model=MLP, optimizer=MOMENTUM, loader_threads=0):
    return SCENARIO.format(model=json.dumps(model), optimizer=json.dumps(optimizer), steps=steps - 3,
                           checkpoint=json.dumps(checkpoint), loader_threads=loader_threads)


class Convolutional(nn.Module):
    """BatchNorm's buffers, a tied weight and dropout: what a checkpoint can forget."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)
        self.conv3 = nn.Conv2d(4, 4, 3, padding=1)
        self.conv3.weight = self.conv2.weight
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv1(x)))
        x = self.drop(torch.relu(self.conv3(torch.relu(self.conv2(x)))))
        return self.head(x.mean((2, 3)))


class Checkpoints(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def script(self):
        torch.manual_seed(11)
        file = self.folder / "own.pt"
        torch.jit.script(Convolutional()).save(file)
        return {"kind": "torchscript", "file": str(file), "inputs": ["float32[3,8,8]"], "target": "int64[]<10"}

    def run_here(self, name, text, world_size, arguments=()):
        own = self.folder / name
        own.mkdir()
        return own, run_ranks(text, world_size, own, arguments)

    def test_goes_on_as_if_it_had_never_stopped(self):
        script = self.script()
        kinds = [(MLP, MOMENTUM, 0), (MLP, {"kind": "sgd"}, 1), (script, {"kind": "adam"}, 2),
                 (MLP, {"kind": "adamw", "weight_decay": 0.1}, 0), (script, MOMENTUM, 0)]
        for world_size in (1, 2) if LONG else (2,):
            for number, (model, optimizer, loader_threads) in enumerate(kinds if LONG else kinds[2:3]):
                with self.subTest(world_size=world_size, model=model["kind"], optimizer=optimizer):
                    def run(name, steps, checkpoint):
                        text = scenario(steps, checkpoint, model, optimizer, loader_threads)
                        return self.run_here(f"{name}{world_size}{number}", text, world_size)[1]
                    kept = self.folder / f"kept{world_size}{number}"
                    whole = run("whole", 16, {})
                    first = run("first", 5, {"folder": str(kept)})
                    second = run("second", 11, {"resume": str(kept / f"ddp-{world_size}.pt")})
                    for rank in range(world_size):
                        self.assertEqual(whole[rank]["losses"], first[rank]["losses"] + second[rank]["losses"])
                        self.assertEqual(whole[rank]["buffer_hash"], second[rank]["buffer_hash"])
                    self.assertEqual(whole[0]["parameter_hash"], second[0]["parameter_hash"])
                    self.assertEqual(second[0]["checkpoint"]["resumed_step"], 5)

    @long_test
    def test_another_number_of_workers_takes_the_samples_that_are_left(self):
        kept = self.folder / "kept"
        self.run_here("first", scenario(5, {"folder": str(kept)}), 2)
        file = kept / "ddp-2.pt"
        saved = torch.load(file)
        # 14 samples a rank and epoch: after 5 batches of 4 the second epoch has given 6 to each.
        self.assertEqual((saved["step"], saved["epoch"], saved["position"]), (5, 1, 12))
        for world_size in (1, 2, 4):
            own, _ = self.run_here(f"on{world_size}", scenario(6, {"resume": str(file)}), world_size,
                                   ["--dump", str(self.folder / f"on{world_size}"), "--dump-steps", "2"])
            for rank in range(world_size):
                sampler = DistributedSampler(range(SAMPLES), world_size, rank, shuffle=True, seed=5)
                order = []
                for epoch in range(1, 6):
                    sampler.set_epoch(epoch)
                    order += list(sampler)[12 // world_size if epoch == 1 else 0:]
                taken = [index for entry in RankDump(own, rank).index["batches"] for index in entry["indices"]]
                self.assertEqual(taken, order[:len(taken)])

    @long_test
    def test_data_parallel_and_ddp_go_on_from_each_other(self):
        def dp(name, text):
            own = self.folder / name
            own.mkdir()
            return run_ranks(text, 1, own, ["--strategy", "dp", "--replicas", "2"])[0]
        kept = self.folder / "kept"
        dp("first", scenario(5, {"folder": str(kept)}))
        # Eight more steps take both over the end of an epoch.
        _, ddp = self.run_here("ddp", scenario(8, {"folder": str(kept), "resume": str(kept / "dp-2.pt")}), 2)
        again = dp("again", scenario(8, {"resume": str(kept / "dp-2.pt")}))
        mean = [sum(losses) / 2 for losses in zip(*(one["losses"] for one in ddp))]
        for got, want in zip(again["losses"], mean):
            self.assertAlmostEqual(got, want, places=5)
        self.assertEqual(torch.load(kept / "ddp-2.pt")["step"], 13)

    def test_python_goes_on(self):
        optimizers = ((MOMENTUM, lambda p: torch.optim.SGD(p, lr=0.05)),
                      ({"kind": "adam"}, lambda p: torch.optim.Adam(p)),
                      ({"kind": "adamw"}, lambda p: torch.optim.AdamW(p)))
        for optimizer, make in optimizers if LONG else optimizers[:1]:
            with self.subTest(optimizer=optimizer), tempfile.TemporaryDirectory() as holder:
                self.folder = pathlib.Path(holder)
                model, kept = self.script(), self.folder / "kept"
                self.run_here("first", scenario(5, {"folder": str(kept)}, model, optimizer), 1)
                own, results = self.run_here(
                    "second", scenario(9, {"resume": str(kept / "ddp-1.pt")}, model, optimizer), 1,
                    ["--dump", str(self.folder / "second"), "--dump-steps", "9"])
                saved = torch.load(kept / "ddp-1.pt")  # weights_only: nothing but plain types
                network = Convolutional().train()
                network.load_state_dict(saved["model"])
                stepper = make(network.parameters())
                stepper.load_state_dict(saved["optimizer"])
                torch.set_rng_state(saved["random"])
                torch.set_num_threads(1)
                dump = RankDump(own, 0)
                for step, expected in enumerate(results[0]["losses"]):
                    ((images,), labels), = dump.batches(step)
                    loss = nn.functional.cross_entropy(network(images), labels)
                    self.assertAlmostEqual(loss.item(), expected, delta=1e-5 * max(1.0, expected), msg=f"step {step}")
                    loss.backward()
                    stepper.step()
                    stepper.zero_grad()

    def test_a_killed_training_goes_on_from_its_last_checkpoint(self):
        kept, own = self.folder / "kept", self.folder / "killed"
        own.mkdir()
        ranks = start_ranks(scenario(1_000_000, {"folder": str(kept), "every_steps": 4}), 2, own)
        try:
            deadline = time.monotonic() + 60
            while not (kept / "ddp-2.pt").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.5)
            for process in ranks:
                os.kill(process.pid, signal.SIGKILL)
            for process in ranks:
                process.communicate(timeout=60)
        finally:
            for process in ranks:
                process.kill()
        steps = torch.load(kept / "ddp-2.pt")["step"]
        self.assertGreater(steps, 4)
        self.assertEqual(steps % 4, 0)
        _, rest = self.run_here("rest", scenario(6, {"resume": str(kept / "ddp-2.pt")}), 2)
        _, whole = self.run_here("whole", scenario(steps + 6, {}), 2)
        for rank in range(2):
            self.assertEqual(rest[rank]["losses"], whole[rank]["losses"][steps:])

    def refused(self, name, text, exit_code, message, **popen):
        own = self.folder / name
        own.mkdir()
        process, = start_ranks(text, 1, own, **popen)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, exit_code, errors)
        self.assertIn(message, errors)
        self.assertNotIn("frame #", errors)

    def test_mistakes_are_named(self):
        kept = self.folder / "kept"
        self.run_here("first", scenario(4, {"folder": str(kept)}), 1)
        good = kept / "ddp-1.pt"
        (self.folder / "cut.pt").write_bytes(good.read_bytes()[:2000])
        torch.save({"model": {}}, self.folder / "other.pt")
        torch.save(torch.zeros(3), self.folder / "tensor.pt")
        changed = torch.load(good)
        changed["model"]["0.weight"] = torch.zeros(2, 2)
        torch.save(changed, self.folder / "shape.pt")
        del changed["model"]["0.weight"]
        torch.save(changed, self.folder / "lacks.pt")
        (self.folder / "file").write_text("")
        mistakes = [
                ({"resume": str(self.folder / "none.pt")}, {}, "none.pt"),
                ({"resume": str(self.folder / "cut.pt")}, {}, "cut.pt"),
                ({"resume": str(self.folder / "other.pt")}, {}, "no checkpoint of this program"),
                ({"resume": str(self.folder / "tensor.pt")}, {}, "no checkpoint of this program"),
                ({"resume": str(self.folder / "shape.pt")}, {}, "'0.weight' is Float of shape [2, 2], the model has "
                                                               "Float of shape [30, 20]"),
                ({"resume": str(self.folder / "lacks.pt")}, {}, "it holds no '0.weight'"),
                ({"resume": str(good)}, {"model": {"kind": "mlp", "widths": [20, 31, 10]}},
                 "it is of the model mlp-20-30-10, this run trains mlp-20-31-10"),
                ({"resume": str(good)}, {"optimizer": {"kind": "adam"}}, "its optimizer is sgd, this run's adam"),
                ({"folder": str(self.folder / "file")}, {}, "checkpoint.folder"),
                ({"folder": str(self.folder / "file" / "below")}, {}, "checkpoint.folder")]
        for number, (checkpoint, changes, message) in enumerate(mistakes if LONG else mistakes[1::3]):
            with self.subTest(checkpoint=checkpoint, **changes):
                self.refused(f"bad{number}", scenario(4, checkpoint, **changes), 2, message)

    @long_test
    def test_a_disk_that_is_full_keeps_the_checkpoint_before(self):
        kept = self.folder / "kept"
        wide = {"kind": "mlp", "widths": [1000, 1000, 10]}
        self.run_here("first", scenario(4, {"folder": str(kept)}, wide), 1)
        before = (kept / "ddp-1.pt").read_bytes()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.refused("full", scenario(4, {"folder": str(kept)}, wide), 4, "cannot write " + str(kept / "ddp-1.pt"),
                     preexec_fn=limit)
        self.assertEqual((kept / "ddp-1.pt").read_bytes(), before)
        self.assertEqual([file.name for file in kept.iterdir()], ["ddp-1.pt"])

    def test_run_refuses_before_it_measures(self):
        program = pathlib.Path(os.environ["DDPPROF_WORKER"]).parent / "ddpprof"
        for text, message in (
                (scenario(4, {"resume": "none.pt"}), "checkpoint.resume: FOLDER/none.pt: no such file"),
                (scenario(4, {}, {"kind": "torchscript", "file": "none.pt", "inputs": ["float32[2]"],
                                  "target": "int64[]<10"}), "workload.model.file: FOLDER/none.pt: no such file")):
            with self.subTest(message=message):
                path = self.folder / "run.yaml"
                path.write_text(text + "workers: [1]\n")
                done = subprocess.run([str(program), "run", str(path), "--dry-run"], cwd=self.folder, timeout=60,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message.replace("FOLDER", str(self.folder)), done.stderr)


if __name__ == "__main__":
    unittest.main()
