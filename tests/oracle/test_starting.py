"""Every way to start a rank, end to end: what the ranks leave, and what `ddpprof import` makes of it."""

import json
import os
import shutil
import signal
import time
import unittest

from started_ranks import LONG_S, SLOW_DAY_S, Rank, StartedRanks, five, free_port


class Ways(StartedRanks):
    def by_hand(self, world_size, *more, folders=None, overwrite=False):
        port = free_port()
        ranks = [self.start(five(rank, world_size, port), *more, *(["--overwrite"] if overwrite else []),
                            out=folders[rank] if folders else None) for rank in range(world_size)]
        return self.expect_done(*ranks)

    def check_database(self, database, world_size, folder=None):
        """The database of one DDP run of `world_size` ranks is as `ddpprof run` would have made it."""
        self.assertEqual(self.query(database, "SELECT strategy, world_size, status, repeat FROM measurement"),
                         [("ddp", world_size, "ok", 0)])
        self.assertEqual(self.query(database, "SELECT sh.rank, count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id "
                                              "WHERE st.kind = 'measured' GROUP BY 1 ORDER BY 1"),
                         [(rank, 6) for rank in range(world_size)])
        self.assertEqual(self.query(database, "SELECT message FROM diagnostic WHERE severity = 'error'"), [])
        self.assertGreater(self.query(database, "SELECT count(*) FROM collective WHERE skew_ns IS NOT NULL")[0][0], 0)
        report = self.ddpprof("report", database, "--format", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
        tables = json.loads(report.stdout)["tables"]
        self.assertTrue(any(row.get("workers") == world_size for table in tables for row in table["rows"]), report.stdout)

    def imported(self, *folders, code=0, more=()):
        database = self.path / "run.db"
        result = self.ddpprof("import", *(folders or [self.out]), "--out", database, *more)
        self.assertEqual(result.returncode, code, result.stderr)
        return database, result

    def test_torchrun(self):
        rank = self.torchrun("--standalone", "--nproc-per-node", "2")
        messages = self.expect_done(rank)
        self.assertIn("rank 0 of 2, started by torchrun", messages)
        self.assertIn("ddpprof-worker: rank 1 of 2 done: 6 measured steps, median ", messages)
        result = json.loads((self.out / "attempt-0" / "result-1.json").read_text())
        self.assertEqual((result["strategy"], result["world_size"], result["backend"]), ("ddp", 2, "gloo"))
        self.assertTrue(result["traced"])
        # One rank sends nothing, so nothing can be predicted from N = 2 alone but what was measured there.
        database, _ = self.imported()
        self.check_database(database, 2)

    def test_torchrun_starts_a_failed_attempt_anew(self):
        """A rank of attempt 0 ends before it has met anybody, while the other waits in torchrun's store, which stays;
        what attempt 0 left there and in the folder must not count."""
        for fails in (0, 1):
            with self.subTest(rank=fails):
                self.out = self.path / f"out-{fails}"
                fails_once = (f'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && [ "$RANK" = {fails} ]; then sleep 6; exit 7; fi; '
                              'exec "$@"')
                rank = self.torchrun("--nnodes", "1", "--nproc-per-node", "2", "--max-restarts", "1", "--master-port",
                                     str(free_port()), command=["bash", "-c", fails_once, "bash", *self.command()])
                self.expect_done(rank)
                self.assertTrue((self.out / "attempt-0" / f"rank-{1 - fails}.json").exists())
                self.assertFalse((self.out / "attempt-0" / f"result-{1 - fails}.json").exists())
                database, result = self.imported(more=("--overwrite",))
                self.assertIn("attempt 1 is imported; 1 earlier attempt that torchrun restarted is left out", result.stderr)
                self.check_database(database, 2)

    def test_torchruns_rank_0_never_comes(self):
        """The others name it, though they leave no card before it has opened the roll-call."""
        late = 'if [ "$RANK" = 0 ]; then exec sleep 120; fi; exec "$@"'
        rank = self.torchrun("--nnodes", "1", "--nproc-per-node", "2", "--max-restarts", "1", "--master-port", str(free_port()),
                             "--monitor-interval", "0.1",
                             command=["bash", "-c", late, "bash", *self.command(timeout_s=2)])
        code, messages = rank.finish(LONG_S)
        self.assertNotEqual(code, 0, messages)
        self.assertRegex(messages, r"rank 1 failed while .*rank 0's store at \S+ was reached, but rank 0 of 2 did not come within \d")

    def test_bench_comm(self):
        """One database has trainings and a sweep of all-reduces of ranks that another program started."""
        self.by_hand(2)
        bench = self.path / "bench"
        messages = self.by_hand(2, "--bench-comm", "--set", "workload.batch_per_worker=8", folders=[bench, bench])
        self.assertRegex(messages, r"rank 1 of 2 done: \d+ all-reduces timed")
        database, _ = self.imported(self.out, bench)
        self.assertEqual(self.query(database, "SELECT kind, strategy, world_size, nodes, machines FROM measurement ORDER BY id"),
                         [("train", "ddp", 2, 1, 1), ("bench-comm", "none", 2, 1, 1)])
        sizes = [row[0] for row in self.query(database, "SELECT DISTINCT bytes FROM comm_point ORDER BY 1")]
        self.assertEqual(sizes[0], 1024)
        self.assertGreaterEqual(sizes[-1], 1 << 20)
        self.assertEqual(self.query(database, "SELECT count(*) FROM comm_point WHERE processor_ns IS NULL OR processor_ns <= 0"), [(0,)])
        points = self.query(database, "SELECT residuals FROM fit WHERE name = 'all_reduce'")[0][0]
        self.assertEqual({point["source"] for point in json.loads(points)}, {"bench-comm", "step"})

    def test_a_sweep_alone(self):
        """Nothing was trained: the answer is the sweep, and no learning rate is asked for."""
        self.by_hand(2, "--bench-comm")
        database, result = self.imported()
        self.assertIn("All-reduce by size", result.stdout)
        self.assertEqual(self.query(database, "SELECT kind, status FROM measurement"), [("bench-comm", "ok")])

    def test_bench_comm_needs_two_ranks(self):
        code, messages = self.start({}, "--bench-comm").finish(SLOW_DAY_S)
        self.assertEqual(code, 2, messages)
        self.assertIn("two ranks or more", messages)

    def test_by_hand(self):
        messages = self.by_hand(2)
        self.assertIn("rank 1 of 2, started by hand, meeting at 127.0.0.1:", messages)
        database, _ = self.imported()
        self.check_database(database, 2)

    def test_with_nothing_set(self):
        messages = self.expect_done(self.start({}))
        self.assertIn("one process: neither RANK and WORLD_SIZE nor Slurm's or Open MPI's variables are set; trained "
                      "without DDP (no process group, no Reducer)", messages)
        self.assertIn("ddpprof-worker: one process without DDP done: 6 measured steps", messages)
        result = json.loads((self.out / "attempt-0" / "result-0.json").read_text())
        self.assertEqual((result["strategy"], result["world_size"]), ("none", 1))
        self.assertNotIn("buckets", result)
        database, _ = self.imported(code=0)
        self.assertEqual(self.query(database, "SELECT strategy, world_size, status FROM measurement"), [("ddp", 1, "ok")])
        self.assertEqual(self.query(database, "SELECT severity FROM diagnostic WHERE code = 'trained_without_ddp'"), [("info",)])
        self.assertEqual(self.query(database, "SELECT count(*) FROM collective"), [(0,)])
        self.assertEqual(self.query(database, "SELECT count(*) FROM bucket"), [(0,)])
        self.assertEqual(self.query(database, "SELECT count(*) FROM step WHERE kind = 'measured'"), [(6,)])

    def test_one_rank_with_its_variables_is_ddp(self):
        self.expect_done(self.start({"RANK": "0", "WORLD_SIZE": "1"}))
        database, _ = self.imported()
        self.assertEqual(self.query(database, "SELECT count(*) FROM diagnostic WHERE code = 'trained_without_ddp'"), [(0,)])
        self.assertGreater(self.query(database, "SELECT count(*) FROM collective WHERE bucket >= 0")[0][0], 0)

    def test_data_parallel_is_one_process(self):
        self.expect_done(self.start({}, "--strategy", "dp", "--replicas", "2"))
        database, _ = self.imported()
        self.assertEqual(self.query(database, "SELECT strategy, world_size, status FROM measurement"), [("dp", 2, "ok")])

    def test_slurm(self):
        # Without MASTER_PORT the port is 20000 + (61 job + step) % 10000: of job 0 its step's.
        port = free_port(range(20000, 30000))
        job = {"SLURM_NTASKS": "2", "SLURM_NODELIST": "127.0.0.1", "SLURM_JOB_ID": "0", "SLURM_STEP_ID": str(port - 20000)}
        ranks = [self.start(dict(job, SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank))) for rank in range(2)]
        messages = self.expect_done(*ranks)
        self.assertIn(f"started by srun, meeting at 127.0.0.1:{port} (first host of SLURM_NODELIST)", messages)
        database, _ = self.imported()
        self.check_database(database, 2)

    def test_open_mpi(self):
        job = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MASTER_PORT": str(free_port())}
        ranks = [self.start(dict(job, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_LOCAL_RANK=str(rank)))
                 for rank in range(2)]
        messages = self.expect_done(*ranks)
        self.assertIn("started by mpirun, meeting at 127.0.0.1:", messages)
        database, _ = self.imported()
        self.check_database(database, 2)

    def test_several_world_sizes_in_one_database(self):
        folders = [self.path / "one", self.path / "two", self.path / "two-again"]
        self.expect_done(self.start({"RANK": "0", "WORLD_SIZE": "1"}, out=folders[0]))
        self.by_hand(2, folders=[folders[1]] * 2)
        self.by_hand(2, folders=[folders[2]] * 2)
        database, result = self.imported(*folders)
        self.assertEqual(self.query(database, "SELECT world_size, repeat FROM measurement ORDER BY id"), [(1, 0), (2, 0), (2, 1)])
        # Six steps of a small model on a busy machine may be too noisy for a fit; N = 8 is then refused, with the reason.
        predicted = {workers for (workers,) in self.query(database, "SELECT world_size FROM prediction WHERE strategy = 'ddp'")}
        if predicted != {1, 2, 8}:
            self.assertEqual(predicted, {1, 2})
            (why,), = self.query(database, "SELECT message FROM diagnostic WHERE code = 'prediction_none'")
            self.assertIn("ddp at N = 8 is not predicted: ", why)
            self.assertIn("median relative error", why)
        self.assertIn("Steps, measured and predicted", result.stdout)
        # The stored scenario serves what comes after an import as it does after a run.
        lr = self.ddpprof("lr", database, "--workers", "8")
        self.assertEqual(lr.returncode, 0, lr.stderr)

    def test_one_folder_a_host(self):
        folders = [self.path / "host-a", self.path / "host-b"]
        self.by_hand(2, folders=folders)
        database, _ = self.imported(*folders)
        self.check_database(database, 2)
        alone = self.ddpprof("import", folders[1], "--out", self.path / "alone.db")
        self.assertEqual(alone.returncode, 5, alone.stderr)
        self.assertIn("rank 0 of 2 is missing: give the folders of all hosts", alone.stderr)
        self.assertFalse((self.path / "alone.db").exists())

    def test_what_import_refuses(self):
        self.by_hand(2)
        attempt = self.out / "attempt-0"
        database = self.path / "x.db"

        def refused(code, expected, *folders, more=()):
            result = self.ddpprof("import", *(folders or [self.out]), "--out", database, *more)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(expected, result.stderr)
            self.assertFalse(database.exists())

        refused(2, "is given twice", self.out, self.out)
        refused(2, "no such file or folder", self.path / "nowhere")
        refused(5, "the format is unknown", self.scenario)
        refused(5, "no trace in this folder", self.path)
        copy = self.path / "copy"
        shutil.copytree(self.out, copy)
        refused(5, "the same results are given twice", self.out, copy)

        other = self.path / "other"
        self.expect_done(self.start({}, "--set", "workload.batch_per_worker=32", out=other))
        refused(5, "have different scenarios: workload.batch_per_worker: 32 and 16", self.out, other)

        (attempt / "result-1.json").rename(self.path / "aside")
        refused(5, "has no result")
        # With --partial the existing part is imported, and is marked as partial.
        database = self.path / "partial.db"
        result = self.ddpprof("import", self.out, "--out", database, "--partial")
        self.assertIn(result.returncode, (0, 5), result.stderr)
        self.assertEqual(self.query(database, "SELECT status FROM measurement"), [("partial",)])
        self.assertIn("rank 1", self.query(database, "SELECT message FROM diagnostic WHERE code = 'missing_rank'")[0][0])

    def test_mixed_versions_are_named(self):
        self.by_hand(2)
        other = self.path / "other"
        self.expect_done(self.start({"RANK": "0", "WORLD_SIZE": "1"}, out=other))
        path = other / "attempt-0" / "result-0.json"
        result = json.loads(path.read_text())
        path.write_text(json.dumps(dict(result, torch_version="1.0.0")))
        database, outcome = self.imported(self.out, other)
        self.assertIn("torch 1.0.0", outcome.stderr)
        self.assertEqual(self.query(database, "SELECT severity FROM diagnostic WHERE code = 'versions_differ'"), [("warning",)])

    def test_an_earlier_runs_files_are_never_mixed_in(self):
        self.by_hand(3)
        again = self.start(five(0, 2, free_port()))
        code, messages = again.finish(SLOW_DAY_S)
        self.assertEqual(code, 2, messages)
        self.assertIn("holds rank 0 of process", messages)
        self.assertIn("--overwrite", messages)
        self.by_hand(2, overwrite=True)  # of three ranks' files the third's must go as well
        database, _ = self.imported()
        self.check_database(database, 2)

    def test_a_folder_that_is_not_ours_is_left_alone(self):
        self.out.mkdir()
        (self.out / "precious").write_text("mine")
        code, messages = self.start({}, "--overwrite").finish(SLOW_DAY_S)
        self.assertEqual(code, 2, messages)
        self.assertIn("was not made by ddpprof and is left alone", messages)
        self.assertEqual([entry.name for entry in self.out.iterdir()], ["precious"])

    def test_a_torchrun_that_ended_while_its_rank_started_leaves_no_rank(self):
        """Before the rank could ask the kernel to end it with its parent; a pipe that it reads its token from holds it
        up until then."""
        pipe = self.path / "token"
        os.mkfifo(pipe, 0o600)
        agent = Rank(["bash", "-c", '"$@" & wait', "bash", *self.command("--token-file", pipe)],
                     dict(five(0, 2, free_port()), TORCHELASTIC_RUN_ID="none"))
        self.ranks.append(agent)
        with open(pipe, "w") as token:  # once the rank has it open
            os.kill(agent.pid, signal.SIGKILL)
            agent.process.wait(SLOW_DAY_S)
            token.write("a secret that all ranks share")
        _, messages = agent.finish(SLOW_DAY_S)  # of the rank, too
        self.assertIn("torchrun's agent, which started this rank, has ended", messages)

    def test_a_killed_torchrun_leaves_no_rank(self):
        torchrun = self.torchrun("--standalone", "--nproc-per-node", "2",
                                 command=self.command("--set", "measure.steps=1000000"))
        end = time.monotonic() + LONG_S
        while not (self.out / "attempt-0" / "run-1.json").exists() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertGreaterEqual(len(self.processes()), 3)  # torchrun and two ranks
        os.kill(torchrun.pid, signal.SIGKILL)
        torchrun.process.communicate()
        self.expect_no_process()


if __name__ == "__main__":
    unittest.main()
