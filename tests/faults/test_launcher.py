"""The program that starts the ranks is told to end, or is killed; and what --resume makes of what it left."""

import os
import pathlib
import signal
import shutil
import time
import unittest

from faulty_runs import FaultTest, wait_until
from tiers import long_test

# Everything that two runs of one scenario have in common whatever the machine did meanwhile.
FACTS = {
    "measurements": "SELECT strategy, world_size, repeat, status, message, backend, device, model, parameter_count, "
                    "threads_per_rank, cores, options FROM measurement ORDER BY 1, 2, 3",
    "steps": "SELECT m.world_size, m.repeat, sh.rank, sh.closed, st.kind, count(*), min(st.step), max(st.step) FROM step st "
             "JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id GROUP BY 1, 2, 3, 4, 5",
    "losses": "SELECT m.world_size, m.repeat, sh.rank, st.step, st.loss FROM step st JOIN shard sh ON sh.id = st.shard_id "
              "JOIN measurement m ON m.id = sh.measurement_id ORDER BY 1, 2, 3, 4",
    "collectives": "SELECT m.world_size, m.repeat, sh.rank, c.op, c.bucket, c.bytes, count(*) FROM collective c "
                   "JOIN shard sh ON sh.id = c.shard_id JOIN measurement m ON m.id = sh.measurement_id GROUP BY 1, 2, 3, 4, 5, 6",
    "buckets": "SELECT m.world_size, m.repeat, b.generation, b.bucket, b.position, b.parameter FROM bucket b "
               "JOIN measurement m ON m.id = b.measurement_id ORDER BY 1, 2, 3, 4, 5",
    "ranges": "SELECT m.world_size, m.repeat, s.value, count(*) FROM range r JOIN string s ON s.id = r.name_id "
              "JOIN shard sh ON sh.id = r.shard_id JOIN measurement m ON m.id = sh.measurement_id GROUP BY 1, 2, 3",
    "hosts and memory": "SELECT m.world_size, m.repeat, (SELECT count(*) FROM host_condition h WHERE h.measurement_id = m.id), "
                        "(SELECT count(*) FROM memory y WHERE y.measurement_id = m.id) FROM measurement m ORDER BY 1, 2",
    "errors": "SELECT code, message FROM diagnostic WHERE severity = 'error'",
    "predicted": "SELECT strategy, world_size FROM prediction ORDER BY 1, 2",
    "scenarios": "SELECT id, name, resolved FROM scenario",
    "meta": "SELECT key FROM meta ORDER BY 1",
}


class Launcher(FaultTest):
    def facts(self, database=None):
        return {name: self.query(sql, database) for name, sql in FACTS.items()}

    @long_test
    def test_told_to_end(self):
        run = self.start(*self.run_arguments())
        self.wait_for_step()
        run.send_signal(signal.SIGTERM)
        code, messages, seconds = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.assertIn("Interrupted in step ", messages)
        self.assertRegex(messages, "1 of 2 configurations were measured, and 1 in part, and are kept")
        self.expect_nobody_left()
        self.expect_kept(n1="ok", n2="partial")
        self.row("`ddpprof run` is told to end (SIGTERM)", messages, code, seconds,
                 "N = 1 whole, N = 2 as partial; `--resume` goes on", r"Interrupted.*")

    def test_killed(self):
        run = self.start(*self.run_arguments())
        self.wait_for_step()
        begin = time.monotonic()
        run.kill()
        run.wait()
        self.expect_nobody_left()
        seconds = time.monotonic() - begin
        self.expect_kept(n1="ok")
        self.row("`ddpprof run` is killed (SIGKILL)", "(none; its ranks are ended by the kernel)", "137", seconds,
                 "N = 1 whole; `--resume` goes on", r".*")

    # ---- --resume

    def quick(self):
        self.scenario.write_text(self.scenario.read_text().replace("steps: 6000, repeats: 1", "steps: 300, repeats: 2"))

    def kill_when(self, condition, what):
        run = self.start(*self.run_arguments())
        self.assertTrue(wait_until(lambda: condition() or run.poll() is not None, pause_s=0.002), what)
        self.assertTrue(condition(), f"the run ended before {what}: {run.poll()}")
        run.kill()  # that it has ended meanwhile is possible at its last moment only, and then no less to be resumed
        run.wait()
        self.expect_nobody_left()

    @long_test
    def test_resumed_wherever_it_was_killed(self):
        self.quick()
        whole = self.path / "whole.db"
        result = self.ddpprof("run", self.scenario, "--out", whole)
        self.assertIn(result.returncode, (0, 5), result.stderr)
        expected = self.facts(whole)
        self.assertEqual([row[1:4] for row in expected["measurements"]],
                         [(1, 0, "ok"), (1, 1, "ok"), (2, 0, "ok"), (2, 1, "ok")])
        folder = self.path / "run.db.d"
        moments = {
            "its database was made": lambda: self.database.exists() and self.database.stat().st_size > 0,
            "its first rank trained": lambda: (folder / "ddp-n1-r0" / "rank-0.log").exists(),
            "what N = 1 left was loaded": lambda: (folder / "ddp-n1-r0" / "result-0.json").exists(),
            "N = 2 trained": lambda: (folder / "ddp-n2-r0" / "rank-1.log").exists(),
            "the last one was loaded": lambda: (folder / "ddp-n2-r1" / "result-1.json").exists(),
        }
        for moment, condition in moments.items():
            with self.subTest(killed_when=moment):
                self.database.unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                self.kill_when(condition, moment)
                result = self.ddpprof(*self.run_arguments("--resume"))
                self.assertIn(result.returncode, (0, 5), result.stderr)
                self.assertRegex(result.stderr, r"Resuming .*: [0-4] of 4 configurations are measured and kept|"
                                                "There is no .* to resume: all configurations are measured")
                self.assertEqual(self.facts(), expected)
                self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])

    def test_resumed_after_a_rank_failed(self):
        self.quick()
        run = self.start(*self.run_arguments())
        self.wait_for_step(step=5)
        os.kill(self.worker(1), signal.SIGKILL)
        code, messages, _ = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.assertIn("the same command with --resume measures the rest", messages)
        before = self.query("SELECT id, started_utc_ns FROM measurement WHERE status = 'ok'")
        self.assertEqual(len(before), 1)
        result = self.ddpprof(*self.run_arguments("--resume"))
        self.assertIn(result.returncode, (0, 5), result.stderr)
        self.assertIn("Resuming", result.stderr)
        self.assertIn("1 of 4 configurations are measured and kept", result.stderr)
        self.assertRegex(result.stderr, r"Measured again: ddp-n2-r0 \((partial|failed)\)")
        self.assertEqual(self.query("SELECT id, started_utc_ns FROM measurement WHERE world_size = 1 AND repeat = 0"), before)
        self.assertEqual(self.query("SELECT DISTINCT status FROM measurement"), [("ok",)])
        again = self.ddpprof(*self.run_arguments("--resume"))  # nothing is left to do
        self.assertIn("4 of 4 configurations are measured and kept", again.stderr)
        self.assertEqual(again.returncode, result.returncode)
        self.assertEqual(again.stdout, result.stdout)

    def test_two_at_once(self):
        run = self.start(*self.run_arguments())
        self.wait_for_step()
        for option in ("--resume", "--overwrite"):
            second = self.ddpprof(*self.run_arguments(option))
            self.assertEqual(second.returncode, 2, second.stderr)
            self.assertIn(f"another run or import uses {self.path / 'run.db.d'} (process {run.pid})", second.stderr)
        table = self.path / "steps.csv"
        table.write_text("workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n2,2,8,0.140\n")
        imported = self.ddpprof("import", table, "--out", self.database, "--overwrite")
        self.assertEqual(imported.returncode, 2, imported.stderr)
        self.assertIn(f"another run or import uses {self.path / 'run.db.d'} (process {run.pid})", imported.stderr)
        begun = self.path / "begun"
        recorded = self.ddpprof("record", "--out", self.database, "--overwrite", "--", "touch", begun)
        self.assertEqual(recorded.returncode, 2, recorded.stderr)
        self.assertIn(f"another run or import uses {self.path / 'run.db.d'} (process {run.pid})", recorded.stderr)
        self.assertFalse(begun.exists(), "said before the job")
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        code, messages, _ = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.expect_kept(n1="ok", n2="partial")
        self.row("a second run into the same database", second.stderr, 2, 0, "all: nothing is touched", r"another run.*")

    @long_test
    def test_a_killed_load_is_rolled_back(self):
        """SIGKILL while SQLite's journal is there: held by SIGSTOP first, so that the moment is not missed."""
        self.scenario.write_text(self.scenario.read_text().replace("workers: [1, 2]", "workers: [1]")
                                 .replace("measure: {", "output: {raw: all}\nmeasure: {"))
        run = self.start(*self.run_arguments())
        journal, result = self.path / "run.db-journal", self.measurement_folder(1) / "result-0.json"

        def held():
            if not (result.exists() and journal.exists()):
                return run.poll() is not None
            run.send_signal(signal.SIGSTOP)
            wait_until(lambda: pathlib.Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt", 10)
            if journal.exists() and journal.stat().st_size > 0:
                return True
            run.send_signal(signal.SIGCONT)
            return False

        self.assertTrue(wait_until(held, pause_s=0.001))
        self.assertIsNone(run.poll(), "the load was never seen")
        run.kill()
        run.wait()
        self.assertTrue(journal.exists())
        self.assertEqual(self.ddpprof("report", self.database).returncode, 0)
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])
        self.assertNotIn(("ok",), self.query("SELECT status FROM measurement"))
        result = self.ddpprof(*self.run_arguments("--resume"))
        self.assertIn(result.returncode, (0, 5), result.stderr)
        self.assertEqual(self.query("SELECT world_size, status FROM measurement"), [(1, "ok")])
        self.row("`ddpprof run` is killed while it loads a measurement", "(none)", "137", 0,
                 "all configurations before; the load is undone, `--resume` measures it again", r".*")


if __name__ == "__main__":
    unittest.main()
