"""docs/guide/sharded-jobs.md as its reader follows it: the page's own training and commands, from nothing to a
prediction. Bytes are those of the training's layers."""

import json
import math
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import pages
from pages import PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 8


class ShardedPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        page = (ROOT / "docs" / "guide" / "sharded-jobs.md").read_text()
        cls.commands, cls.done = pages.follow(page, "train_fsdp.py", cls.folder)

    def rows(self, sql):
        with sqlite3.connect(self.folder / "fsdp.db") as database:
            return database.execute(sql).fetchall()

    def predicted(self, *arguments):
        done = subprocess.run([PROGRAM, "predict", "fsdp.db", *arguments, "--format", "json"], cwd=self.folder,
                              capture_output=True, text=True, timeout=200)
        return done, json.loads(done.stdout) if done.returncode == 0 else None

    def test_the_commands_end_in_a_prediction(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for workers in (4, 8):
            self.assertRegex(self.done.stdout, rf"(?m)^ *fsdp +{workers} +\d")

    def test_bytes_are_those_of_the_layers(self):
        found = self.rows("SELECT name, parameters, gathered_bytes, scattered_bytes, gathers_again, scatters_by_all_reduce "
                          "FROM sharded_unit u JOIN measurement m ON m.id = u.measurement_id WHERE world_size = 2 "
                          "ORDER BY unit")
        layer, last = 784 * 784 + 784, 10 * 784 + 10
        self.assertEqual(found, [("", last, 4 * last, 4 * last, 0, 1)] +
                         [(str(i), layer, 4 * layer, 4 * layer, 1, 1) for i in range(4)])
        self.assertEqual(self.rows("SELECT world_size, strategy, batch_per_worker FROM measurement ORDER BY 1"),
                         [(1, "fsdp", 32), (2, "fsdp", 32)])

    def test_every_step_gathers_and_scatters_each_unit(self):
        calls = self.rows("SELECT w.action, count(*), sum(w.bytes) FROM sharded_work w WHERE w.bytes > 0 GROUP BY 1")
        layer, last = 4 * (784 * 784 + 784), 4 * (10 * 784 + 10)
        steps = 2 * STEPS
        self.assertEqual(calls, [("all_gather", 9 * steps, steps * (8 * layer + last)),
                                 ("reduce_scatter", 5 * steps, steps * (4 * layer + last))])

    def test_more_ranks_than_cores_are_predicted_with_own_cores(self):
        cores = self.rows("SELECT max(cores) FROM measurement")[0][0]
        done, report = self.predicted("--workers", str(4 * cores))
        self.assertEqual(done.returncode, 0, done.stderr)
        (row,) = [row for table in report["tables"] if table["name"] == "predictions" for row in table["rows"]]
        self.assertIn("with own cores for each rank", row["note"])

    def test_the_parts_of_a_prediction_add_up(self):
        done, report = self.predicted("--workers", "1,2,4,8", "--sharing", "dedicated")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [row for table in report["tables"] if table["name"] == "predictions" for row in table["rows"]]
        self.assertEqual([row["workers"] for row in rows], [1, 2, 4, 8])
        for row in rows:
            parts = sum(row[part] for part in ("compute_s", "exposed_s", "skew_s", "other_s"))
            self.assertTrue(math.isclose(parts, row["step_s"], rel_tol=1e-6), row)
            self.assertLessEqual(row["exposed_s"], row["communication_s"] * (1 + 1e-9), row)
            self.assertGreater(row["step_high_s"], row["step_low_s"], row)


if __name__ == "__main__":
    unittest.main()
