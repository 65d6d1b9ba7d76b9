"""Which samples a rank trains on: index for index what Python's DistributedSampler gives, and what the usual few lines
around torch.multinomial give where they are drawn by weight."""

import itertools
import json
import math
import os
import subprocess
import unittest

import torch
from torch.utils.data import DistributedSampler, WeightedRandomSampler


def print_indices(cases):
    done = subprocess.run([os.environ["DDPPROF_SAMPLER_PRINTER"]], input="\n".join(map(json.dumps, cases)), text=True,
                          capture_output=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


class WeightedDistributedSampler:
    """As people write it, since PyTorch has none: DistributedSampler with multinomial in place of randperm."""

    def __init__(self, weights, num_replicas, rank, seed, drop_last):
        base = DistributedSampler(weights, num_replicas=num_replicas, rank=rank, seed=seed, drop_last=drop_last)
        self.weights, self.base, self.epoch = torch.as_tensor(weights, dtype=torch.double), base, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.base.seed + self.epoch)
        drawn = torch.multinomial(self.weights, self.base.total_size, replacement=True, generator=generator).tolist()
        return iter(drawn[self.base.rank:self.base.total_size:self.base.num_replicas])


class Sampler(unittest.TestCase):
    def test_weighted_grid(self):
        numbers = torch.Generator().manual_seed(7)
        cases = []
        for n, ranks, drop, seed, epoch in itertools.product((2, 7, 101, 5_000), (1, 2, 3, 8), (True, False), (0, 12345),
                                                             (0, 1, 5)):
            if n < ranks:
                continue
            labels = torch.randint(3, (n,), generator=numbers)
            weights = (1.0 / torch.bincount(labels, minlength=3).double())[labels].tolist()
            cases += [dict(samples=n, replicas=ranks, rank=rank, shuffle=True, drop_last=drop, seed=seed, epoch=epoch,
                           weights=weights) for rank in {0, ranks - 1}]
        found = print_indices(cases)
        self.assertEqual(len(found), len(cases))
        for case, indices in zip(cases, found):
            sampler = WeightedDistributedSampler(case["weights"], case["replicas"], case["rank"], case["seed"],
                                                 case["drop_last"])
            sampler.set_epoch(case["epoch"])
            shown = {key: case[key] for key in case if key != "weights"}
            self.assertEqual(indices, list(sampler), shown)
            self.assertEqual(len(indices), math.ceil((case["samples"] - case["replicas"]) / case["replicas"])
                             if case["drop_last"] and case["samples"] % case["replicas"]
                             else math.ceil(case["samples"] / case["replicas"]), shown)

    def test_one_rank_draws_as_weighted_random_sampler(self):
        weights = [1.0, 5.0, 0.0, 2.5, 0.125] * 40
        case = dict(samples=200, replicas=1, rank=0, shuffle=True, drop_last=False, seed=3, epoch=4, weights=weights)
        generator = torch.Generator().manual_seed(3 + 4)
        self.assertEqual(print_indices([case])[0], list(WeightedRandomSampler(weights, 200, generator=generator)))

    def test_grid(self):
        grid = [dict(samples=n, replicas=ranks, rank=rank, shuffle=shuffle, drop_last=drop, seed=seed, epoch=epoch)
                for n, ranks, shuffle, drop, seed, epoch in itertools.product(
                    (1, 2, 7, 64, 101, 10_000), (1, 2, 3, 4, 8), (True, False), (True, False), (0, 1, 12345), (0, 1, 5))
                for rank in {0, ranks - 1}]
        found = print_indices(grid)
        self.assertEqual(len(found), len(grid))
        compared = 0
        for case, indices in zip(grid, found):
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
            self.assertEqual(indices, expected, case)
            compared += 1
        self.assertGreater(compared, 1500)


if __name__ == "__main__":
    unittest.main()
