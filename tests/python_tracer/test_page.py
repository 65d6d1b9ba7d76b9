"""docs/guide/your-python-job.md as its reader follows it: the page's own training and commands."""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from recorded import PROGRAM, environment

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page(unittest.TestCase):
    def test_the_commands_end_in_a_prediction(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        page = (ROOT / "docs" / "guide" / "your-python-job.md").read_text()
        (folder / "train.py").write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
        commands = re.search(r"```sh\n(.*?)```", page, re.S)[1]
        path = os.pathsep.join([str(PROGRAM.parent), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=300,
                              env=environment(PATH=path))
        self.assertEqual(done.returncode, 0, done.stderr)
        for workers in (4, 16, 64):
            self.assertRegex(done.stdout, rf"(?m)^ddp +{workers} +\d")
        with sqlite3.connect(folder / "two.db") as database:
            kinds = database.execute("SELECT kind, MIN(step), MAX(step), COUNT(*) FROM step GROUP BY 1").fetchall()
        self.assertEqual(kinds, [("measured", 30, 49, 40), ("untraced", 10, 28, 38)], "the steps of the page's table")


if __name__ == "__main__":
    unittest.main()
