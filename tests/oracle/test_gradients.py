"""What DDP computes: gradients, and identical ranks, against PyTorch on the same weights and batches."""

import tempfile
import unittest

import torch
from torch.nn import functional

import models
from tiers import LONG, long_test
from worker_runs import RankDump, run_ranks

torch.set_num_threads(2)

MLP = """
name: oracle-mlp
workload:
  model: {{kind: mlp, widths: [64, 128, 32, 10]}}
  data: {{samples: 1000, seed: 3}}
  batch_per_worker: 16
  accumulation: {accumulation}
ddp: {{gradient_as_bucket_view: {views}, bucket_cap_mb: 0.01}}
measure: {{warmup_steps: 3, steps: 5, unwrapped: false}}
learning_rate: {{base: 0.1}}
"""

RESNET = """
name: oracle-resnet
workload:
  model: {kind: resnet18, classes: 10, image_size: 64}
  data: {samples: 64}
  batch_per_worker: 4
measure: {warmup_steps: 3, steps: 3, unwrapped: false}
"""


def relative(a, b):
    return ((a - b).norm() / b.norm().clamp_min(1e-12)).item()


def gradients_of(model, batches):
    """Gradients of the mean loss over `batches`, each its own forward pass."""
    model.zero_grad()
    for inputs, targets in batches:
        (functional.cross_entropy(model(*inputs), targets) / len(batches)).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


class Gradients(unittest.TestCase):
    def check(self, scenario, make_model, world_size, whole_batch):
        with tempfile.TemporaryDirectory() as folder:
            results = run_ranks(scenario, world_size, folder, ["--dump", folder])
            dumps = [RankDump(folder, rank) for rank in range(world_size)]
            self.assertEqual(len({result["parameter_hash"] for result in results}), 1, "ranks differ after training")
            model = make_model()
            models.load(model, dumps[0].initial())
            # Step 0: the weights are the initial ones.
            shards = [dump.batches(0) for dump in dumps]
            mean = [torch.stack(parts).mean(0) for parts in zip(*(gradients_of(model, shard) for shard in shards))]
            for rank, dump in enumerate(dumps):
                for index, (got, expected) in enumerate(zip(dump.gradients(0), mean)):
                    self.assertLess(relative(got, expected), 1e-5, f"rank {rank}, parameter {index}: mean of shards")
            if whole_batch:
                everything = [batch for shard in shards for batch in shard]
                joined = ([torch.cat([b[0][0] for b in everything])], torch.cat([b[1] for b in everything]))
                for index, (got, expected) in enumerate(zip(dumps[0].gradients(0), gradients_of(model, [joined]))):
                    self.assertLess(relative(got, expected), 1e-5, f"parameter {index}: one process, whole batch")
                # Steps 1 and 2 run over rebuilt buckets; follow with plain SGD at the scenario's rate.
                for step in (0, 1, 2):
                    batches = [batch for dump in dumps for batch in dump.batches(step)]
                    joined = ([torch.cat([b[0][0] for b in batches])], torch.cat([b[1] for b in batches]))
                    expected = gradients_of(model, [joined])
                    for index, (got, want) in enumerate(zip(dumps[0].gradients(step), expected)):
                        self.assertLess(relative(got, want), 1e-4, f"step {step}, parameter {index}")
                    with torch.no_grad():
                        for parameter, gradient in zip(model.parameters(), expected):
                            parameter -= 0.1 * gradient

    def test_mlp(self):
        for world_size in (2, 4) if LONG else (2,):
            for views in ("false", "true") if LONG else ("true",):
                for accumulation in (1, 3):
                    with self.subTest(world_size=world_size, views=views, accumulation=accumulation):
                        self.check(MLP.format(views=views, accumulation=accumulation),
                                   lambda: models.mlp(64, 128, 32, 10), world_size, whole_batch=True)

    def test_steps_that_do_not_wait_for_the_device_train_alike(self):
        waits, runs_ahead = [], []
        for results, sync in ((waits, "every_step"), (runs_ahead, "never")):
            with tempfile.TemporaryDirectory() as folder:
                results += run_ranks(MLP.format(views="false", accumulation=1).replace("steps: 5", f"steps: 5, sync: {sync}"),
                                     2, folder)
        for rank in range(2):
            self.assertEqual(len(runs_ahead[rank]["losses"]), 8)
            self.assertEqual(waits[rank]["losses"], runs_ahead[rank]["losses"])
            self.assertEqual(waits[rank]["parameter_hash"], runs_ahead[rank]["parameter_hash"])

    @long_test
    def test_resnet18(self):
        self.check(RESNET, lambda: models.resnet18(10), 2, whole_batch=False)


if __name__ == "__main__":
    unittest.main()
