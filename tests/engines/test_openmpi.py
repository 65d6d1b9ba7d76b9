"""Ranks under Debian's Open MPI: the page's commands as they stand, and a rank that dies."""

import json
import os
import signal
import unittest

from engine_runs import LIMIT_S, EngineTest, need_programs, page_commands, wait_until
from started_ranks import Rank, free_port

# What the page has a container's root set, and a machine with fewer cores than ranks.
CONTAINER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
             "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class OpenMpi(EngineTest):
    def setUp(self):
        need_programs("openmpi-bin", "mpirun")
        super().setUp()
        self.commands = page_commands("openmpi.md")
        self.place = dict(CONTAINER, MASTER_PORT=str(free_port()))

    def test_one_host(self):
        done = self.shell(self.commands["one-host"], **self.place)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("rank 1 of 2, started by mpirun, meeting at 127.0.0.1:", done.stdout)
        database, _ = self.expect_run(2, "mpirun")
        job = json.loads(self.query(database, "SELECT options FROM measurement")[0][0])["job"]
        self.assertRegex(job, r"^\S+$")  # mpirun's own name of the job

    def test_bench_comm(self):
        done = self.shell(self.commands["sweep"], **self.place)
        self.assertEqual(done.returncode, 0, done.stdout)
        database = self.path / "run.db"
        result = self.ddpprof("import", self.path / "bench", "--out", database, timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.query(database, "SELECT kind, world_size, status FROM measurement"), [("bench-comm", 2, "ok")])

    def mpirun(self, ranks, *more, **environment):
        """`ranks` under mpirun, in the background."""
        rank = Rank(["mpirun", "-np", str(ranks), *self.command(*more, out=environment.pop("out", self.results))],
                    self.environment(**{**self.place, **environment}))
        self.ranks.append(rank)
        return rank

    def test_a_killed_rank_ends_all(self):
        job = self.mpirun(2, "--set", "measure.steps=1000000")
        begun = self.results / "attempt-0" / "run-1.json"
        wait_until(begun.exists, "rank 1 met the others", watched=[job])
        start = json.loads((self.results / "attempt-0" / "rank-1.json").read_text())
        os.kill(start["pid"], signal.SIGKILL)
        code, messages = job.finish(LIMIT_S)
        self.assertNotEqual(code, 0, messages)
        self.expect_no_process()


if __name__ == "__main__":
    unittest.main()
