"""`--noise-scale` in jobs whose noise scale is known in closed form (mean_job.py): 100 samples."""
import json
import subprocess
import sys
import unittest

from recorded import FOLDER, PROGRAM, TORCHRUN, Job, environment
from tiers import LONG, long_test

MEAN = str(FOLDER / "mean_job.py")
STEPS = 250
OPTIONS = ("--noise-scale", str(STEPS), "--steps", "10-17")


class NoiseScale(unittest.TestCase):
    def record(self, *command, noise=True):
        job = Job(self, *command, options=OPTIONS if noise else OPTIONS[2:])
        self.assertEqual(job.code, 0, job.messages)
        return job

    def lr(self, job):
        done = subprocess.run([PROGRAM, "lr", job.database, "--workers", "8,64", "--format", "json"], capture_output=True,
                              text=True, timeout=100, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}, done.stderr

    def check_closed_form(self, job, ranks, samples_per_part):
        self.assertEqual(job.rows("SELECT kind, COUNT(*) FROM step WHERE local_gradient_sqr IS NOT NULL GROUP BY 1"),
                         [("warmup", STEPS * ranks)], job.messages)
        tables, messages = self.lr(job)
        (noise,) = tables["gradient_noise"]
        print(f"noise scale {noise['noise_scale_samples']:.1f} ({noise['noise_scale_low_samples']:.1f} to "
              f"{noise['noise_scale_high_samples']:.1f}), 100 in closed form")
        self.assertLess(abs(noise["noise_scale_samples"] - 100), 20, noise)
        self.assertIn("base rate 0.125 (as recorded at N = ", messages)
        self.assertIn("large_batches", tables)
        return noise

    def test_two_ranks(self):
        job = self.record(*TORCHRUN, MEAN)
        self.check_closed_form(job, 2, 8)
        self.assertEqual(job.rows("SELECT MIN(step), MAX(step) FROM step WHERE kind = 'measured'"), [(264, 267)],
                         "the window begins as many steps later")

    @long_test
    def test_accumulation_and_clipped_gradients(self):
        self.check_closed_form(self.record(*TORCHRUN, MEAN, "--accumulate", "2", "--clip"), 2, 16)

    @long_test
    def test_one_process_with_accumulation(self):
        self.check_closed_form(self.record(sys.executable, MEAN, "--accumulate", "4"), 1, 8)

    @long_test
    def test_a_communication_hook_of_the_job(self):
        self.check_closed_form(self.record(*TORCHRUN, MEAN, "--own-hook"), 2, 8)

    def test_jobs_without_norms_end_as_usual_and_say_why(self):
        for command, why in (((sys.executable, MEAN), "one rank needs two micro-batches"),
                             ((*TORCHRUN, MEAN, "--without-ddp"), "not wrapped by DistributedDataParallel"))[:2 if LONG else 1]:
            job = self.record(*command)
            self.assertIn("no noise scale: ", job.messages)
            self.assertIn(why, job.messages)
            self.assertEqual(job.rows("SELECT COUNT(*) FROM step WHERE local_gradient_sqr IS NOT NULL"), [(0,)])
            self.assertGreater(job.one("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), 0, "the window is traced")

    @long_test
    def test_without_the_option_nothing_is_measured(self):
        job = self.record(*TORCHRUN, MEAN, "--steps", "40", noise=False)
        self.assertEqual(job.rows("SELECT COUNT(*) FROM step WHERE kind = 'warmup'"), [(0,)])


if __name__ == "__main__":
    unittest.main()
