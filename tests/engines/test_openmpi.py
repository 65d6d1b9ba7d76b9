"""Ranks under Debian's Open MPI: the page's commands as they stand, a rank that dies, and gradients over MPI itself."""

import json
import os
import signal
import unittest

from engine_runs import LIMIT_S, EngineTest, lacks, need_programs, page_commands, wait_until
from started_ranks import Rank, five, free_port, has_backend

# Variables from docs/guide/engines/openmpi.md for root in a container, and for fewer cores than ranks.
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

    def need_backend(self):
        if not has_backend("mpi"):
            lacks("this build has no backend mpi (Debian package libopenmpi-dev)")

    def test_over_mpi(self):
        self.need_backend()
        done = self.shell(self.commands["over-mpi"], **self.place)
        self.assertEqual(done.returncode, 0, done.stdout)
        database, _ = self.expect_run(2, "mpirun")
        self.assertEqual(self.query(database, "SELECT backend, device FROM measurement"), [("mpi", "cpu")])
        self.assertGreater(self.query(database, "SELECT count(*) FROM collective WHERE bucket >= 0 AND end_ns > start_ns")[0][0], 0)

    def trained(self, ranks, backend):
        """Hashes of the parameters, and the measured steps' losses on rank 0."""
        out = self.path / f"{backend}-{ranks}"
        code, messages = self.mpirun(ranks, "--set", f"backend={backend}", out=out).finish(LIMIT_S)
        self.assertEqual(code, 0, messages)
        results = [json.loads((out / "attempt-0" / f"result-{rank}.json").read_text()) for rank in range(ranks)]
        self.assertEqual({result["backend"] for result in results}, {backend})
        database = self.path / f"{backend}-{ranks}.db"
        imported = self.ddpprof("import", out, "--out", database, timeout=LIMIT_S)
        self.assertEqual(imported.returncode, 0, imported.stderr)
        losses = self.query(database, "SELECT st.loss FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE sh.rank = 0 "
                                      "AND st.kind = 'measured' ORDER BY st.step")
        return {result["parameter_hash"] for result in results}, [loss for (loss,) in losses]

    def test_training_over_mpi_is_training_over_gloo(self):
        self.need_backend()
        # A sum of two is the same in either order: bit for bit. Of three it is a float's rounding apart.
        gloo, mpi = self.trained(2, "gloo"), self.trained(2, "mpi")
        self.assertEqual(gloo, mpi)
        self.assertEqual(len(mpi[0]), 1)
        gloo, mpi = self.trained(3, "gloo"), self.trained(3, "mpi")
        self.assertEqual(len(mpi[0]), 1, "all ranks end with the same parameters")
        self.assertEqual(len(gloo[1]), len(mpi[1]))
        for one, other in zip(gloo[1], mpi[1]):
            self.assertAlmostEqual(one, other, delta=1e-5 * abs(one))

    def test_ranks_that_are_no_mpi_job_are_told_so(self):
        self.need_backend()
        port = free_port()
        ranks = [self.start({**CONTAINER, **five(rank, 2, port)}, "--set", "backend=mpi") for rank in range(2)]
        for rank in ranks:
            code, messages = rank.finish(LIMIT_S)
            self.assertEqual(code, 4, messages)
            self.assertRegex(messages, r"MPI counts this process as rank 0 of 1, the run as rank [01] of 2: .*mpirun -np 2")

    def test_run_says_that_mpirun_has_to_start_the_ranks(self):
        done = self.ddpprof("run", self.scenario, "--set", "backend=mpi", "--set", "workers=[2]")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("mpirun -np 2 ddpprof worker", done.stderr)


if __name__ == "__main__":
    unittest.main()
