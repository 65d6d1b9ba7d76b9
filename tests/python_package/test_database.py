"""ddpprof.open: its numbers are those of the database and of the program's own output."""
import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

from package import PROGRAM, synthetic_database, temporary_folder

import ddpprof


def printed(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=120).stdout


@contextlib.contextmanager
def without_pandas():
    with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
        yield


class OpenedDatabase(unittest.TestCase):
    def setUp(self):
        self.folder = temporary_folder(self)
        self.path = synthetic_database(self.folder)
        self.db = ddpprof.open(self.path)

    def test_steps_are_those_of_the_database(self):
        with sqlite3.connect(self.path) as database:
            steps = database.execute("SELECT COUNT(*) FROM (SELECT DISTINCT measurement_id, step FROM step JOIN shard ON "
                                     "shard.id = step.shard_id)").fetchone()[0]
            longest_ns = database.execute("SELECT MAX(duration_ns) FROM step WHERE kind = 'measured'").fetchone()[0]
        with without_pandas():
            rows = self.db.steps
        self.assertIsInstance(rows, list)
        self.assertEqual(len(rows), steps)
        self.assertAlmostEqual(max(row["slowest_rank_s"] for row in rows if row["kind"] == "measured"), longest_ns * 1e-9)

    def test_every_table_is_the_programs_csv(self):
        for name in ("summary", "skew", "collectives"):
            report = self.db.report(name)
            records = list(csv.reader(io.StringIO(printed("report", self.path, "--report", name, "--format", "csv"))))
            for table in report.tables.values():
                read = [record for record in records if record and record[0] == table.name]
                self.assertEqual(len(read), len(table), table.name)
                for record, row in zip(read, table):
                    for column, cell in zip(table.columns, record[1:]):
                        value = row[column.name]
                        if column.kind in ("real", "ratio", "integer"):
                            self.assertEqual(float(cell) if cell else None, value, (table.name, column.name))
                        elif column.kind == "text":
                            self.assertEqual(cell, value or "", (table.name, column.name))

    def test_frames_with_pandas(self):
        pandas = __import__("pandas")
        frame = self.db.steps
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame.attrs["units"]["step_s"], "s")
        with without_pandas():
            rows = self.db.steps
        self.assertEqual(frame["step_s"].tolist(), [row["step_s"] for row in rows])
        self.assertIsInstance(self.db.collectives, pandas.DataFrame)
        with without_pandas():
            ranks = self.db.ranks
        self.assertEqual(self.db.ranks["rank"].tolist(), [row["rank"] for row in ranks])

    def test_predictions_are_the_programs(self):
        report = self.db.predict(workers=[8, 64], gpus_per_node=0, what_if={"accumulation": 4}, confidence=0.8)
        made = json.loads(printed("predict", self.path, "--workers", "8,64", "--gpus-per-node", 0, "--what-if",
                                  "accumulation=4", "--confidence", 0.8, "--format", "json"))
        self.assertEqual({table["name"]: table["rows"] for table in made["tables"]},
                         {name: list(table) for name, table in report.tables.items()})
        self.assertEqual({row["workers"] for row in report["predictions"]}, {8, 64})
        self.assertEqual({row["confidence"] for row in report["predictions"]}, {0.8})
        one = self.db.predict(workers=8, gpus_per_node=0, what_if={"accumulation": 4}, confidence=0.8)
        self.assertEqual({row["workers"] for row in one["predictions"]}, {8})
        with self.assertRaisesRegex(ddpprof.ProgramError, "nccl.log"):
            self.db.predict(all_reduce="nccl.log")

    def test_summary_is_flat_numbers(self):
        flat = self.db.summary_dict()
        report = self.db.report("summary")
        expected = sum(row[column.name] is not None for name in ("step", "predictions") for row in report[name]
                       for column in report[name].columns if column.kind in ("real", "ratio"))
        self.assertGreater(expected, 10)
        self.assertEqual(len(flat), expected, "two numbers have one name")
        for row in report["step"]:
            name = f"measured/{row['strategy']}/N={row['workers']}/batch={row['global_batch_samples']}/step_median_s"
            self.assertEqual(flat[name], row["step_median_s"])
        self.assertTrue(all(isinstance(value, float) for value in flat.values()))

    def test_a_report_is_a_page_in_a_notebook(self):
        page = self.db.report("summary").html()
        self.assertGreater(page.count("<svg"), 0)
        frame = xml.etree.ElementTree.fromstring(self.db.report("summary")._repr_html_())
        self.assertEqual(frame.tag, "iframe")
        self.assertEqual(frame.attrib["srcdoc"], re.sub("[\t\r\n]", " ", page))  # XML's rule for attributes
        self.assertIn("Answer", str(self.db.report("answer")))

    def test_errors_are_the_programs(self):
        with self.assertRaises(ddpprof.ProgramError) as raised:
            ddpprof.open(self.folder / "missing.db")
        self.assertEqual(raised.exception.exit_code, 2)
        self.assertIn("missing.db", str(raised.exception))
        with self.assertRaisesRegex(ddpprof.ProgramError, "expected one of"):
            self.db.report("nothing")
        with self.assertRaisesRegex(ddpprof.ProgramError, "bandwith"):
            self.db.predict(what_if={"bandwith": "25Gbit/s"})
        with self.assertRaisesRegex(KeyError, "step"):
            self.db.report("summary")["nothing"]

    def test_a_program_that_does_not_exist(self):
        with unittest.mock.patch.dict(os.environ, {"DDPPROF_PROGRAM": "/nonexistent/ddpprof"}):
            with self.assertRaisesRegex(ddpprof.ProgramError, "DDPPROF_PROGRAM is /nonexistent/ddpprof"):
                ddpprof.open(self.path)

    def test_a_name_that_looks_like_an_option(self):
        os.rename(self.path, self.folder / "--full.db")
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            self.assertGreater(len(ddpprof.open("--full.db").report("answer")["answer"]), 0)
        finally:
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()
