"""A host that is cut off, for good and for a while: network namespaces whose link goes down."""

import json
import subprocess
import time
import unittest

from faulty_runs import PROGRAM, SLOW_DAY_S, FaultTest, wait_until, why_skipped
from hosts import Hosts, quiet, why_not
from tiers import long_test

PORT = 29519  # free, since the test has its own network namespaces
TIMEOUT_S = 6
TRAINING_BYTES = 2_000_000  # about fifty steps


class HostsTest(FaultTest):
    def setUp(self):
        super().setUp()
        if reason := why_not(share=False):
            why_skipped(self, reason)
        self.out = self.path / "out"

    def start_ranks(self, hosts, steps, timeout_s):
        """One rank a host."""
        self.scenario.write_text(self.scenario.read_text().replace("steps: 6000", f"steps: {steps}")
                                 .replace("timeout_s: 60", f"timeout_s: {timeout_s}"))
        ranks = []
        for rank in range(2):
            variables = self.environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR=hosts.address(0),
                                         MASTER_PORT=str(PORT))
            process = hosts.start(rank, [PROGRAM, "worker", self.scenario, "--out", self.out], variables,
                                  stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.stderr.close)
            ranks.append(process)
        return ranks

    def sent_bytes(self, hosts):
        """By rank 1's host: a step sends its 38 KB of gradients, meeting beforehand only a few KB in all."""
        shown = subprocess.run(["ip", "-n", hosts.namespace(1), "-s", "-j", "link", "show", "eth0"], capture_output=True,
                               text=True, check=True, timeout=60)
        return json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"]

    def wait_for_traffic(self, hosts, more_bytes):
        begin = self.sent_bytes(hosts)
        self.assertTrue(wait_until(lambda: self.sent_bytes(hosts) >= begin + more_bytes), "the ranks do not train")

    def link(self, hosts, state):
        quiet("ip", "-n", hosts.namespace(1), "link", "set", "eth0", state)

    def test_cut_off(self):
        with Hosts(2, mbit=400) as hosts:
            ranks = self.start_ranks(hosts, 1_000_000, TIMEOUT_S)
            self.wait_for_traffic(hosts, TRAINING_BYTES)
            self.link(hosts, "down")
            begin, said = time.monotonic(), []
            for rank, process in enumerate(ranks):
                _, messages = process.communicate(timeout=4 * TIMEOUT_S + SLOW_DAY_S)
                said.append(messages)
                self.assertEqual(process.returncode, 4, messages)
                self.assertRegex(messages, rf"rank {rank} failed while [a-z ,()-]+\(step \d+\): ")
            seconds = time.monotonic() - begin
            self.expect_nobody_left()
        whole = self.ddpprof("import", self.out, "--out", self.database)
        self.assertEqual(whole.returncode, 5, whole.stderr)
        for rank in range(2):
            self.assertIn(f"rank {rank}", whole.stderr)
        kept = self.ddpprof("import", self.out, "--out", self.database, "--partial")
        self.assertIn(kept.returncode, (0, 5), kept.stderr)
        steps = dict(self.query("SELECT sh.rank, count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id GROUP BY 1"))
        self.assertGreater(min(steps.get(0, 0), steps.get(1, 0)), 15, steps)
        self.assertEqual(self.query("SELECT status FROM measurement"), [("partial",)])
        self.row(f"a host is cut off (link down), measure.timeout_s: {TIMEOUT_S}", said[0], 4, seconds,
                 "both ranks' shards; `ddpprof import --partial` makes the database", r"rank 0 failed.*")

    @long_test
    def test_cut_off_and_back(self):
        with Hosts(2, mbit=400) as hosts:
            ranks = self.start_ranks(hosts, 600, 300)
            self.wait_for_traffic(hosts, TRAINING_BYTES)
            self.link(hosts, "down")
            before = self.sent_bytes(hosts)
            time.sleep(3)
            self.assertEqual(self.sent_bytes(hosts), before, "the link was not cut")
            self.link(hosts, "up")
            begin = time.monotonic()
            self.wait_for_traffic(hosts, TRAINING_BYTES)
            seconds = time.monotonic() - begin
            for process in ranks:
                _, messages = process.communicate(timeout=600)
                self.assertEqual(process.returncode, 0, messages)
            self.expect_nobody_left()
        results = [json.loads((self.out / "attempt-0" / f"result-{rank}.json").read_text()) for rank in range(2)]
        self.assertEqual(results[0]["parameter_hash"], results[1]["parameter_hash"])
        self.assertEqual([result["steps"]["measured"] for result in results], [600, 600])
        self.row("a host is cut off for 3 s and comes back", "(none: the training goes on)", 0, seconds, "all", r".*")


if __name__ == "__main__":
    unittest.main()
