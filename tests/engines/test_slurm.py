"""Ranks under Debian's Slurm, a private one: srun, the batch script of the documents, and what goes wrong."""

import json
import os
import shutil
import signal
import tempfile
import unittest

from engine_runs import LIMIT_S, PAGES, EngineTest, need_programs, page_commands, wait_until
from private_slurm import PrivateSlurm
from started_ranks import Rank


class Slurm(EngineTest):
    @classmethod
    def setUpClass(cls):
        need_programs("munge, slurm-client, slurmctld, slurmd", "munged", "munge", "slurmctld", "slurmd", "srun", "sbatch")
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-slurm-")
        cls.addClassCleanup(folder.cleanup)
        cls.slurm = cls.enterClassContext(PrivateSlurm(folder.name))
        cls.commands = page_commands("slurm.md")

    def run_in_slurm(self, command):
        done = self.shell(command, **self.slurm.environment())
        self.assertEqual(done.returncode, 0, done.stdout + self.slurm.last_words())
        return done.stdout

    def test_srun(self):
        messages = self.run_in_slurm(self.commands["srun"])
        self.assertRegex(messages, r"rank 2 of 3, started by srun, meeting at \S+:2\d{4} \(first host of SLURM_STEP_NODELIST\)")
        database, _ = self.expect_run(3, "srun")
        self.assertRegex(json.loads(self.query(database, "SELECT options FROM measurement")[0][0])["job"], r"^\d+\.0$")

    def test_the_batch_script(self):
        shutil.copy(PAGES / "ddpprof.sbatch", self.path)
        self.run_in_slurm(self.commands["sbatch"].replace("sbatch ", "sbatch --wait ", 1))
        output = "".join(path.read_text() for path in self.path.glob("slurm-*.out"))
        self.assertIn("rank 3 of 4, started by srun", output)
        self.expect_run(4, "srun")
        self.assertTrue((self.path / "results.db").exists(), output)  # the script's own import

    def test_two_steps_of_one_job_at_once(self):
        """Each step has a port and a name of its own."""
        command = ("salloc --ntasks 4 bash -c 'srun --exact --ntasks 2 ddpprof worker scenario.yaml --out a & a=$!; "
                   "srun --exact --ntasks 2 ddpprof worker scenario.yaml --out b & b=$!; wait $a && wait $b'")
        self.run_in_slurm(command)
        jobs = set()
        for name in "ab":
            database, _ = self.expect_run(2, "srun", folders=[self.path / name])
            jobs.add(json.loads(self.query(database, "SELECT options FROM measurement")[0][0])["job"])
            shutil.rmtree(self.path / name)
        self.assertEqual(len(jobs), 2, jobs)

    def test_a_batch_script_that_forgets_srun(self):
        script = self.path / "forgets.sh"
        script.write_text("#!/bin/bash\n#SBATCH --ntasks=2\nddpprof worker scenario.yaml --out results\n")
        done = self.shell("sbatch --wait forgets.sh", **self.slurm.environment())
        self.assertEqual(done.returncode, 4, done.stdout)  # the script's own
        output = "".join(path.read_text() for path in self.path.glob("slurm-*.out"))
        self.assertIn("SLURM_NTASKS=2, but neither SLURM_STEP_ID nor SLURM_STEP_NUM_TASKS is set", output)
        self.assertIn("expected srun before ddpprof worker", output)
        self.assertFalse((self.results / "attempt-0").exists())

    def test_a_killed_rank_ends_the_step(self):
        job = Rank(["srun", "--ntasks", "2", "--kill-on-bad-exit=1",
                    *self.command("--set", "measure.steps=1000000", out=self.results)],
                   self.environment(**self.slurm.environment()))
        self.ranks.append(job)
        attempt = self.results / "attempt-0"
        # Both: what is killed before it has met the others, or before the others have, is another test.
        wait_until(lambda: all((attempt / f"run-{rank}.json").exists() for rank in range(2)), "both ranks met", watched=[job])
        os.kill(json.loads((attempt / "rank-1.json").read_text())["pid"], signal.SIGKILL)
        code, messages = job.finish(LIMIT_S)
        self.assertNotEqual(code, 0, messages)
        self.expect_no_process()
        refused = self.ddpprof("import", self.results, "--out", self.path / "killed.db")
        self.assertEqual(refused.returncode, 5, refused.stderr)
        self.assertIn("has no result", refused.stderr)


if __name__ == "__main__":
    unittest.main()
