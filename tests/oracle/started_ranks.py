"""Ranks of `ddpprof worker`, started as a shell, torchrun, srun or mpirun would, and what they say."""

import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["DDPPROF_PROGRAM"]

SCENARIO = """
name: starting
workload:
  model: {kind: mlp, widths: [64, 256, 10]}
  batch_per_worker: 16
measure: {warmup_steps: 3, steps: 6, unwrapped: false, threads_per_rank: 1, timeout_s: 60}
predict: {workers: [8]}
"""

# Extra time until a rank has ended on a busy machine: loading LibTorch, other programs on the same cores. No test
# measures this time, so it is long.
SLOW_DAY_S = 90
LONG_S = 300  # a --rendezvous-timeout that a test must not come near

STARTERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_", "OMPI_", "PMI",
            "TORCHELASTIC_", "PET_", "KUBERNETES_SERVICE_", "DDPPROF_RUN_ID")


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(STARTERS)}


def has_backend(name):
    """Whether the worker beside the program was built with it."""
    worker = pathlib.Path(PROGRAM).with_name("ddpprof-worker")
    about = subprocess.run([worker, "--about"], capture_output=True, text=True, timeout=LONG_S, check=True)
    return name in json.loads(about.stdout)["backends"]


def free_port(among=(0,)):
    """Returns a free port: the kernel's choice, or the first of `among`."""
    for port in among:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return probe.getsockname()[1]
            except OSError:
                pass
    raise RuntimeError("no port is free")


def five(rank, world_size, port, address="127.0.0.1"):
    return {"RANK": str(rank), "WORLD_SIZE": str(world_size), "LOCAL_RANK": str(rank), "MASTER_ADDR": address,
            "MASTER_PORT": str(port)}


class Rank:
    """One process; `finish` gives its exit code and standard error, `seconds` how long it took."""

    def __init__(self, command, environment):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(command, env=dict(clean_environment(), **environment), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.seconds = None

    @property
    def pid(self):
        return self.process.pid

    def finish(self, timeout):
        _, messages = self.process.communicate(timeout=timeout)
        self.seconds = time.monotonic() - self.begin
        return self.process.returncode, messages

    def end(self):
        """Kills the process; those that it has started may live on, with the other ends of its pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class StartedRanks(unittest.TestCase):
    PATIENCE_S = 20  # for processes to end by themselves

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-start-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.scenario = self.path / "scenario.yaml"
        self.scenario.write_text(SCENARIO)
        self.out = self.path / "out"
        self.ranks = []
        self.addCleanup(self.expect_no_process)
        self.addCleanup(lambda: [rank.end() for rank in self.ranks])  # runs first

    def expect_no_process(self):
        """What is left after a while is a failure, and ended: it would train on beside the tests that follow."""
        end = time.monotonic() + self.PATIENCE_S
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertEqual(left, [], "a process is left")

    def processes(self):
        """Pids whose command line names this test's folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    command, state = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if str(self.path).encode() in command and state not in "ZX":
                    found.append(int(entry.name))
        return found

    def command(self, *more, out=None, timeout_s=LONG_S):
        return [PROGRAM, "worker", str(self.scenario), "--out", str(out or self.out), "--rendezvous-timeout",
                str(timeout_s), *map(str, more)]

    def start(self, environment, *more, **options):
        rank = Rank(self.command(*more, **options), environment)
        self.ranks.append(rank)
        return rank

    def torchrun(self, *arguments, command=None):
        rank = Rank([sys.executable, "-m", "torch.distributed.run", "--no-python", *arguments, *(command or self.command())], {})
        self.ranks.append(rank)
        return rank

    def expect_done(self, *ranks):
        for rank in ranks:
            code, messages = rank.finish(LONG_S)
            self.assertEqual(code, 0, messages)
        return messages

    def ddpprof(self, *arguments, timeout=120):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env=clean_environment())

    def query(self, database, sql):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
