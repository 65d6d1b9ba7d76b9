"""What a training's tensors take of each device, against the sum of what they are."""

import json
import pathlib
import tempfile
import unittest

from tiers import LONG, long_test
from worker_runs import run_ranks

SCENARIO = """
name: memory
workload:
  model: {{kind: mlp, widths: [500, 500, 500, 500, 500, 500, 500, 500, 500]}}
  data: {{samples: {samples}}}
  batch_per_worker: 2
  optimizer: {optimizer}
ddp: {ddp}
measure: {{warmup_steps: 4, steps: 6, unwrapped: false, threads_per_rank: 1}}
"""
LAYERS = 8
P = 4 * LAYERS * (500 * 500 + 500)  # bytes of the parameters; activations are a hundredth of them


class Memory(unittest.TestCase):
    def run_once(self, world_size, arguments=(), optimizer=None, ddp=None, samples=64):
        with tempfile.TemporaryDirectory() as folder:
            text = SCENARIO.format(optimizer=json.dumps(optimizer or {"kind": "sgd"}), ddp=json.dumps(ddp or {}),
                                   samples=samples)
            results = run_ranks(text, world_size, pathlib.Path(folder), arguments)
        for result in results:
            self.assertGreater(result["peak_rss_bytes"], sum(device["peak_bytes"] for device in result["memory"]))
        return [[(device["held_bytes"] / P, device["peak_bytes"] / P) for device in result["memory"]]
                for result in results]

    def near(self, found, held, peak):
        self.assertAlmostEqual(found[0], held, delta=0.02)
        self.assertAlmostEqual(found[1], peak, delta=0.02)

    def test_ddp(self):
        # Parameters and buckets; while a step runs, gradients. (The Reducer keeps one bucket's worth at N = 1 as well.)
        for world_size in (1, 2) if LONG else (2,):
            for rank in self.run_once(world_size):
                self.assertEqual(len(rank), 1)
                self.near(rank[0], 2, 3)
        momentum, adam = {"kind": "sgd", "momentum": 0.9}, {"kind": "adam"}
        if LONG:
            self.near(self.run_once(2, optimizer=momentum)[0][0], 3, 4)
        # Adam's step makes the denominator of one parameter at a time, in two tensors.
        self.near(self.run_once(2, optimizer=adam)[0][0], 4, 5 + 2 / LAYERS)
        # Gradients that are views into the buckets are there twice one at a time, until they are copied in.
        self.near(self.run_once(2, optimizer=momentum, ddp={"gradient_as_bucket_view": True})[1][0], 3, 3 + 1 / LAYERS)

    def test_data_parallel(self):
        for replicas in (2, 4) if LONG else (2,):
            root, *others = self.run_once(1, ["--strategy", "dp", "--replicas", str(replicas)])[0]
            self.assertEqual(len(others), replicas - 1)
            # The root's parameters and its first replica's; then that one's gradients, which go as the root's come.
            self.near(root, 2, 3 + 1 / LAYERS)
            for other in others:
                self.near(other, 1, 2)

    @long_test
    def test_the_data_set_is_not_the_device_s(self):
        small, large = (self.run_once(1, samples=samples)[0][0] for samples in (64, 4000))
        self.assertAlmostEqual(small[0], large[0], delta=0.01)
        self.assertAlmostEqual(small[1], large[1], delta=0.01)


if __name__ == "__main__":
    unittest.main()
