"""`ddpprof record` on Python's DDP started by torchrun: what it keeps is what the job's own clock says."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from tiers import long_test

HERE = pathlib.Path(__file__).parent
PROGRAM = os.environ["DDPPROF_PROGRAM"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", "127.0.0.1:0"]
STEPS = 12


def record(folder, *command):
    return subprocess.run([PROGRAM, "record", "--out", str(folder / "job.db"), "--", *command], capture_output=True,
                          text=True, timeout=240)


class Recorded(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def rows(self, sql):
        with sqlite3.connect(self.folder / "job.db") as database:
            return database.execute(sql).fetchall()

    def job(self, code=0):
        return record(self.folder, *TORCHRUN, str(HERE / "recorded_ddp.py"), str(self.folder), str(STEPS), str(code))

    def test_steps_and_phases_are_what_the_job_measured(self):
        done = self.job()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0 is done", done.stdout)
        self.assertIn("rank 1 is done", done.stdout)
        own = [json.loads((self.folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]
        self.assertEqual(self.rows("SELECT rank, pid FROM shard ORDER BY rank"),
                         [(rank, own[rank]["pid"]) for rank in (0, 1)])
        self.assertEqual(self.rows("SELECT world_size, backend, device, nodes FROM measurement"),
                         [(2, "gloo", "cpu", 1)])
        for rank in (0, 1):
            steps = self.rows("SELECT st.step, st.duration_ns, st.forward_ns, st.backward_ns, st.optimizer_ns "
                              f"FROM step st JOIN shard s ON s.id = st.shard_id WHERE s.rank = {rank} ORDER BY st.step")
            self.assertEqual([step[0] for step in steps], list(range(STEPS)))
            kept_ns = {}
            for name, told in own[rank]["took_ns"].items():
                pattern = "step %" if name == "step" else name
                ranges = [row[0] for row in self.rows(
                    "SELECT r.end_ns - r.start_ns FROM range r JOIN string n ON n.id = r.name_id JOIN shard s ON s.id = "
                    f"r.shard_id WHERE s.rank = {rank} AND n.value LIKE '{pattern}' ORDER BY r.start_ns")]
                self.assertEqual(len(ranges), STEPS, name)
                kept_ns[name] = ranges
                # A range lies inside of the job's two readings; outside of it are Python's calls.
                for index, (kept, measured) in enumerate(zip(ranges, told)):
                    self.assertLessEqual(kept, measured, (rank, name, index))
                outside = sorted(measured - kept for kept, measured in zip(ranges, told))
                self.assertLess(outside[STEPS // 2], 200_000, (rank, name))
                if name == "step":
                    self.assertEqual([step[1] for step in steps], ranges)
            # Time between forward and backward counts as forward.
            for index, step in enumerate(steps):
                self.assertGreaterEqual(step[2], kept_ns["forward"][index])
                self.assertEqual(step[3], kept_ns["backward"][index])
                self.assertLessEqual(step[2] + step[3] + step[4], step[1])

    @long_test
    def test_a_failing_job_ends_as_it_would(self):
        done = self.job(code=3)
        self.assertEqual(done.returncode, 1, "torchrun's own code for a worker that failed\n" + done.stderr)
        self.assertEqual(self.rows("SELECT count(*) FROM step"), [(2 * STEPS,)])

    def test_a_job_that_is_ended_leaves_what_it_had(self):
        waits = self.folder / "waits.py"
        waits.write_text("import sys, time\nfrom torch.cuda import nvtx\n"
                         "for i in range(1000):\n    nvtx.range_push(f'step {i}'); time.sleep(0.01); nvtx.range_pop()\n"
                         "    if i == 20: open(sys.argv[1], 'w').close()\n")
        ready = self.folder / "ready"
        process = subprocess.Popen([PROGRAM, "record", "--out", str(self.folder / "job.db"), "--", sys.executable,
                                    str(waits), str(ready)], stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 60
            while not ready.exists() and time.monotonic() < until:
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, errors)
        self.assertGreaterEqual(self.rows("SELECT count(*) FROM step")[0][0], 20)
        self.assertIn(("unclosed_shard",), self.rows("SELECT code FROM diagnostic"))


if __name__ == "__main__":
    unittest.main()
