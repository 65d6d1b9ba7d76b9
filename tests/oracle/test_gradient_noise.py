"""measure.gradient_noise_every: the norms that the trace has, against autograd's gradients of the same weights and
batches, each rank's alone and their mean."""

import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import torch
from torch.nn import functional

import models
from tiers import long_test
from worker_runs import RankDump

PROGRAM, WORKER = os.environ["DDPPROF_PROGRAM"], os.environ["DDPPROF_WORKER"]
RATE, EVERY, STEPS = 0.1, 2, 6


def gradient(model, batches):
    """One flat gradient of the mean loss over `batches`."""
    model.zero_grad()
    for inputs, targets in batches:
        (functional.cross_entropy(model(*inputs), targets) / len(batches)).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).double()


class GradientNorms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-norms-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def train(self, workers, accumulation, **ddp):
        """Runs the scenario; the worker also dumps what it computed. The trace's steps: (rank, step) -> both norms."""
        scenario = {"name": "norms",
                    "workload": {"model": {"kind": "mlp", "widths": [64, 300, 100, 10]}, "data": {"samples": 2000},
                                 "batch_per_worker": 16, "accumulation": accumulation},
                    "workers": [workers], "ddp": {"bucket_cap_mb": 0.05, **ddp},
                    "measure": {"warmup_steps": 3, "steps": STEPS - 3, "threads_per_rank": 1,
                                "gradient_noise_every": EVERY},
                    "learning_rate": {"base": RATE}, "output": {"database": str(self.path / "run.db")}}
        (self.path / "scenario.yaml").write_text(json.dumps(scenario))
        wrapper = self.path / "worker"
        wrapper.write_text(f'#!/bin/sh\nexec "{WORKER}" "$@" --dump "{self.path}" --dump-steps {STEPS}\n')
        wrapper.chmod(0o755)
        done = subprocess.run([PROGRAM, "run", str(self.path / "scenario.yaml")], capture_output=True, text=True,
                              timeout=240, env=dict(os.environ, DDPPROF_WORKER_PROGRAM=str(wrapper)))
        self.assertEqual(done.returncode, 0, done.stderr)
        connection = sqlite3.connect(f"file:{self.path / 'run.db'}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT sh.rank, st.step, st.kind, st.local_gradient_sqr, st.gradient_sqr FROM step "
                                      "st JOIN shard sh ON sh.id = st.shard_id").fetchall()
        finally:
            connection.close()
        for rank, step, kind, local, whole in rows:
            taken = step < STEPS and step % EVERY == 0 and workers * accumulation > 1
            self.assertEqual((local is not None, whole is not None), (taken, taken), f"rank {rank}, {kind} step {step}")
        return {(rank, step): (local, whole) for rank, step, _, local, whole in rows if local is not None}

    def check(self, workers, accumulation, limit, **ddp):
        norms = self.train(workers, accumulation, **ddp)
        self.assertEqual(len(norms), workers * STEPS // EVERY)
        dumps = [RankDump(self.path, rank) for rank in range(workers)]
        model = models.mlp(64, 300, 100, 10)
        models.load(model, dumps[0].initial())
        for step in range(STEPS):
            own = [gradient(model, dump.batches(step)) for dump in dumps]
            mean = torch.stack(own).mean(0)
            if step % EVERY == 0:
                if workers == 1:
                    own = [gradient(model, dumps[0].batches(step)[:1])]
                for rank in range(workers):
                    for what, got, expected in zip(("local", "whole"), norms[rank, step], (own[rank], mean)):
                        self.assertAlmostEqual(got / expected.square().sum().item(), 1.0, delta=limit,
                                               msg=f"{what}, rank {rank}, step {step}")
                    self.assertGreater(norms[rank, step][0], 1.01 * norms[rank, step][1], "a mean is shorter")
            # The worker's own gradients go on, so that a later step starts from its weights.
            with torch.no_grad():
                for parameter, part in zip(model.parameters(), dumps[0].gradients(step)):
                    parameter -= RATE * part

    @long_test
    def test_two_ranks(self):
        self.check(2, 1, 1e-5)

    def test_three_ranks_with_accumulation(self):
        self.check(3, 2, 1e-5)

    def test_one_rank_compares_its_first_micro_batch(self):
        self.check(1, 3, 1e-5)

    @long_test
    def test_gradients_that_are_views_of_their_bucket(self):
        self.check(2, 1, 1e-5, gradient_as_bucket_view=True)

    @long_test
    def test_the_map_of_used_parameters_is_no_gradient(self):
        self.check(2, 1, 1e-5, find_unused_parameters=True)

    @long_test
    def test_half_precision_on_the_way(self):
        self.check(2, 1, 2e-3, compression="fp16")  # 11 bits a number

    @long_test
    def test_one_rank_without_accumulation_has_nothing_to_compare(self):
        self.assertEqual(self.train(1, 1), {})


if __name__ == "__main__":
    unittest.main()
