"""The suite on a CPU: its jobs, our programs and the judges run for real; a limit that is too short; a real hang."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suite import evidence, parts, processes  # noqa: E402
from suite.job import LimitReached  # noqa: E402
from suite.machine import Machine  # noqa: E402

NEED_A_GPU = {"profiler", "overlap", "peak_memory"}
WITHOUT_DATABASE = {"warm_up", "contention", "nccl_simulation"}  # the last one if --small is set

# The training of step.py, where what the hook's calls hold takes Gloo's threads 0.3 s to let go of.
SLOW_TO_LEAVE = """
import sys, time, weakref
sys.path.insert(0, {jobs!r})
import step


class Slow:
    def __del__(self):
        time.sleep(0.3)


class Telling(weakref.WeakSet):
    added = 0

    def add(self, call):
        self.added += 1
        call.held = Slow()
        super().add(call.held)  # the last that goes with the call


step.telling = Telling()
step.main()
assert step.telling.added > 0, "the hook's calls were not told"
"""


def run_all(folder, *arguments):
    done = subprocess.run([sys.executable, "-B", HERE / "run-all", "--device", "cpu", "--small", "--out", folder,
                           *arguments], capture_output=True, text=True, timeout=500)
    return done, json.loads((pathlib.Path(folder) / "results.json").read_text())


class Cpu(unittest.TestCase):
    def test_everything_that_makes_sense_on_a_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            done, results = run_all(folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual([part["name"] for part in results["parts"]], list(parts.ORDER))
            for part in results["parts"]:
                self.assertEqual(part["status"], "skipped" if part["name"] in NEED_A_GPU else "passed", part)
                self.assertEqual(bool(part["figures"]), part["name"] not in NEED_A_GPU, part["name"])
                # Every part that leaves a database has the losses of CUPTI.
                names = [one["name"] for one in part["figures"]]
                self.assertEqual(names[-2:] == ["cupti_dropped", "cupti_incomplete"],
                                 part["name"] not in NEED_A_GPU | WITHOUT_DATABASE, part["name"])
            self.assertTrue(results["complete"])
            self.assertEqual(results["mode"], "cpu")
            self.assertIsNone(results["device"]["device"])
            self.assertTrue(results["device"]["torch"])
            self.assertEqual(sorted(os.listdir(folder)), ["results.json", "results.md"])

    def test_no_time_left(self):
        with tempfile.TemporaryDirectory() as folder:
            done, results = run_all(folder, "--limit-s", "0.5", "--only", "ranges,overlap")
            self.assertEqual(done.returncode, 1)
            self.assertEqual([part["status"] for part in results["parts"]], ["failed", "failed"])
            self.assertIn("not started", results["parts"][0]["message"])

    def test_a_recorded_job_that_hangs_leaves_its_stacks_and_no_process(self):
        machine = Machine("cpu", True, time.monotonic() + 70)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
                evidence, "debugger", return_value=None), self.assertRaises(LimitReached) as caught:
            machine.record(pathlib.Path(folder, "job.db"), machine.job(
                "step.py", "--device", "cpu", "--width", "64", "--pause-s", "300", "--told",
                pathlib.Path(folder, "told.json")), limit_s=20)  # twice as long on a CPU
        message = str(caught.exception)
        self.assertIn("had not ended after 40 s", message)
        self.assertRegex(message, r'step.py", line \d+ in step\n')  # where the job sleeps, by its own stack
        self.assertRegex(message, r"process \d+ ddpprof, child of ")
        self.assertRegex(message, r"process \d+ python.*, child of ")
        self.assertEqual([one.pid for one in processes.tree(os.getpid())], [os.getpid()])

    def test_a_job_ends_well_whose_hook_is_slow_to_leave(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "slow.py")
            script.write_text(SLOW_TO_LEAVE.format(jobs=str(HERE / "jobs")))
            done = subprocess.run([sys.executable, "-B", HERE / "jobs" / "launch.py", "2", script, "--device", "cpu",
                                   "--ddp", "gloo", "--tell", "--steps", "1", "--width", "64", "--told",
                                   pathlib.Path(folder, "told.json")], capture_output=True, text=True, timeout=120,
                                  env=dict(os.environ, GLOO_SOCKET_IFNAME="lo"))  # else it warns of unknown host names
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
