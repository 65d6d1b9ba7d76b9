"""The callbacks in trainings of two ranks with Hugging Face's and Lightning's trainers.

DDPPROF_CLIENTS_PYTHON is the interpreter of the environment with these programs (scripts/setup.sh, group `clients`).
"""
import os
import subprocess
import sys
import unittest

from package import FOLDER, environment, temporary_folder

import ddpprof

PYTHON = os.environ.get("DDPPROF_CLIENTS_PYTHON", sys.executable)


class Callbacks(unittest.TestCase):
    def check(self, package, *command):
        if subprocess.run([PYTHON, "-c", f"import {package}"], capture_output=True, timeout=300).returncode != 0:
            if os.environ.get("DDPPROF_CLIENTS_PYTHON"):
                self.fail(f"{package} cannot be imported by {PYTHON}")
            self.skipTest(f"{package} is not installed")
        folder = temporary_folder(self)
        done = subprocess.run([PYTHON, *command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = list(ddpprof.open(folder / "job.db").report("steps")["steps"])
        self.assertEqual([row["step"] for row in steps if row["kind"] == "measured"], list(range(18, 26)), done.stderr)
        self.assertEqual({(row["workers"], row["samples"]) for row in steps}, {(2, 16)})

    def test_hugging_face(self):
        self.check("transformers", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                   FOLDER / "trainer_hugging_face.py")

    def test_lightning(self):
        self.check("lightning", FOLDER / "trainer_lightning.py")


if __name__ == "__main__":
    unittest.main()
