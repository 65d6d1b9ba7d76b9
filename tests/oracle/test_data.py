"""What a rank trains on: files that Python wrote, in the batches that Python's DataLoader makes of them."""

import gzip
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from test_sampler import WeightedDistributedSampler
from tiers import LONG, long_test
from worker_runs import WORKER, RankDump, run_ranks

SCENARIO = """
name: oracle-data
workload:
  model: {{{model}}}
  data: {{source: {source}, path: "{path}"{more}}}
  loss: {loss}
  batch_per_worker: 8
measure: {{warmup_steps: 3, steps: {steps}, unwrapped: false}}
"""
MLP = "kind: mlp, widths: [{}, 10]"
RESNET = "kind: resnet18, classes: 10, image_size: 32"
MASK = (1 << 64) - 1


def random_stream(seed, kind, number):
    """runner/worker/data/random_stream.hpp."""
    z = (seed + 0x9e3779b97f4a7c15 * (1 + number) + 0xbf58476d1ce4e5b9 * kind) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def write_idx(path, tensor, pack):
    raw = struct.pack(">BBBB", 0, 0, 8, tensor.dim()) + struct.pack(f">{tensor.dim()}I", *tensor.shape)
    raw += bytes(tensor.flatten().tolist())
    path.with_name(path.name + ".gz" if pack else path.name).write_bytes(gzip.compress(raw) if pack else raw)


class DataCase(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.files = self.folder / "files"
        self.files.mkdir()
        self.numbers = torch.Generator().manual_seed(11)

    def scenario(self, model, source="tensors", loss="cross_entropy", steps=3, more=""):
        return SCENARIO.format(model=model, source=source, path=self.files, loss=loss, steps=steps,
                               more=", " + more if more else "")

    def save(self, inputs, targets):
        for old in self.files.iterdir():
            old.unlink()
        torch.save(inputs, self.files / "inputs.pt")
        torch.save(targets, self.files / "targets.pt")

    def labels(self, count, classes=10):
        return torch.randint(classes, (count,), generator=self.numbers)

    def noise(self, *shape):
        return torch.randn(*shape, generator=self.numbers)

    def run_and_dump(self, scenario, world_size=1, *arguments):
        results = run_ranks(scenario, world_size, self.folder, ["--dump", str(self.folder / "dump"), *arguments])
        return results, [RankDump(self.folder / "dump", rank) for rank in range(world_size)]

    def check_against_data_loader(self, dataset, scenario, world_size, steps=3):
        """The first batches are DataLoader's over DistributedSampler, bit for bit."""
        results, dumps = self.run_and_dump(scenario, world_size)
        for rank, dump in enumerate(dumps):
            self.assertEqual(results[rank]["data_samples"], len(dataset))
            sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, seed=1)
            loader = DataLoader(dataset, batch_size=8, sampler=sampler)
            for step, expected in zip(range(steps), loader):
                (inputs, targets), = dump.batches(step)
                self.assertEqual(len(inputs), len(expected) - 1)
                for found, wanted in zip(inputs, expected):
                    self.assertTrue(torch.equal(found, wanted.reshape(found.shape)), f"rank {rank}, step {step}")
                self.assertTrue(torch.equal(targets, expected[-1]), f"rank {rank}, step {step}")


class Tensors(DataCase):
    def test_real_inputs_and_classes(self):
        inputs, targets = self.noise(101, 6), self.labels(101)
        self.save(inputs, targets)
        for world_size in (1, 2) if LONG else (2,):
            for threads in (0, 2) if LONG else (2,):
                with self.subTest(world_size=world_size, threads=threads):
                    self.check_against_data_loader(TensorDataset(inputs, targets),
                                                   self.scenario(MLP.format(6), more=f"loader_threads: {threads}"),
                                                   world_size)

    @long_test
    def test_data_parallel_takes_the_global_batch(self):
        inputs, targets = self.noise(101, 6), self.labels(101)
        self.save(inputs, targets)
        scenario = self.scenario(MLP.format(6), steps=10, more="loader_threads: 2")
        _, (dump,) = self.run_and_dump(scenario, 1, "--strategy", "dp", "--replicas", "2")
        # 101 samples are padded to 102 for two ranks; 13 batches of 16 go over the end of the second epoch.
        order = []
        for epoch in range(3):
            samplers = [DistributedSampler(range(101), 2, rank, seed=1) for rank in range(2)]
            for sampler in samplers:
                sampler.set_epoch(epoch)
            order += [index for pair in zip(*samplers) for index in pair]
        batches = [entry["indices"] for entry in dump.index["batches"]]
        self.assertEqual(len(batches), 13)
        self.assertEqual([index for batch in batches for index in batch], order[:13 * 16])
        ((found,), labels), = dump.batches(0)
        self.assertTrue(torch.equal(found, inputs[order[:16]]) and torch.equal(labels, targets[order[:16]]))

    def test_targets_of_several_places(self):
        """A folder for a masked language model: -100 where nothing is asked."""
        model = "kind: bert, layers: 1, heads: 2, width: 8, vocabulary: 20, positions: 6"
        tokens = torch.randint(20, (40, 6), generator=self.numbers)
        targets = torch.where(torch.rand(40, 6, generator=self.numbers) < 0.3, tokens, -100)
        self.save(tokens, targets)
        self.check_against_data_loader(TensorDataset(tokens, targets), self.scenario(model), 1)
        self.refused(self.scenario(model), "inputs.pt: has numbers from 0 to 20; the model takes 0 to 19",
                     tokens.masked_fill(tokens == 7, 20), targets)
        if not LONG:
            return
        self.refused(self.scenario(model), "targets.pt: every target is -100", tokens, torch.full_like(targets, -100))
        self.refused(self.scenario(model), "targets.pt: has classes from -1 to", tokens,
                     targets.masked_fill(targets == -100, -1))

    @long_test
    def test_a_model_with_its_own_loss(self):
        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(6, 3)

            def forward(self, x, target):
                return ((self.layer(x) - target) ** 2).mean()

        file = self.folder / "loss.pt"
        torch.jit.script(Loss()).save(file)
        inputs, targets = self.noise(40, 6), self.noise(40, 3)
        self.save(inputs, targets)
        model = f'kind: torchscript, file: {file}, inputs: ["float32[6]"], target: "float32[3]"'
        _, (dump,) = self.run_and_dump(self.scenario(model, loss="model"))
        ((found, handed), also), = dump.batches(0)
        order = list(DistributedSampler(range(40), 1, 0, seed=1))[:8]
        self.assertTrue(torch.equal(found, inputs[order]))
        self.assertTrue(torch.equal(handed, targets[order]) and torch.equal(also, targets[order]))

    @long_test
    def test_yes_or_no(self):
        model = "kind: mlp, widths: [6, 4, 1]"
        answers = torch.randint(2, (40,), generator=self.numbers).float()
        inputs = self.noise(40, 6)
        self.save(inputs, answers)
        self.check_against_data_loader(TensorDataset(inputs, answers[:, None]), self.scenario(model, loss="bce"), 1)
        self.refused(self.scenario(model, loss="bce"), "bce takes 0 to 1", inputs, answers * 2)
        # Synthetic answers are that, too: a loss that a real number as target would drive below 0.
        synthetic = self.scenario(model, source="synthetic", loss="bce", steps=30)
        results = run_ranks(synthetic.replace(f'path: "{self.files}"', "samples: 64"), 1, self.folder)
        self.assertGreater(min(results[0]["losses"]), 0.0)

    @long_test
    def test_types_that_are_converted(self):
        inputs, targets = self.noise(40, 2, 3).half(), self.labels(40).to(torch.int16)
        self.save(inputs, targets)
        self.check_against_data_loader(TensorDataset(inputs.float(), targets.long()), self.scenario(MLP.format(6)), 1)
        pixels = torch.randint(256, (40, 3, 32, 32), dtype=torch.uint8, generator=self.numbers)
        self.save(pixels, targets)
        self.check_against_data_loader(TensorDataset(pixels.float() / 255, targets.long()), self.scenario(RESNET), 1, 1)

    @long_test
    def test_a_regression(self):
        inputs, targets = self.noise(40, 6), self.noise(40, 10)
        self.save(inputs, targets)
        self.check_against_data_loader(TensorDataset(inputs, targets), self.scenario(MLP.format(6), loss="mse"), 1)
        self.save(inputs, targets[:, 0])
        self.check_against_data_loader(TensorDataset(inputs, targets[:, :1]),
                                       self.scenario("kind: linear, in: 6, out: 1", loss="mse"), 1)

    @long_test
    def test_views_and_parameters_are_tensors_too(self):
        whole, targets = self.noise(80, 12), self.labels(40)
        view = whole[::2, 3:9]
        self.assertFalse(view.is_contiguous())
        self.save(view, targets)
        self.check_against_data_loader(TensorDataset(view, targets), self.scenario(MLP.format(6)), 1)
        self.save(torch.nn.Parameter(view.clone()), targets)
        self.check_against_data_loader(TensorDataset(view, targets), self.scenario(MLP.format(6)), 1)

    @long_test
    def test_the_first_so_many(self):
        inputs, targets = self.noise(101, 6), self.labels(101)
        self.save(inputs, targets)
        self.check_against_data_loader(TensorDataset(inputs[:50], targets[:50]),
                                       self.scenario(MLP.format(6), more="samples: 50"), 1)

    def test_what_does_not_fit_is_2_with_the_reason(self):
        good, labels = self.noise(40, 6), self.labels(40)
        labels[0], labels[1] = 0, 9
        flat = MLP.format(6)
        cases = [
            (self.noise(40, 7), labels, flat, "", "inputs.pt: its samples are 7, the model takes 6"),
            (self.noise(40, 3, 30, 32), labels, RESNET, "",
             "inputs.pt: its samples are 3 × 30 × 32 (2880 values), the model takes 3 × 32 × 32"),
            (good.long(), labels, flat, "", "inputs.pt: is of Long; expected real numbers, tensor.float(), or bytes"),
            (good, labels.float(), flat, "", "targets.pt: is of Float; cross_entropy takes classes"),
            (good, labels[:39], flat, "", "inputs.pt holds 40 samples and "),
            (good, labels + 1, flat, "", "targets.pt: has classes from 1 to 10; the model has outputs for 0 to 9"),
            (good, labels - 1, flat, "", "targets.pt: has classes from -1 to 8"),
            (good, labels.unsqueeze(1), flat, "", "targets.pt: has the shape 40 × 1; expected samples for cross_entropy"),
            ({"x": good}, labels, flat, "", "; expected one tensor: torch.save(tensor, path), not a module, a dict"),
            (good, [1, 2], flat, "", "targets.pt: holds a "),
            (good, labels, flat, "samples: 200", "workload.data.samples: 200, but "),
            (good, labels, flat, "transform: augment", "augment crops and flips images; expected samples of channels"),
            (good[:5], labels[:5], flat, "", "with N = 1 each worker gets 5 of 5 samples, which fill no batch of 8"),
        ]
        for inputs, targets, model, more, expected in cases if LONG else cases[1::4]:
            with self.subTest(expected=expected):
                self.save(inputs, targets)
                self.refused(self.scenario(model, more=more), expected)
        self.save(good, labels)
        if not LONG:
            return
        (self.files / "inputs.pt").write_bytes(b"PK\x03\x04 not a zip file")
        self.refused(self.scenario(flat), "inputs.pt: cannot be loaded (")
        self.save(good, labels)
        whole = (self.files / "inputs.pt").read_bytes()
        (self.files / "inputs.pt").write_bytes(whole[:len(whole) // 2])
        self.refused(self.scenario(flat), "inputs.pt: cannot be loaded (")
        torch.save(good, self.files / "inputs.pt", _use_new_zipfile_serialization=False)
        self.refused(self.scenario(flat), "inputs.pt: cannot be loaded (")
        (self.files / "targets.pt").unlink()
        self.refused(self.scenario(flat), "has no targets.pt; expected tensors that Python wrote with torch.save")

    def refused(self, scenario, expected, *saved):
        if saved:
            self.save(*saved)
        path = self.folder / "scenario.yaml"
        path.write_text(scenario)
        clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        done = subprocess.run([WORKER, "--scenario", str(path), "--result", str(self.folder / "r.json")], env=clean,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Mnist(DataCase):
    def test_batches_are_those_of_to_tensor_and_normalize(self):
        for split, prefix, pack in (("train", "train", True), ("test", "t10k", False))[:2 if LONG else 1]:
            with self.subTest(split=split):
                pixels = torch.randint(256, (60, 28, 28), dtype=torch.uint8, generator=self.numbers)
                labels = self.labels(60)
                write_idx(self.files / f"{prefix}-images-idx3-ubyte", pixels, pack)
                write_idx(self.files / f"{prefix}-labels-idx1-ubyte", labels, pack)
                # torchvision's ToTensor and Normalize((0.1307,), (0.3081,)).
                images = pixels.unsqueeze(1).float().div(255).sub(0.1307).div(0.3081)
                self.check_against_data_loader(TensorDataset(images, labels),
                                               self.scenario(MLP.format(784), source="mnist", more=f"split: {split}"), 2)


class Sampling(DataCase):
    def epochs(self, dump, per_epoch):
        indices = [index for entry in dump.index["batches"] for index in entry["indices"]]
        return [indices[i:i + per_epoch] for i in range(0, len(indices) - per_epoch + 1, per_epoch)]

    def test_set_epoch_and_the_mistake_of_forgetting_it(self):
        self.save(self.noise(48, 6), self.labels(48))
        for called in (True, False):
            with self.subTest(set_epoch=called):
                scenario = self.scenario(MLP.format(6), steps=9, more=f"set_epoch: {str(called).lower()}")
                results, dumps = self.run_and_dump(scenario, 2)
                for rank, dump in enumerate(dumps):
                    sampler = DistributedSampler(range(48), num_replicas=2, rank=rank, seed=1)
                    expected = []
                    for epoch in range(4):
                        if called:
                            sampler.set_epoch(epoch)
                        expected.append(list(sampler))
                    self.assertEqual(self.epochs(dump, 24), expected)
                    self.assertEqual(results[rank]["epochs"], 4)
                    codes = [warning["code"] for warning in results[rank]["warnings"]]
                    self.assertEqual(codes, [] if called else ["set_epoch_forgotten"])

    @long_test
    def test_one_epoch_needs_no_set_epoch(self):
        self.save(self.noise(480, 6), self.labels(480))
        results, _ = self.run_and_dump(self.scenario(MLP.format(6), more="set_epoch: false"))
        self.assertEqual((results[0]["epochs"], results[0]["warnings"]), (1, []))

    @long_test
    def test_balanced(self):
        labels = torch.cat([torch.zeros(80), torch.ones(12), torch.full((4,), 2.0)]).long()
        self.save(self.noise(96, 6), labels)
        weights = (1.0 / torch.bincount(labels).double())[labels]
        _, dumps = self.run_and_dump(self.scenario(MLP.format(6), steps=9, more="sampling: balanced"), 2)
        for rank, dump in enumerate(dumps):
            sampler = WeightedDistributedSampler(weights, 2, rank, 1, False)
            expected = []
            for epoch in range(2):
                sampler.set_epoch(epoch)
                expected.append(list(sampler))
            self.assertEqual(self.epochs(dump, 48), expected)


class Augmented(DataCase):
    @long_test
    def test_crops_and_flips_are_pads_slices_and_flips(self):
        pixels = torch.randint(256, (64, 3, 32, 32), dtype=torch.uint8, generator=self.numbers)
        self.save(pixels, self.labels(64))
        scaled = pixels.double() / 255
        deviation, mean = torch.std_mean(scaled, (0, 2, 3), correction=0)
        mean = torch.tensor([float(f"{value:.4g}") for value in mean]).view(3, 1, 1)
        deviation = torch.tensor([float(f"{value:.4g}") for value in deviation]).view(3, 1, 1)
        for world_size, threads in ((1, 0), (1, 3), (2, 1)):
            scenario = self.scenario(RESNET, more=f"transform: augment, loader_threads: {threads}")
            _, dumps = self.run_and_dump(scenario, world_size)
            order = list(DistributedSampler(range(64), num_replicas=1, rank=0, seed=1))
            compared = 0
            for rank, dump in enumerate(dumps):
                for step in range(2):
                    (inputs, _), = dump.batches(step)
                    for row, found in enumerate(inputs[0]):
                        place = rank + (8 * step + row) * world_size
                        stream = random_stream(random_stream(1, 4, 0), 5, place)
                        down, right, flip = (stream >> 8) % 9, (stream >> 32) % 9, stream & 1
                        padded = torch.nn.functional.pad(pixels[order[place]], (4, 4, 4, 4))
                        crop = padded[:, down:down + 32, right:right + 32]
                        expected = ((crop.flip(2) if flip else crop).float().div(255) - mean) / deviation
                        self.assertTrue(torch.equal(found, expected), (world_size, threads, rank, step, row))
                        compared += 1
            self.assertEqual(compared, 16 * world_size)


if __name__ == "__main__":
    unittest.main()
