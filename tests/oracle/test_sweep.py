"""ddpprof run -- COMMAND with real jobs of Python's DDP over Gloo: one database of all N and batches, bounded runs, failures,
--resume."""

import json
import os
import pathlib
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from tiers import LONG, long_test

HERE = pathlib.Path(__file__).parent
PROGRAM = os.environ["DDPPROF_PROGRAM"]
STEPS = 12


def rows(database, query):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


class Sweep(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.facts_folder = self.folder / "facts"
        self.facts_folder.mkdir()
        self.database = self.folder / "job.db"

    def command(self, *options, job_options=()):
        return [PROGRAM, "run", "--tracer", "own", "--out", str(self.database), *map(str, options), "--", sys.executable, "-B", "-m",
                "torch.distributed.run", "--standalone", "--nproc-per-node", "{workers}", str(HERE / "traced_ddp.py"),
                "--batch-size", "{batch}", "--steps", str(STEPS), "--facts", str(self.facts_folder), *map(str, job_options)]

    def run_sweep(self, *options, code=0, job_options=()):
        done = subprocess.run(self.command(*options, job_options=job_options), capture_output=True, text=True, timeout=400,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return done

    def facts(self, workers, batch):
        return [json.loads(path.read_text()) for path in sorted(self.facts_folder.glob(f"n{workers}-b{batch}-*.json"))]

    def measured(self):
        return rows(self.database, "SELECT world_size, batch_per_worker, repeat, json_extract(options, '$.run') FROM "
                                   "measurement ORDER BY id")

    def test_all_configurations_in_one_database(self):
        repeats = 2 if LONG else 1
        sweep = ("--workers", "1,2", "--batches", "32,128", "--repeats", repeats, "--steps", "3-14", "--lr", "0.25")
        done = self.run_sweep(*sweep, "--format", "json")
        self.assertEqual(self.measured(), [(workers, batch, repeat, f"n{workers}-b{batch}-r{repeat}")
                                           for repeat in range(repeats) for workers in (1, 2) for batch in (32, 128)])
        for workers in (1, 2):
            for batch in (32, 128):
                facts = self.facts(workers, batch)
                self.assertEqual(len(facts), repeats * workers)
                for fact in facts:
                    variables = fact["environment"]
                    self.assertEqual((variables["DDPPROF_WORKERS"], variables["DDPPROF_BATCH"], variables["DDPPROF_NODES"],
                                      variables["DDPPROF_LR"], variables["DDPPROF_STEPS"]),
                                     (str(workers), str(batch), "1", "0.25", "3-14"))
                own = statistics.median(t for fact in facts for t in fact["step_s"])
                stored = statistics.median(one[0] * 1e-9 for one in rows(
                    self.database, "SELECT duration_ns FROM step st JOIN shard s ON s.id = st.shard_id JOIN measurement m ON "
                                   f"m.id = s.measurement_id WHERE world_size = {workers} AND batch_per_worker = {batch}"))
                self.assertLess(abs(stored / own - 1), 0.25)
        report = json.loads(done.stdout)
        self.assertEqual(report["report"], "summary")
        tables = {table["name"]: table for table in report["tables"]}
        self.assertEqual(len(tables["step"]["rows"]), 4)
        # More workers are predicted only if the fits are usable, which other load on the machine may prevent.
        self.assertEqual([one[0] for one in rows(self.database, "SELECT DISTINCT world_size FROM prediction ORDER BY 1")][:2],
                         [1, 2])
        self.assertIn("over the batch", rows(self.database, "SELECT status FROM fit WHERE name = 'compute'")[0][0])
        kept = self.folder / "job.db.d" / "n2-b32-r0"
        self.assertIn("rank 0 of 2 is done", (kept / "output.log").read_text())
        self.assertFalse((kept / "traces").exists())
        again = self.run_sweep(*sweep, "--resume")
        self.assertIn(f"{4 * repeats} runs are measured and kept", again.stderr)
        self.assertEqual(len(self.facts(1, 32)), repeats, "nothing ran again")

    @long_test
    def test_an_unmodified_job(self):
        """ddpprof's module traces it, and the job that would train for ever is ended."""
        command = self.command("--workers", "1,2", "--batches", "32,128", "--steps", "4-23",
                               job_options=("--no-trace", "--endless", "--steps", "30"))
        command[command.index("own")] = "torch"
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        self.assertEqual([one[:2] for one in self.measured()], [(1, 32), (1, 128), (2, 32), (2, 128)])
        for workers, batch in ((1, 32), (1, 128), (2, 32), (2, 128)):
            facts = self.facts(workers, batch)
            stored = rows(self.database, "SELECT parameter_bytes, status, id FROM measurement WHERE "
                                         f"world_size = {workers} AND batch_per_worker = {batch}")
            self.assertEqual(stored[0][:2], (facts[0]["parameter_bytes"], "ok"))
            # Steps 4 to 12 were timed without the profiler; facts begin at step 3.
            own = statistics.median(t for fact in facts for t in fact["step_s"][1:10])
            untraced = statistics.median(one[0] * 1e-9 for one in rows(
                self.database, "SELECT duration_ns FROM step st JOIN shard s ON s.id = st.shard_id WHERE "
                               f"s.measurement_id = {stored[0][2]} AND kind = 'untraced'"))
            self.assertLess(abs(untraced / own - 1), 0.25, (workers, batch))
        # More workers are predicted only if the fits are usable, which other load on the machine may prevent.
        self.assertEqual([one[0] for one in rows(self.database, "SELECT DISTINCT world_size FROM prediction ORDER BY 1")][:2],
                         [1, 2])

    @long_test
    def test_a_job_that_does_not_end_is_ended(self):
        begin = time.monotonic()
        done = self.run_sweep("--workers", 2, "--batches", 32, "--grace", 5, "--keep-traces",
                              job_options=("--endless", "--ignore-sigterm"))
        self.assertLess(time.monotonic() - begin, 120)
        self.assertIn("were killed", done.stderr)
        self.assertEqual(self.measured(), [(2, 32, 0, "n2-b32-r0")])
        self.assertEqual(len(list((self.folder / "job.db.d" / "n2-b32-r0" / "traces").glob("rank*.json.gz"))), 2)
        for fact in self.facts(2, 32):
            self.assertTrue(fact["step_s"])
        running = subprocess.run(["pgrep", "-f", str(self.facts_folder)], capture_output=True, text=True, check=False)
        self.assertEqual(running.stdout, "", "every process of the job has ended")

    @long_test
    def test_a_failure_does_not_lose_the_others(self):
        failed = self.run_sweep("--workers", "1,2", "--batches", 32, code=4, job_options=("--fail-at", 1))
        self.assertIn("n1-b32-r0 was not measured: it ended with exit code 1, with 0 of 1 traces", failed.stderr)
        self.assertIn("1 of 2 runs were measured; failed: n1-b32-r0", failed.stderr)
        self.assertIn("output.log", failed.stderr)
        self.assertEqual(self.measured(), [(2, 32, 0, "n2-b32-r0")])
        self.assertIn("ddp measured   N = 2: ", failed.stdout)
        other = self.run_sweep("--workers", "1,2", "--batches", 32, "--resume", code=2)  # without --fail-at
        self.assertIn("cannot be continued", other.stderr)
        exists = self.run_sweep("--workers", "1,2", "--batches", 32, code=2)
        self.assertIn("exists", exists.stderr)

    @long_test
    def test_resume_after_an_interruption(self):
        process = subprocess.Popen(self.command("--workers", "1,2", "--batches", "32"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        try:
            for line in process.stderr:
                if line.startswith("ddpprof run: n2-b32-r0 (2 of 2)"):
                    break
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 4, errors)
        self.assertIn("interrupted; 1 of 2 runs were measured", errors)
        self.assertEqual(self.measured(), [(1, 32, 0, "n1-b32-r0")])
        self.run_sweep("--workers", "1,2", "--batches", "32", "--resume")
        self.assertEqual(self.measured(), [(1, 32, 0, "n1-b32-r0"), (2, 32, 0, "n2-b32-r0")])
        self.assertEqual(len(self.facts(1, 32)), 1)

    def test_what_a_command_must_do(self):
        def command(*words):
            return subprocess.run([PROGRAM, "run", "--tracer", "own", "--out", str(self.database), "--overwrite",
                                   *map(str, words)],
                                  capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        job = [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1",
               HERE / "traced_ddp.py", "--batch-size", "32", "--steps", "5"]
        fixed = command("--workers", "2", "--job-timeout", "60", "--", *job)
        self.assertEqual(fixed.returncode, 4)
        self.assertIn("with 1 of 2 traces", fixed.stderr)
        same = command("--workers", "1", "--batches", "32,64", "--", *job)
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("--batches 32 gave the same batch", same.stderr)
        none = command("--workers", "1", "--", "sh", "-c", "echo no trace")
        self.assertEqual(none.returncode, 4)
        self.assertIn("wrote no trace to the folder that its variable DDPPROF_TRACE_DIR names", none.stderr)
        late = command("--workers", "1", "--job-timeout", "2", "--", "sleep", "1000")
        self.assertEqual(late.returncode, 4)
        self.assertIn("not complete after 2 s", late.stderr)
        missing = command("--workers", "1", "--", "no-such-command-of-anyone")
        self.assertEqual(missing.returncode, 3)
        self.assertIn("cannot be started: no-such-command-of-anyone: No such file", missing.stderr)
        self.assertEqual(missing.stderr.count("cannot be started"), 1)
        bad = command("--workers", "1", "--", "sh", "-c", "echo '{' > $DDPPROF_TRACE_DIR/rank0.json")
        self.assertIn("its traces cannot be used", bad.stderr)
        plan = command("--workers", "1,2", "--batches", "8", "--repeats", "2", "--dry-run", "--", "train", "{workers}", "{batch}")
        self.assertIn("n2-b8-r0         train 2 8", plan.stdout)
        # Repeats in turn: a slow drift of the machine is then in all configurations alike.
        self.assertEqual(re.findall(r"n\d-b8-r\d", plan.stdout), ["n1-b8-r0", "n2-b8-r0", "n1-b8-r1", "n2-b8-r1"])
        for words, why in ((("--", "x"), "--workers is missing"), (("--workers", "1", "--", "x", "{batch}"), "--batches"),
                           (("--workers", "1", "--set", "a=1", "--", "x"), "--set is for a scenario"),
                           (("--workers", "1", "--steps", "x", "--", "x"), "--steps"),
                           (("scenario.yaml", "--repeats", "2"), "is for a command"),
                           ((), "nothing to measure")):
            refused = command(*words)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(why, refused.stderr)


if __name__ == "__main__":
    unittest.main()
