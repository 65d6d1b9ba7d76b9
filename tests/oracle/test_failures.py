"""What a rank says and returns when something is wrong: exit 2, 3 or 4, one line, no hang."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from tiers import long_test
from worker_runs import WORKER, start_ranks

SCENARIO = """
name: failures
workload:
  model: {kind: mlp, widths: [64, 256, 10]}
  batch_per_worker: 16
measure: {warmup_steps: 3, steps: 1000000, unwrapped: false, timeout_s: 5}
"""


def finish(process, seconds):
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, errors


class Failures(unittest.TestCase):
    def lose_a_rank(self, how, seconds):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "status"
            page.write_bytes(bytes(4096))
            ranks = start_ranks(SCENARIO, 2, folder, environment={"DDPPROF_STATUS_FILE": str(page)})
            try:
                deadline = time.monotonic() + 60
                while int.from_bytes(page.read_bytes()[8:16], "little", signed=True) < 20:  # StatusPage::step
                    self.assertLess(time.monotonic(), deadline, "never reached step 20")
                    time.sleep(0.05)
                ranks[1].send_signal(how)
                code, errors = finish(ranks[0], seconds)
            finally:
                for process in ranks:
                    process.kill()
                    process.communicate()
            self.assertEqual(code, 4, errors)
            self.assertRegex(errors, r"ddpprof-worker: rank 0 failed while [a-z ,()-]+\(step \d+\): .+\n$")

    def test_a_killed_peer(self):
        self.lose_a_rank(signal.SIGKILL, 30)

    @long_test
    def test_a_stopped_peer_is_a_timeout(self):
        self.lose_a_rank(signal.SIGSTOP, 60)

    def test_a_peer_that_never_comes(self):
        with tempfile.TemporaryDirectory() as folder:
            rank = start_ranks(SCENARIO, 2, folder)
            rank[1].kill()
            rank[1].communicate()
            code, errors = finish(rank[0], 60)
            self.assertEqual(code, 4, errors)
            self.assertIn("rank 0 failed while waiting for the other ranks (rendezvous)", errors)

    def run_alone(self, scenario, *arguments, **environment):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "scenario.yaml"
            path.write_text(scenario)
            clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
            done = subprocess.run([WORKER, "--scenario", str(path), "--result", folder + "/r.json", *arguments],
                                  env=dict(clean, **environment), capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr

    def test_wrong_use_is_2(self):
        five = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
        for arguments, environment, expected in (
                (["--strategy", "both"], {}, "--strategy"),
                (["--strategy", "ddp", "--replicas", "2"], {}, "--replicas needs --strategy dp"),
                (["--strategy", "dp", "--mode", "bench-comm"], {}, "bench-comm"),
                ([], {"WORLD_SIZE": "2"}, "RANK, LOCAL_RANK, MASTER_ADDR, MASTER_PORT are not set"),
                ([], {"WORLD_SIZE": "2", "RANK": "0"}, "LOCAL_RANK, MASTER_ADDR, MASTER_PORT are not set"),
                ([], dict(five, RANK="2"), "expected less than WORLD_SIZE=2"),
                ([], dict(five, WORLD_SIZE="two"), "WORLD_SIZE=two is not a number: expected a whole number"),
                (["--without-ddp"], five, "--without-ddp is one process"),
                (["--strategy", "dp"], five, "--strategy dp is one process")):
            with self.subTest(arguments=arguments, environment=environment):
                code, errors = self.run_alone(SCENARIO, *arguments, **environment)
                self.assertEqual(code, 2, errors)
                self.assertIn(expected, errors)

    @long_test
    def test_a_listening_socket_is_taken_over(self):
        """The store answers on the socket it is given: bound to loopback alone, and no second bind."""
        with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            path = pathlib.Path(folder) / "scenario.yaml"
            path.write_text(SCENARIO.replace("1000000", "5"))
            ranks = []
            for rank in range(2):
                variables = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                                 MASTER_PORT=str(listener.getsockname()[1]), DDPPROF_MASTER_FD=str(listener.fileno()))
                ranks.append(subprocess.Popen([WORKER, "--scenario", str(path), "--result", f"{folder}/r{rank}.json"],
                                              env=variables, stderr=subprocess.PIPE, text=True,
                                              pass_fds=[listener.fileno()] if rank == 0 else []))
            try:
                for process in ranks:
                    code, errors = finish(process, 60)
                    self.assertEqual(code, 0, errors)
            finally:
                for process in ranks:
                    process.kill()

    def test_a_bad_scenario_is_2_with_its_place(self):
        code, errors = self.run_alone(SCENARIO.replace("widths", "width"))
        self.assertEqual(code, 2)
        self.assertRegex(errors, r"scenario\.yaml:4:\d+")

    def test_missing_abilities_are_3(self):
        for extra in ("backend: nccl\ndevice: cpu\n", "device: cuda\n"):
            with self.subTest(extra=extra):
                code, errors = self.run_alone(SCENARIO + extra, CUDA_VISIBLE_DEVICES="")
                self.assertIn(code, (2, 3), errors)  # 2 where the scenario's own check already refuses the pair
                if "cuda" in extra:
                    self.assertEqual(code, 3, errors)


if __name__ == "__main__":
    unittest.main()
