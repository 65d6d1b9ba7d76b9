"""scenarios/python-ddp.yaml: a sweep of a Python training in a file, and the same sweep on the command line."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from recorded import PROGRAM, environment
from tiers import LONG, long_test

SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"


class Scenario(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("python-ddp.yaml", "python-ddp.py"):
            shutil.copy(SCENARIOS / name, self.folder)

    def ddpprof(self, *words, code=0):
        path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=600,
                              env=environment(PATH=path))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def predicted(self, database, *options):
        """Returns the rows of predictions at N = 4. None if the fits refuse the steps, as they may on a busy machine."""
        done = subprocess.run([PROGRAM, "predict", database, "--workers", "4", "--format", "json", *options],
                              cwd=self.folder, capture_output=True, text=True, timeout=60, env=environment())
        if done.returncode != 0:
            self.assertIn("not usable", done.stderr)
            return None
        return next(table["rows"] for table in json.loads(done.stdout)["tables"] if table["name"] == "predictions")

    def measurements(self, database):
        with sqlite3.connect(self.folder / database) as opened:
            return opened.execute("SELECT world_size, batch_per_worker, json_extract(options, '$.run'), "
                                  "json_extract(options, '$.learning_rate') FROM measurement ORDER BY 3").fetchall()

    def test_a_sweep_in_a_file_and_its_continuation_on_the_command_line(self):
        window = ("--set", "measure.window=4-13")
        done = self.ddpprof("run", "python-ddp.yaml", *window, "--set", "measure.batches=[16]", "--out", "job.db",
                            "--format", "json")
        self.assertEqual(self.measurements("job.db"), [(1, 16, "n1-b16-r0", 0.01), (2, 16, "n2-b16-r0", 0.01)], done.stderr)
        with sqlite3.connect(self.folder / "job.db") as opened:
            predicted = [row[0] for row in opened.execute("SELECT DISTINCT world_size FROM prediction ORDER BY 1")]
            refused = [row[0] for row in opened.execute("SELECT message FROM diagnostic WHERE code = 'prediction_none'")]
        if refused:  # on a busy machine the fits may refuse the steps, with the reason
            self.assertIn("N = 4, 8, 16 is not predicted", refused[0])
            self.assertIn("not usable", refused[0])
        else:
            self.assertEqual(predicted, [1, 2, 4, 8, 16], "workers and predict.workers of the file")
        # The database keeps the options of predictions of the file.
        for sharing in ("dedicated", "machine") if LONG else ("dedicated",):
            shared = ("--set", f"predict={{workers: [4], sharing: {sharing}, confidence: 0.5}}")
            self.ddpprof("run", "python-ddp.yaml", *window, *shared, "--set", "measure.batches=[16]", "--out", "job.db",
                         "--resume")
            rows = self.predicted("job.db")
            self.assertEqual(rows, self.predicted("job.db", "--sharing", sharing, "--confidence", "0.5"))
            if rows is not None:
                self.assertNotEqual(rows, self.predicted("job.db", "--sharing", sharing, "--confidence", "0.9"))
        # The same file with more batches: only the missing runs are measured.
        done = self.ddpprof("run", "./python-ddp.yaml", *window, "--set", "workers=[2]", "--out", "job.db", "--resume")
        self.assertEqual(self.measurements("job.db"), [(1, 16, "n1-b16-r0", 0.01), (2, 16, "n2-b16-r0", 0.01),
                                                       (2, 32, "n2-b32-r0", 0.01)], done.stderr)
        self.assertIn("2 runs are measured and kept", done.stderr)
        # The command line has the same words. {folder} is the current folder.
        command = ["env", "OMP_NUM_THREADS=1", "torchrun", "--standalone", "--nproc-per-node", "{workers}",
                   "{folder}/python-ddp.py", "--batch-size", "{batch}", "--lr", "{lr}"]
        line = ("run", "--out", "job.db", "--resume", "--workers", "1,2", "--batches", "16,32", "--lr", "0.01",
                "--steps", "4-13", "--dry-run", "--", *command)
        script = self.folder.resolve() / "python-ddp.py"
        self.assertIn("n2-b32-r0        env OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 2 "
                      f"{script} --batch-size 32 --lr 0.01", self.ddpprof(*line).stdout)
        file = self.ddpprof("run", "python-ddp.yaml", *window, "--dry-run").stdout
        self.assertEqual(file.splitlines()[1:], self.ddpprof(*line).stdout.splitlines()[1:])
        if not LONG:
            return
        # Continued with another name of the model: its runs still belong to one model.
        done = self.ddpprof(*(word for word in line if word != "--dry-run"))
        self.assertIn("Their model has the name python-ddp", done.stderr)
        with sqlite3.connect(self.folder / "job.db") as opened:
            self.assertEqual(opened.execute("SELECT model, COUNT(*) FROM measurement GROUP BY 1").fetchall(),
                             [("python-ddp", 4)])
        done = self.ddpprof("run", "python-ddp.yaml", "--out", "job.db", "--resume", code=2)
        self.assertIn("job.db cannot be continued: its job is", done.stderr)

    def test_mistakes_are_found_before_anything_runs(self):
        for override, message in (("measure.batches=[]", "the command has {batch}, and measure.batches is missing"),
                                  ("workload.lr=\"\"", "the command has {lr}, and workload.lr is missing"),
                                  ("measure.window=5-6", "measure.window 5-6: too few steps for measure.tracer torch"),
                                  ("measure.window=x", "measure.window x"),
                                  ("measure={tracer: own, noise_steps: 5, batches: [16]}", "measure.noise_steps needs"),
                                  ("measure.steps=10", "measure.steps: applies only to models that ddpprof trains"),
                                  ("output.csv=missing/csv", "missing is not a folder")):
            done = self.ddpprof("run", "python-ddp.yaml", "--set", override, code=2)
            self.assertIn(message, done.stderr)
            if LONG and not override.startswith("output"):
                self.assertIn(message, self.ddpprof("validate", "python-ddp.yaml", "--set", override, code=2).stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["python-ddp.py", "python-ddp.yaml"])
        self.assertIn("is for a command after --",
                      self.ddpprof("run", "python-ddp.yaml", "--repeats", "2", code=2).stderr)
        self.assertIn("has a command", self.ddpprof("worker", "python-ddp.yaml", "--out", "ranks", code=2).stderr)
        printed = self.folder / "printed.yaml"
        printed.write_text(self.ddpprof("validate", "python-ddp.yaml", "--print").stdout)
        self.assertIn("is valid", self.ddpprof("validate", printed).stdout)

    @long_test
    def test_threads_that_differ_between_n_are_told(self):
        words = "{folder}/python-ddp.py, --batch-size, 16"
        launcher = "torchrun, --standalone, --nproc-per-node, '{workers}', '%s'" % words.replace(", ", "', '")
        for threads, told in (("1", False), ("{workers}", True)):
            done = self.ddpprof("run", "python-ddp.yaml", "--overwrite", "--set", "measure.window=4-9", "--set",
                                "measure.batches=[]", "--set",
                                f"workload={{command: [env, 'OMP_NUM_THREADS={threads}', {launcher}]}}")
            message = "threads per rank differ: 1 at N = 1, 2 at N = 2"
            self.assertEqual(message in done.stderr, told, done.stderr)
            with sqlite3.connect(self.folder / "python-ddp.db") as opened:
                stored = opened.execute("SELECT COUNT(*) FROM diagnostic WHERE code = 'threads_differ'").fetchone()
            self.assertEqual(stored, (int(told),))

    @long_test
    def test_exports_and_kept_traces(self):
        self.ddpprof("run", "python-ddp.yaml", "--workers", "1", "--set", "measure.window=4-13", "--set",
                     "measure.batches=[16]", "--set", "output={csv: tables, chrome: trace.json, keep_traces: true, raw: none}")
        self.assertTrue((self.folder / "tables").is_dir())
        with open(self.folder / "trace.json") as trace:
            self.assertIn("traceEvents", json.load(trace))
        self.assertTrue(list((self.folder / "python-ddp.db.d").glob("n1-b16-r0/traces/python/rank0-*.json")))


if __name__ == "__main__":
    unittest.main()
