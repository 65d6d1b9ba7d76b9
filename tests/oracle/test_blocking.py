"""A training that averages its gradients by hand with a blocking all-reduce, traced by torch.profiler and imported: the
exposed share of each rank's step is what the script's own clock measures around its all-reduce."""

import pathlib
import statistics
import tempfile
import unittest

from test_profiled import opened, profiled, run_program, steps_of
from tiers import long_test

STEPS = 15


class Blocking(unittest.TestCase):
    def check(self, slow_rank_s):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            truths = profiled(folder, 2, script="profiled_blocking.py", slow_rank_s=slow_rank_s, steps=STEPS)
            database = folder / "imported.db"
            run_program("import", folder / "rank*.json", "--out", database, "-q")
            with opened(database) as connection:
                for rank, truth in enumerate(truths):
                    steps = steps_of(connection, rank)
                    self.assertEqual(len(steps), STEPS)
                    own = [inside / step for inside, step in zip(truth["collective_ns"], truth["step_ns"])]
                    imported = [step["exposed_ns"] / step["duration_ns"] for step in steps]
                    print(f"rank {rank}: exposed {statistics.median(imported):.1%} imported, {statistics.median(own):.1%} by "
                          "the script's clock", flush=True)
                    # A thread that wakes up late lengthens some steps for the script's clock alone.
                    differences = sorted(abs(one - other) for one, other in zip(imported, own))
                    self.assertLess(differences[STEPS // 4], 0.05)

    @long_test
    def test_equal_ranks(self):
        self.check(0.0)

    def test_the_others_wait_for_a_slow_rank(self):
        self.check(0.05)


if __name__ == "__main__":
    unittest.main()
