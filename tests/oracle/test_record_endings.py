"""However a Python job ends under `ddpprof record`: its code and words stay, what it recorded is a sound database."""

import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from tiers import LONG

PROGRAM = os.environ["DDPPROF_PROGRAM"]

TRAINING = """
import os, sys, time
import nvtx
def steps(count=5):
    for step in range(count):
        with nvtx.annotate(f"step {step}"):
            with nvtx.annotate("forward"): time.sleep(0.0003)
            with nvtx.annotate("backward"): time.sleep(0.0006)
if __name__ == "__main__":
    steps()
    print("five steps are done", flush=True)
"""

WAYS = {
    "end": "pass",
    "exit": "sys.exit(3)",
    "exit with words": "sys.exit('no more data')",
    "exception": "raise RuntimeError('not caught')",
    "interrupt": "import signal; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "_exit": "os._exit(9)",
    "abort": "os.abort()",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "killed": "import signal; os.kill(os.getpid(), signal.SIGKILL)",
    "killed in a range": "import signal; nvtx.push_range('step 5'); os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)",
    "exec": "os.execv('/bin/sh', ['sh', '-c', 'echo another; exit 4'])",
    "threads annotate": ("import threading\n    def work():\n        while True:\n            with nvtx.annotate('work'): pass\n"
                         "    threading.Thread(target=work, daemon=True).start(); time.sleep(0.05); sys.exit(6)"),
    "forked workers": ("import multiprocessing\n    with multiprocessing.get_context('fork').Pool(2) as pool: pool.map(steps, [2, 2])\n"
                       "    sys.exit(7)"),
    "spawned workers": ("import multiprocessing\n    with multiprocessing.get_context('spawn').Pool(2) as pool: pool.map(steps, [2, 2])\n"
                        "    sys.exit(8)"),
    "subprocess fails": "import subprocess; sys.exit(subprocess.run([sys.executable, '-c', 'import sys; sys.exit(5)']).returncode)",
    "out of memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 20,) * 2); taken = bytearray(1 << 30)",
    "recursion": "sys.setrecursionlimit(50); (lambda f: f(f))(lambda f: f(f))",
}
UNCLOSED = {"interrupt", "_exit", "abort", "segmentation fault", "killed", "killed in a range", "terminated", "exec"}  # no destructor runs: Python passes SIGINT on to itself


class RecordEndings(unittest.TestCase):
    def run_job(self, *before, way, folder):
        program = pathlib.Path(folder) / "train.py"
        program.write_text(TRAINING + "    " + WAYS[way] + "\n")
        environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
        return subprocess.run([*before, "sh", "-c", f"ulimit -c 0; exec '{sys.executable}' '{program}'"], capture_output=True, text=True,
                              timeout=120, env=environment)

    def check(self, way):
        with tempfile.TemporaryDirectory() as folder:
            bare = self.run_job(way=way, folder=folder)
            database = os.path.join(folder, "job.db")
            done = self.run_job(PROGRAM, "record", "--out", database, "--", way=way, folder=folder)
            code = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout, bare.stdout)
            with sqlite3.connect(database) as opened:
                value = lambda sql: opened.execute(sql).fetchone()[0]
                self.assertEqual(value("PRAGMA integrity_check"), "ok")
                self.assertEqual(value("SELECT count(*) FROM step"), 5, done.stderr)
                self.assertEqual(value("SELECT count(*) FROM diagnostic WHERE code = 'shard_damaged'"), 0)
                self.assertEqual(value("SELECT count(*) FROM diagnostic WHERE code = 'unclosed_shard'"), int(way in UNCLOSED),
                                 done.stderr)

    def test_every_way(self):
        for way in WAYS if LONG else ("end", "exception", "killed in a range", "forked workers", "threads annotate"):
            with self.subTest(way=way):
                self.check(way)


if __name__ == "__main__":
    unittest.main()
