"""What the tests of faults share: the real program, a fault done to it, what it says, what it keeps, and who is left.

A line "FAULT | what | message | exit code | seconds | kept | command" is printed for each, which scripts/faults makes a table of.
"""

import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path += [str(pathlib.Path(__file__).resolve().parents[1] / room) for room in ("cluster", "oracle")]

PROGRAM = os.environ["DDPPROF_PROGRAM"]

# Extra time before a fault is found on a busy machine: loading LibTorch, other programs on the same cores. No test
# measures this time, so it is long.
SLOW_DAY_S = 120
MARK = "DDPPROF_FAULT_TEST"  # in the environment of all processes that a test starts
STARTERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_", "OMPI_",
            "TORCHELASTIC_")

SCENARIO = """
name: faults
workload:
  model: {kind: mlp, widths: [64, 128, 10]}
  batch_per_worker: 16
strategies: [ddp]
workers: [1, 2]
device: cpu
measure: {warmup_steps: 3, steps: 6000, repeats: 1, unwrapped: false, threads_per_rank: 1, timeout_s: 60}
predict: {workers: [8]}
"""


def scenario_with_a_nan(folder, step, timeout_s):
    """Returns a scenario of two ranks on data in `folder`, in which rank 1's loss is not finite at `step`."""
    import torch  # takes a second, which the other files spare

    # Unshuffled, rank 1 of two takes every second sample: with batches of 4 the 81st is the first of its step 10.
    inputs, targets = torch.randn(400, 8), torch.randint(0, 4, (400,))
    inputs[1 + 2 * 4 * step, 3] = float("nan")
    folder.mkdir()
    torch.save(inputs, folder / "inputs.pt")
    torch.save(targets, folder / "targets.pt")
    return f"""
name: no-number
workload:
  model: {{kind: mlp, widths: [8, 16, 4]}}
  batch_per_worker: 4
  data: {{source: tensors, path: {json.dumps(str(folder))}, shuffle: false}}
strategies: [ddp]
workers: [2]
device: cpu
measure: {{warmup_steps: 3, steps: 40, repeats: 1, unwrapped: false, threads_per_rank: 1, timeout_s: {timeout_s}}}
"""


def why_skipped(test, reason):
    """What the machine refuses is skipped; what the set-up installs may not be missing on a complete machine."""
    if os.environ.get("DDPPROF_COMPLETE") == "1" and "no program" in reason:
        test.fail(reason)
    test.skipTest(reason)


def wait_until(condition, seconds=SLOW_DAY_S, pause_s=0.02):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(pause_s)
    return found


def step_of(page):
    """The step in a status page (int32 activity, int32, int64 step); -1 before the first."""
    try:
        content = page.read_bytes()
    except OSError:
        return -1
    return int.from_bytes(content[8:16], "little", signed=True) if len(content) >= 32 and any(content[24:32]) else -1


class FaultTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-fault-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.scenario = self.path / "scenario.yaml"
        self.scenario.write_text(SCENARIO)
        self.database = self.path / "run.db"
        self.mark = uuid.uuid4().hex
        self.addCleanup(self.end_all)

    # ---- processes

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(STARTERS)}
        return {**kept, MARK: self.mark, **more}

    def processes(self):
        """Pids of all that this test has started and that still run, however they were started."""
        found, mark = [], f"{MARK}={self.mark}".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    if (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                        found.append(int(entry.name))
            except OSError:
                continue
        return found

    def end_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def expect_nobody_left(self):
        wait_until(lambda: not self.processes(), 60)
        self.assertEqual(self.processes(), [], "a process is left")

    def worker(self, rank):
        """The pid of a rank's process."""
        def look():
            for pid in self.processes():
                try:
                    variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                    program = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
                except OSError:
                    continue
                if f"RANK={rank}".encode() in variables and program.endswith(b"ddpprof-worker"):
                    return pid
            return None
        pid = wait_until(look)
        self.assertIsNotNone(pid, f"rank {rank} never started")
        return pid

    # ---- the program

    def run_arguments(self, *more):
        return ["run", self.scenario, "--out", self.database, *more]

    def start(self, *arguments, before=None, **environment):
        """`before` is called in the child before it becomes the program."""
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], env=self.environment(**environment),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def finish(self, process, limit_s=0):
        """Exit code, what it said, and seconds since now: `limit_s` is what the program itself may take to notice."""
        begin = time.monotonic()
        _, messages = process.communicate(timeout=limit_s + SLOW_DAY_S)
        return process.returncode, messages, time.monotonic() - begin

    def ddpprof(self, *arguments, timeout=300, **environment):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env=self.environment(**environment))

    def measurement_folder(self, workers):
        return self.path / "run.db.d" / f"ddp-n{workers}-r0"

    def wait_for_step(self, workers=2, rank=0, step=20):
        page = self.measurement_folder(workers) / f"rank-{rank}.status"
        self.assertTrue(wait_until(lambda: step_of(page) >= step), f"rank {rank} of {workers} never came to step {step}")

    # ---- what is kept

    def query(self, sql, database=None):
        connection = sqlite3.connect(f"file:{database or self.database}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def expect_kept(self, **status_of):
        """The database opens, is sound, can be reported, and holds n1="ok", n2="partial"."""
        report = self.ddpprof("report", self.database)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])
        found = {f"n{workers}": status for workers, status in self.query("SELECT world_size, status FROM measurement")}
        self.assertEqual(found, status_of)
        return report.stdout

    def row(self, fault, messages, code, seconds, kept, pattern=r"[Rr]ank \d.*"):
        said = re.search(pattern, messages)
        text = said[0] if said else messages.strip().splitlines()[-1]
        text = text.replace(str(self.path) + "/", "").replace("|", "/")
        group = pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
        print(f"FAULT | {fault} | {text[:220]} | {code} | {seconds:.1f} s | {kept} | scripts/faults {group}", flush=True)
