"""Bucket lists and the Logger's times: Python's own DDP as the judge."""

import os
import statistics
import tempfile
import unittest

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import models
from tiers import LONG
from worker_runs import RankDump, run_ranks

WIDTHS = (256, 1024, 1024, 512, 10)  # 0.25 M, 1 M, 0.5 M parameters: several buckets under each limit

SCENARIO = """
name: oracle-buckets
workload:
  model: {{kind: mlp, widths: {widths}}}
  batch_per_worker: 32
{ddp}
measure: {{warmup_steps: 5, steps: 12, unwrapped: false}}
"""


def bucket_indices(text):
    return [[int(index) for index in bucket.split()] for bucket in text.split(",")]


def python_buckets(cap):
    """First and rebuilt bucket lists of Python's DDP (one rank: they do not depend on the world's size)."""
    model = DistributedDataParallel(models.mlp(*WIDTHS), bucket_cap_mb=cap)
    first_bytes = model._get_ddp_logging_data()["bucket_sizes"]
    for _ in range(3):
        model(torch.randn(8, WIDTHS[0])).sum().backward()
    data = model._get_ddp_logging_data()
    return [int(size) for size in first_bytes.split(",")], bucket_indices(data["rebuilt_per_bucket_param_indices"])


class Buckets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        with tempfile.NamedTemporaryFile() as store:
            dist.init_process_group("gloo", init_method=f"file://{store.name}.pg", rank=0, world_size=1)

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()

    def run_worker(self, ddp, world_size):
        with tempfile.TemporaryDirectory() as folder:
            results = run_ranks(SCENARIO.format(widths=list(WIDTHS), ddp=ddp), world_size, folder, ["--dump", folder])
            return results, [RankDump(folder, rank).index for rank in range(world_size)]

    def test_lists(self):
        for cap in (None, 25, 4, 0.5) if LONG else (None, 0.5):
            with self.subTest(bucket_cap_mb=cap):
                ddp = "" if cap is None else f"ddp: {{bucket_cap_mb: {cap}}}"
                _, dumps = self.run_worker(ddp, 2)
                first_bytes, rebuilt = python_buckets(cap)
                sizes = [4 * parameter.numel() for parameter in models.mlp(*WIDTHS).parameters()]
                for dump in dumps:
                    self.assertEqual(dump["rebuilt_buckets"], rebuilt)
                    self.assertEqual([sum(sizes[i] for i in bucket) for bucket in dump["first_buckets"]], first_bytes)
                    self.assertEqual(len(dump["first_buckets"]), 1)

    def test_first_launch_to_last_wait_is_the_loggers_total(self):
        """Medians over the first ten iterations agree within 5 % or 0.3 ms.

        The Logger's interval begins when the first bucket is ready (before it is launched) and ends after the copy
        back; ours begins at the launch and ends when backward returns. Between those points lie microseconds, and a
        scheduler that may interrupt either: hence a median and a tolerance.
        """
        results, _ = self.run_worker("ddp: {bucket_cap_mb: 4}", 2)
        for result in results:
            logged = result["logger"]
            self.assertEqual([entry["iteration"] for entry in logged], list(range(1, 11)))
            theirs = statistics.median(entry["backward_comm_ns"] for entry in logged)
            ours = statistics.median(entry["first_launch_to_backward_end_ns"] for entry in logged)
            self.assertGreater(theirs, 0)
            self.assertLess(abs(ours - theirs), max(0.05 * theirs, 300_000), (ours, theirs))


if __name__ == "__main__":
    unittest.main()
