#!/usr/bin/env python3
"""Tests of validity.py: which runs are disturbed, and which are made again."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import validity  # noqa: E402
from validity import Run  # noqa: E402

FITTED = (1, 2)


def quiet(workers, repeat=0, forward_s=0.1, steal=0.0):
    return Run(workers, repeat, forward_s, steal)


class Validity(unittest.TestCase):
    def test_a_run_whose_forward_differs_by_more_than_5_percent_is_disturbed(self):
        runs = [quiet(1), quiet(2), quiet(8, 0, 0.1049), quiet(8, 1, 0.1051), quiet(8, 2, 0.0949)]
        self.assertEqual(validity.valid_runs(runs, FITTED), runs[:3])

    def test_steal_time_disturbs_a_run_whose_forward_agrees(self):
        self.assertEqual(validity.disturbance(quiet(4, steal=0.03), 0.1), "steal time 3.0%")
        self.assertEqual(validity.disturbance(quiet(4, steal=0.01), 0.1), "")
        self.assertEqual(validity.disturbance(quiet(4, steal=None), 0.1), "")

    def test_one_disturbed_run_among_the_fitted_ones_does_not_move_the_reference(self):
        runs = [quiet(1), quiet(1, 1), quiet(2), quiet(2, 1), quiet(2, 2, 0.2)]
        self.assertEqual(validity.reference_s(runs, FITTED), 0.1)
        self.assertEqual(validity.valid_runs(runs, FITTED), runs[:4])

    def test_disturbed_runs_are_made_again_but_not_for_ever(self):
        wanted = {1: 1, 2: 1, 8: 2}
        runs = [quiet(1), quiet(2)]
        self.assertEqual(validity.missing_repeats(runs, FITTED, wanted), {8: 2})
        runs += [quiet(8, repeat, 0.12) for repeat in range(2)]
        self.assertEqual(validity.missing_repeats(runs, FITTED, wanted), {8: 2})
        runs += [quiet(8, repeat, 0.12) for repeat in range(2, 4)]
        self.assertEqual(validity.missing_repeats(runs, FITTED, wanted), {8: 1})
        runs.append(quiet(8, 4, 0.12))
        self.assertEqual(validity.missing_repeats(runs, FITTED, wanted), {})

    def test_before_the_fitted_sizes_were_measured_every_run_counts(self):
        self.assertEqual(validity.missing_repeats([], FITTED, {1: 3, 2: 3}), {1: 3, 2: 3})
        self.assertEqual(validity.missing_repeats([quiet(1)], FITTED, {1: 3, 2: 3}), {1: 2, 2: 3})

    def test_steal_is_the_eighth_time_of_the_first_line(self):
        before = "cpu  100 0 50 800 0 0 0 10 5 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
        after = "cpu  140 0 60 840 0 0 0 20 25 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
        self.assertAlmostEqual(validity.steal_share(before, after), 0.1)
        self.assertIsNone(validity.steal_share(before, before))


if __name__ == "__main__":
    unittest.main()
