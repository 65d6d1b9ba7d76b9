"""Which samples a rank trains on: index for index what Python's DistributedSampler gives."""

import itertools
import json
import os
import subprocess
import unittest

from torch.utils.data import DistributedSampler


class Sampler(unittest.TestCase):
    def test_grid(self):
        grid = [dict(samples=n, replicas=ranks, rank=rank, shuffle=shuffle, drop_last=drop, seed=seed, epoch=epoch)
                for n, ranks, shuffle, drop, seed, epoch in itertools.product(
                    (1, 2, 7, 64, 101, 10_000), (1, 2, 3, 4, 8), (True, False), (True, False), (0, 1, 12345), (0, 1, 5))
                for rank in {0, ranks - 1}]
        done = subprocess.run([os.environ["DDPPROF_SAMPLER_PRINTER"]], input="\n".join(map(json.dumps, grid)), text=True,
                              capture_output=True, check=True, timeout=120)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(grid))
        compared = 0
        for case, line in zip(grid, lines):
            sampler = DistributedSampler(range(case["samples"]), num_replicas=case["replicas"], rank=case["rank"],
                                         shuffle=case["shuffle"], seed=case["seed"], drop_last=case["drop_last"])
            sampler.set_epoch(case["epoch"])
            if sampler.num_samples <= 0:
                expected = []  # Python asserts or yields nothing: fewer samples than ranks, with drop_last
            else:
                try:
                    expected = list(sampler)
                except AssertionError:
                    continue  # Python's own limits (more ranks than samples without enough to pad)
            self.assertEqual(json.loads(line), expected, case)
            compared += 1
        self.assertGreater(compared, 1500)


if __name__ == "__main__":
    unittest.main()
