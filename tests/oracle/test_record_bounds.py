"""`ddpprof record` keeps the requested steps of a Python job on all threads, with any source of annotations."""

import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from tiers import long_test

PROGRAM = os.environ["DDPPROF_PROGRAM"]

TRAINING = """
import threading, time
{imports}
def beside():
    while not done:
        push("beside"); time.sleep(0.0003); pop()
done = False
thread = threading.Thread(target=beside)
thread.start()
for step in range(12):
    push({name})
    push("forward"); time.sleep(0.001); pop()
    push("backward"); time.sleep(0.002); pop()
    pop()
done = True
thread.join()
print("twelve steps are done")
raise SystemExit(3)
"""
TORCH = "from torch.cuda import nvtx; push, pop = nvtx.range_push, nvtx.range_pop"
PACKAGE = "import nvtx; push, pop = nvtx.push_range, nvtx.pop_range"


class RecordBounds(unittest.TestCase):
    def steps_of(self, imports, name, options):
        with tempfile.TemporaryDirectory() as folder:
            script, database = pathlib.Path(folder, "train.py"), pathlib.Path(folder, "job.db")
            script.write_text(TRAINING.format(imports=imports, name=name))
            run = subprocess.run([PROGRAM, "record", "--out", database, *options, "--", sys.executable, script],
                                 capture_output=True, text=True, timeout=120)
            self.assertEqual((run.returncode, run.stdout), (3, "twelve steps are done\n"), run.stderr)
            with sqlite3.connect(database) as rows:
                steps = [row[0] for row in rows.execute("SELECT step FROM step ORDER BY step")]
                names = dict(rows.execute("SELECT value, count(*) FROM range JOIN string ON string.id = name_id GROUP BY 1"))
                outside, = rows.execute("SELECT count(*) FROM range WHERE start_ns < (SELECT min(start_ns) FROM step) OR "
                                        "start_ns > (SELECT max(start_ns + duration_ns) FROM step)").fetchone()
            self.assertEqual(outside, 0)
            self.assertEqual((names["forward"], names["backward"]), (len(steps), len(steps)))
            self.assertGreater(names["beside"], 0)
            return steps

    def test_numbered_by_torch(self):
        self.assertEqual(self.steps_of(TORCH, 'f"step {step}"', ["--steps", "4-6"]), [4, 5, 6])

    @long_test
    def test_unnumbered_by_torch(self):
        self.assertEqual(self.steps_of(TORCH, '"train_step"', ["--steps", "4-6"]), [4, 5, 6])

    def test_named_by_the_user_in_the_package(self):
        self.assertEqual(self.steps_of(PACKAGE, 'f"block#{step}"', ["--steps", "9-", "--step-range", "block"])[:3], [9, 10, 11])


if __name__ == "__main__":
    unittest.main()
