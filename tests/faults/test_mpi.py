"""Ranks that train over MPI, which has no timeouts of its own: one is killed, one is stopped, one fails by itself."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from faulty_runs import PROGRAM, SLOW_DAY_S, FaultTest, scenario_with_a_nan, wait_until, why_skipped
from started_ranks import free_port, has_backend
from tiers import long_test

# Options that mpirun needs for root in a container, and on a machine with fewer cores than ranks.
CONTAINER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Mpi(FaultTest):
    def setUp(self):
        super().setUp()
        if shutil.which("mpirun") is None:
            why_skipped(self, "no program mpirun (Debian package openmpi-bin)")
        if not has_backend("mpi"):
            why_skipped(self, "no program with backend mpi was built (Debian package libopenmpi-dev)")

    def start_ranks(self, *more):
        """Two ranks under mpirun, in the background."""
        words = ["mpirun", "-np", 2, "--bind-to", "none", PROGRAM, "worker", self.scenario, "--out", self.path / "out",
                 "--set", "backend=mpi", *more]
        self.job = subprocess.Popen(list(map(str, words)), env=self.environment(MASTER_PORT=str(free_port()), **CONTAINER),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.job.stderr.close)
        self.addCleanup(lambda: self.job.poll() is None and self.job.kill())

    def rank_of_endless(self, timeout_s):
        """Starts two ranks that train on; the pid of rank 1 once some steps are done."""
        out = self.path / "out"
        self.start_ranks("--set", "measure.steps=1000000", "--set", f"measure.timeout_s={timeout_s}")
        begun = out / "attempt-0" / "run-1.json"
        self.assertTrue(wait_until(lambda: begun.exists() or self.job.poll() is not None), "rank 1 never met rank 0")
        self.assertIsNone(self.job.poll(), "the job ended before the fault")
        # The tracer's shard grows by a MiB at a time: it holds steps when it is larger than its first.
        shards = out / "attempt-0" / "trace"
        self.assertTrue(wait_until(lambda: any(path.stat().st_size > 3 << 19 for path in shards.glob("shard-1-*"))),
                        "rank 1 recorded no steps")
        return json.loads((out / "attempt-0" / "rank-1.json").read_text())["pid"]

    def expect_ended(self, fault, limit_s, pattern, import_code=0):
        code, messages, seconds = self.finish(self.job, limit_s)
        self.assertNotEqual(code, 0, messages)
        self.assertRegex(messages, pattern)
        self.expect_nobody_left()
        kept = self.ddpprof("import", self.path / "out", "--out", self.database, "--partial")
        self.assertEqual(kept.returncode, import_code, kept.stderr)
        self.assertEqual(self.query("SELECT backend, status FROM measurement"), [("mpi", "partial")])
        self.assertGreater(self.query("SELECT count(*) FROM step")[0][0], 0)
        self.row(fault, messages, code, seconds, "the ranks' shards; `ddpprof import --partial` makes the database", pattern)

    def test_a_killed_rank(self):
        os.kill(self.rank_of_endless(60), signal.SIGKILL)
        self.expect_ended("a rank that trains over MPI is killed (SIGKILL)", 0, r"mpirun noticed .*")

    @long_test
    def test_a_stopped_rank(self):
        os.kill(self.rank_of_endless(4), signal.SIGSTOP)
        self.expect_ended("a rank that trains over MPI is stopped (SIGSTOP), `measure.timeout_s: 4`", 4,
                          r"rank 0 failed while .*mpi: \S+ of \d+ bytes \(number \d+ of this rank\) did not end within 4.*")

    @long_test
    def test_loss_that_is_no_number(self):
        # The limit is beyond what the test waits: MPI_Finalize would wait that long for a rank that trains on.
        self.scenario.write_text(scenario_with_a_nan(self.path / "data", step=10, timeout_s=10 * SLOW_DAY_S))
        self.start_ranks()
        self.expect_ended("a rank's loss is not finite, over MPI", 0,
                          r"rank 1 failed while optimizer \(step 10\): the loss is nan: expected a finite number.*",
                          import_code=5)  # how many samples a file of tensors has is in the results alone: no prediction


if __name__ == "__main__":
    unittest.main()
