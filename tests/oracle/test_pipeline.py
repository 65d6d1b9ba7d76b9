"""Pipeline parallel trainings over Gloo, imported: the bubble of each stage held against the job's own clock."""

import json
import pathlib
import statistics
import tempfile
import unittest

from test_profiled import profiled, run_program
from tiers import long_test

CASE = {"width": 768, "batch": 256, "micro_batches": 4, "warmup": 3, "steps": 6}


class Pipeline(unittest.TestCase):
    def imported(self, schedule, layers):
        """Returns what the job measured, and the rows of the tables, by stage."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            truths = profiled(folder, len(layers), script="profiled_pipeline.py", schedule=schedule, layers=layers, **CASE)
            database = folder / "pipeline.db"
            run_program("import", *sorted(folder.glob("rank*.json")), "--out", database, "-q")
            done = run_program("report", database, "--report", "collectives", "--format", "json")
        tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
        return truths, tables["pipeline_stages"], tables["process_groups"]

    def check(self, schedule, layers):
        truths, stages, groups = self.imported(schedule, layers)
        self.assertEqual([row["stage"] for row in stages], list(range(len(layers))))
        last = len(layers) - 1
        for row, truth in zip(stages, truths):
            waited_s, started_s, step_s = (statistics.mean(step[name] for step in truth)
                                           for name in ("wait_s", "start_s", "step_s"))
            # Beside waiting, a message is in flight while the schedule starts the next ones and runs its Python code.
            messages = 2 * CASE["micro_batches"] * (1 if row["stage"] in (0, last) else 2)
            self.assertGreater(row["bubble_s"], 0.97 * waited_s - 0.001, row)
            self.assertLess(row["bubble_s"], 1.03 * waited_s + started_s + 0.0005 * messages, row)
            self.assertAlmostEqual(row["step_s"], step_s, delta=0.03 * step_s + 0.001, msg=row)
            self.assertAlmostEqual(row["bubble_share"], row["bubble_s"] / row["step_s"], delta=1e-6)
            self.assertLessEqual(row["compute_s"] + row["bubble_s"], row["step_s"] * 1.001, msg=row)
            sends = CASE["micro_batches"] * (1 if row["stage"] in (0, last) else 2)
            self.assertEqual(row["sends_per_step"], sends, msg=row)
            message = CASE["batch"] // CASE["micro_batches"] * CASE["width"] * 4
            self.assertEqual(row["sent_bytes_per_step"], sends * message, msg=row)
        return stages, groups

    def test_gpipe_with_a_slow_last_stage(self):
        stages, _ = self.check("gpipe", [2, 8])
        self.assertGreater(stages[0]["bubble_s"], 2 * stages[1]["bubble_s"], stages)

    @long_test
    def test_one_forward_one_backward(self):
        stages, groups = self.check("1f1b", [4, 4, 4])
        for row in stages:
            self.assertGreater(row["bubble_share"], 0.1, row)
        rows = {row["op"]: row for row in groups}
        self.assertTrue({"send", "receive", "all"} <= set(rows), rows.keys())
        self.assertLessEqual(rows["receive"]["exposed_s"], rows["all"]["exposed_s"] * 1.0001)


if __name__ == "__main__":
    unittest.main()
