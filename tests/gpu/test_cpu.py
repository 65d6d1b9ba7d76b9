"""The suite on a CPU: its jobs, our programs and the judges run for real; and with a limit that is too short."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suite import parts  # noqa: E402

NEED_A_GPU = {"profiler", "overlap", "peak_memory"}

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
            self.assertEqual(results["mode"], "cpu")
            self.assertIsNone(results["device"]["device"])
            self.assertTrue(results["device"]["torch"])
            self.assertEqual(sorted(os.listdir(folder)), ["results.json", "results.md"])

    def test_no_time_left(self):
        with tempfile.TemporaryDirectory() as folder:
            done, results = run_all(folder, "--limit-s", "0.5", "--only", "ranges,overlap")
            self.assertEqual(done.returncode, 1)
            self.assertEqual([part["status"] for part in results["parts"]], ["failed", "failed"])
            self.assertIn("not begun", results["parts"][0]["message"])

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
