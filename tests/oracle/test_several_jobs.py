"""Traces that real jobs of Python's DDP wrote with torch.profiler, at two N and two batches, in one database: held against
what each job printed about itself."""

import json
import os
import pathlib
import shutil
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
JOBS = ((1, 32), (1, 128), (2, 32), (2, 128))  # N, batch per worker


def ddpprof(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def rows(database, query):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


class SeveralJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        facts = cls.folder / "facts"
        facts.mkdir()
        cls.facts = {}
        for workers, batch in JOBS:
            traces = cls.traces(workers, batch)
            traces.mkdir()
            subprocess.run([sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                            str(workers), str(HERE / "traced_ddp.py"), "--batch-size", str(batch), "--steps", str(STEPS),
                            "--facts", str(facts)],
                           env=dict(os.environ, DDPPROF_TRACE_DIR=str(traces)), check=True, capture_output=True,
                           timeout=240)
            written = [json.loads(path.read_text()) for path in facts.glob(f"n{workers}-b{batch}-*.json")]
            assert len(written) == workers
            cls.facts[workers, batch] = sorted(written, key=lambda one: one["rank"])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def traces(cls, workers, batch):
        return cls.folder / f"n{workers}-b{batch}"

    def path(self, name):
        path = self.folder / name
        path.unlink(missing_ok=True)
        return path

    def check_measurements(self, database):
        """Each job is a measurement with the facts that the job printed."""
        found = rows(database, "SELECT id, world_size, batch_per_worker, accumulation, parameter_bytes, strategy, status, "
                               "backend, model, cores FROM measurement ORDER BY id")
        self.assertEqual(sorted((one[1], one[2]) for one in found), sorted(JOBS))
        self.assertEqual(len({one[8:] for one in found}), 1, "one model and one number of cores")
        for number, workers, batch, accumulation, parameter_bytes, *rest in found:
            facts = self.facts[workers, batch]
            self.assertEqual((accumulation, parameter_bytes, rest[:3]),
                             (1, facts[0]["parameter_bytes"], ["ddp", "ok", "gloo"]))
            for fact in facts:
                durations = [one[0] * 1e-9 for one in rows(
                    database, "SELECT duration_ns FROM step st JOIN shard s ON s.id = st.shard_id WHERE "
                              f"s.measurement_id = {number} AND s.rank = {fact['rank']} AND kind = 'measured'")]
                self.assertEqual(len(durations), STEPS)
                # The annotated step also has the call of prof.step(), which the job's clock does not see.
                own = statistics.median(fact["step_s"])
                self.assertGreaterEqual(statistics.median(durations), 0.95 * own)
                self.assertLessEqual(statistics.median(durations), 1.2 * own + 1e-3)

    def check_answers(self, database):
        predicted = rows(database, "SELECT world_size, step_s FROM prediction ORDER BY world_size")
        # More workers are predicted only if the fits are usable, which other load on the machine may prevent.
        self.assertEqual([one[0] for one in predicted][:2], [1, 2])
        self.assertTrue(all(step > 0 for _, step in predicted))
        fits = rows(database, "SELECT points, status FROM fit WHERE name = 'compute'")
        self.assertEqual(fits[0][0], 2, "one point for each N")
        self.assertIn("over the batch", fits[0][1])
        steps = json.loads(ddpprof("report", database, "--report", "imported", "--format", "json").stdout)
        table = next(one for one in steps["tables"] if one["name"] == "step")
        self.assertEqual(len(table["rows"]), len(JOBS))

    def check_comparison(self, database):
        compared = json.loads(ddpprof("compare", database, "--workers", "1,2", "--format", "json").stdout)
        times = next(one for one in compared["tables"] if one["name"] == "compare_time")
        step = [row for row in times["rows"] if row["what"] == "step"]
        self.assertEqual(len(step), 2, "both batches")
        for row in step:
            batch = row["global_batch_samples"]
            for side, workers in (("a_s", 1), ("b_s", 2)):
                means = [statistics.fmean(times) for times in
                         zip(*(fact["step_s"] for fact in self.facts[workers, batch]))]
                self.assertLess(abs(row[side] / statistics.median(means) - 1), 0.35)
        batches = json.loads(ddpprof("compare", database, "--batches", "32,128", "--format", "json").stdout)
        answers = next(one for one in batches["tables"] if one["name"] == "compare_answer")
        self.assertTrue(any("batch 32 and 128" in row["about"] for row in answers["rows"]))

    def test_folders_of_all_jobs(self):
        database = self.path("folders.db")
        done = ddpprof("import", *(self.traces(*job) for job in JOBS), "--out", database)
        self.assertIn("of 4 jobs", done.stderr)
        self.check_measurements(database)
        self.check_answers(database)
        self.check_comparison(database)

    def test_all_files_in_one_folder(self):
        mixed = self.folder / "mixed"
        mixed.mkdir()
        for workers, batch in JOBS:
            for rank in range(workers):
                shutil.copy(self.traces(workers, batch) / f"rank{rank}.json.gz", mixed / f"{batch}-{workers}-{rank}.json.gz")
        database = self.path("mixed.db")
        ddpprof("import", mixed, "--out", database)
        self.check_measurements(database)
        for path in mixed.glob("*-2-1.json.gz"):  # the second ranks of the jobs of two
            path.unlink()
        ddpprof("import", mixed, "--out", self.path("partial.db"))
        self.assertEqual(rows(self.folder / "partial.db", "SELECT count(*), sum(status = 'partial') FROM measurement"),
                         [(4, 2)])

    @long_test
    def test_a_folder_of_folders(self):
        parent = self.folder / "sweep"
        for job in JOBS[1:3]:
            shutil.copytree(self.traces(*job), parent / self.traces(*job).name)
        ddpprof("import", parent, "--out", self.path("sweep.db"))
        self.assertEqual(rows(self.folder / "sweep.db", "SELECT count(*) FROM measurement"), [(2,)])

    @long_test
    def test_append_job_by_job(self):
        database = self.path("appended.db")
        ddpprof("import", self.traces(*JOBS[0]), "--out", database)
        for job in JOBS[1:]:
            ddpprof("import", self.traces(*job), "--append", database)
        # The model is named after the first import.
        self.check_measurements(database)
        self.check_answers(database)
        before = database.read_bytes()
        again = ddpprof("import", self.traces(*JOBS[1]), "--append", database, code=5)
        self.assertIn("has this job as measurement 2", again.stderr)
        self.assertEqual(database.read_bytes(), before)

    def test_a_killed_append_changes_nothing(self):
        database, target = self.path("base.db"), self.folder / "killed.db"
        ddpprof("import", self.traces(*JOBS[0]), "--out", database)
        before = database.read_bytes()
        seen = set()
        for attempt in range(12 if LONG else 4):
            target.write_bytes(before)
            command = [PROGRAM, "import", *(str(self.traces(*job)) for job in JOBS[1:]), "--append", str(target)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05 * attempt if LONG else 0.15 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
            count = rows(target, "SELECT count(*) FROM measurement")[0][0]
            seen.add(count)
            self.assertIn(count, (1, len(JOBS)))
            if count == 1:
                self.assertEqual(target.read_bytes(), before)
            ddpprof("report", target, "--report", "diagnostics")
        self.assertIn(1, seen)
        target.write_bytes(before)  # what killed commands left does not hinder the next one
        ddpprof("import", *(self.traces(*job) for job in JOBS[1:]), "--append", target)
        self.check_measurements(target)

    @long_test
    def test_what_cannot_be_told_apart(self):
        two = self.folder / "two"
        for name, job, rank in (("first", (2, 32), 0), ("second", (2, 32), 1)):
            (two / name).mkdir(parents=True)
            shutil.copy(self.traces(*job) / f"rank{rank}.json.gz", two / name)
        ddpprof("import", two / "first", two / "second", "--out", self.path("hosts.db"))
        self.assertEqual(rows(self.folder / "hosts.db", "SELECT world_size, status FROM measurement"), [(2, "ok")])
        other = self.folder / "later"
        other.mkdir()
        trace = json.loads(subprocess.run(["gzip", "-dc", str(two / "second" / "rank1.json.gz")], capture_output=True,
                                          check=True, timeout=60).stdout)
        trace["baseTimeNanoseconds"] += 3_600_000_000_000
        (other / "rank1.json").write_text(json.dumps(trace))
        refused = ddpprof("import", two / "first", other, "--out", self.path("none.db"), code=5)
        self.assertIn("ran at different times", refused.stderr)
        self.assertFalse((self.folder / "none.db").exists())
        (other / "rank1.json").write_text(json.dumps(trace)[:100])
        damaged = ddpprof("import", self.traces(1, 32), other, "--out", self.path("damaged.db"), "--full")
        self.assertEqual(rows(self.folder / "damaged.db", "SELECT count(*) FROM measurement"), [(1,)])
        self.assertIn("file_unusable", damaged.stdout)


if __name__ == "__main__":
    unittest.main()
