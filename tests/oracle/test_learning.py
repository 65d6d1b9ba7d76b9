"""What N workers do to a real training, in small: scripts/learning-rate runs the whole of it. Handwritten digits."""

import os
import pathlib
import sys
import tempfile
import unittest

from tiers import long_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "learning_rate"))

import runs  # noqa: E402: found by the line above
import variance  # noqa: E402

DIGITS = os.environ.get("DDPPROF_DIGITS")


@unittest.skipUnless(DIGITS or os.environ.get("DDPPROF_COMPLETE"),
                     "skipped: DDPPROF_DIGITS is not set; scripts/setup.sh fetches the images")
class Learning(unittest.TestCase):
    def setUp(self):
        self.assertTrue(DIGITS, "DDPPROF_DIGITS is not set, though the set-up should have done it")
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-learning-")
        self.addCleanup(folder.cleanup)
        self.digits = pathlib.Path(DIGITS)
        self.tools = runs.Tools(os.environ["DDPPROF_PROGRAM"], ROOT / "scenarios" / "digits.yaml", DIGITS, folder.name)

    def train(self, workers, accumulation, steps, **more):
        name = f"N{workers}-A{accumulation}"
        database = self.tools.run(name, {"workers": f"[{workers}]", "workload.accumulation": accumulation,
                                         "measure.steps": steps - runs.WARMUP_STEPS, **more})
        return database, self.tools.work / name / "kept" / f"ddp-{workers}.pt"

    @long_test
    def test_the_variance_of_the_averaged_gradient_falls_as_one_over_n(self):
        slope, points = variance.measure(self.tools, self.digits, (1, 2, 4), steps=300)
        self.assertEqual([count for count, _ in points], [1, 2, 4])
        self.assertAlmostEqual(slope, -1.0, delta=0.1, msg=str(points))

    def test_a_global_batch_is_one_training_however_it_is_made_up(self):
        """Four workers, or one that accumulates four times as much: the same samples, the same rates, the same losses. In
        the first epoch: at its end four workers repeat two samples, so that each has as many."""
        many, _ = self.train(4, 2, 40)
        alone, _ = self.train(1, 8, 40)
        both = list(zip(runs.losses(many), runs.losses(alone), strict=True))
        self.assertEqual(len(both), 40)
        for step, (a, b) in enumerate(both[:1198 // 64]):
            self.assertAlmostEqual(a, b, delta=2e-4 * max(a, 1.0), msg=f"step {step}")
        self.assertLess(both[-1][0], 0.5 * both[0][0], "it learns")

    @long_test
    def test_the_linear_rule_learns_the_digits_as_it_was_planned(self):
        epochs = 4
        steps = runs.steps_of(2, 2, runs.read_idx(self.digits / "train-labels-idx1-ubyte").numel(), epochs)
        database, checkpoint = self.train(2, 2, steps, **{"learning_rate.epochs": epochs, "learning_rate.warmup_epochs": 1,
                                                          "learning_rate.decay": "cosine"})
        self.assertGreater(runs.accuracy(self.digits, checkpoint), 0.9)
        answer = self.tools.answer(database, "--workers", "1,2,64")
        (trained,) = answer["trained_rates"]
        self.assertEqual((trained["steps"], trained["unlike_steps"]), (steps, 0))
        self.assertLess(trained["last_lr"], 1e-4, "half a cosine down to 0")
        (noise,) = answer["gradient_noise"]
        self.assertGreaterEqual(noise["steps"], 30)
        self.assertGreater(noise["noise_scale_samples"], 0.0)
        self.assertEqual([row["workers"] for row in answer["large_batches"]], [1, 2, 64])


if __name__ == "__main__":
    unittest.main()
