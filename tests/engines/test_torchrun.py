"""Ranks under the wheel's torchrun across hosts (network namespaces): static and elastic rendezvous."""

import json
import os
import signal
import unittest

import engine_runs
from engine_runs import LIMIT_S, EngineTest, page_commands, wait_until
from hosts import Hosts, why_not

HOSTS = 3


class Agent:
    """torchrun on one host, as a Rank is one process: `finish` gives its exit code and what it and its ranks said."""

    def __init__(self, process):
        self.process = process

    def finish(self, timeout):
        messages, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, messages

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class AcrossHosts(EngineTest):
    @classmethod
    def setUpClass(cls):
        reason = why_not(share=False)
        if reason.startswith("no program"):
            engine_runs.lacks(reason)
        if reason:
            raise unittest.SkipTest(f"this machine makes no hosts of network namespaces: {reason}")
        cls.hosts = cls.enterClassContext(Hosts(HOSTS, mbit=1000))
        cls.commands = page_commands("torchrun.md")

    def on_hosts(self, count, command, port, **environment):
        """The same command on each host, with the variables that the page has one set there."""
        agents = []
        for host in range(count):
            own = {"MASTER_ADDR": self.hosts.address(0), "MASTER_PORT": str(port), "NODE_RANK": str(host),
                   "LOCAL_ADDR": self.hosts.address(host), "IS_HOST": "1" if host == 0 else "0", "OMP_NUM_THREADS": "1"}
            folder = self.path / f"host{host}"
            folder.mkdir(exist_ok=True)
            agents.append(Agent(self.hosts.start(
                host, ["bash", "-c", command], self.environment(**own, **environment), cwd=self.path,
                stdin=engine_runs.subprocess.DEVNULL, stdout=engine_runs.subprocess.PIPE, stderr=engine_runs.subprocess.STDOUT,
                text=True)))
        self.ranks += agents
        return agents

    def expect_ended_well(self, agents):
        said = []
        for agent in agents:
            code, messages = agent.finish(LIMIT_S)
            self.assertEqual(code, 0, messages)
            said.append(messages)
        return said

    def test_static(self):
        said = self.expect_ended_well(self.on_hosts(2, self.commands["static"], 29500))
        self.assertIn("rank 0 of 4, started by torchrun", said[0])
        self.assertIn("rank 3 of 4, started by torchrun", said[1])
        self.expect_run(4, "torchrun", hosts=2)

    def test_elastic(self):
        said = self.expect_ended_well(self.on_hosts(HOSTS, self.commands["elastic"], 29501, JOB="night-3"))
        self.assertIn("of 3, started by torchrun", said[2])
        self.expect_run(3, "torchrun", hosts=HOSTS, job="night-3")

    def test_ranks_meet_again_after_a_failure_on_one_host(self):
        """Only that host's agent counts the attempt; ranks on the others have TORCHELASTIC_RESTART_COUNT=0 again."""
        for fails in (0, 1):  # the host with the store, and another
            with self.subTest(host=fails):
                folder = self.path / f"fails{fails}"
                # The first attempt has no end of its own; `failed` is there before the second begins.
                command = self.commands["elastic"].replace("--nnodes 3", "--nnodes 2").replace(
                    "ddpprof worker scenario.yaml --out results",
                    f"bash -c 'exec ddpprof worker scenario.yaml --out {folder} "
                    f"--set measure.steps=$(test -e {folder}/failed && echo {engine_runs.MEASURED_STEPS} || echo 1000000)'")
                agents = self.on_hosts(2, command, 29510 + fails, JOB=f"again-{fails}")
                met = [folder / "attempt-0" / f"run-{rank}.json" for rank in range(2)]
                wait_until(lambda: all(path.exists() for path in met), "both ranks met", watched=agents)
                starts = [json.loads((folder / "attempt-0" / f"rank-{rank}.json").read_text()) for rank in range(2)]
                (folder / "failed").touch()
                os.kill(next(start["pid"] for start in starts if start["host"] == f"host{fails}"), signal.SIGKILL)
                said = self.expect_ended_well(agents)
                self.assertIn("rank 0 of 2, started by torchrun", "".join(said))
                _, imported = self.expect_run(2, "torchrun", hosts=2, folders=[folder])
                self.assertIn("left out", imported.stderr + imported.stdout)

    def test_one_folder_a_host(self):
        command = self.commands["static"].replace("--out results", "--out host$NODE_RANK/results")
        self.expect_ended_well(self.on_hosts(2, command, 29502))
        self.expect_run(4, "torchrun", hosts=2, folders=[self.path / f"host{host}" / "results" for host in range(2)])


if __name__ == "__main__":
    unittest.main()
