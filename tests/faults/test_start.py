"""Ranks that do not belong together: another world size, and two jobs that meet at one port."""

import socket
import unittest

from faulty_runs import PROGRAM, FaultTest, wait_until
from started_ranks import Rank, five, free_port

FAR_S = 600  # a --rendezvous-timeout that neither mistake may wait for


class Start(FaultTest):
    def setUp(self):
        super().setUp()
        self.scenario.write_text(self.scenario.read_text().replace("steps: 6000", "steps: 30"))

    def rank(self, number, world_size, port, out):
        words = (PROGRAM, "worker", self.scenario, "--out", self.path / out, "--rendezvous-timeout", FAR_S)
        rank = Rank([str(word) for word in words], self.environment(**five(number, world_size, port)))
        self.addCleanup(rank.end)
        return rank

    def expect_refused(self, rank, *expected):
        code, messages = rank.finish(FAR_S - 60)
        self.assertEqual(code, 4, messages)
        for text in expected:
            self.assertIn(text, messages)
        return messages

    def test_wrong_world_size(self):
        port = free_port()
        ranks = [self.rank(0, 2, port, "out"), self.rank(1, 3, port, "out")]
        for rank in ranks:
            messages = self.expect_refused(rank, "the ranks differ in WORLD_SIZE: rank 0 (process ", " has 2, rank 1 ", " has 3")
        self.expect_nobody_left()
        self.row("ranks with different WORLD_SIZE", messages, 4, max(rank.seconds for rank in ranks), "nothing was measured",
                 r"the ranks differ.*")

    def test_two_jobs_on_one_port(self):
        port = free_port()
        first = self.rank(0, 2, port, "one")

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self.assertTrue(wait_until(listens), "rank 0 of the first job never listened")
        second = self.rank(0, 2, port, "two")
        messages = self.expect_refused(second, f"port {port} is in use by process {first.pid} ")
        for rank in (first, self.rank(1, 2, port, "one")):  # the first job's own second rank comes late, and all is well
            code, said = rank.finish(FAR_S)
            self.assertEqual(code, 0, said)
        self.expect_nobody_left()
        self.row("two jobs on one port: the second", messages, 4, second.seconds, "the first job is not affected",
                 rf"port {port} is in use.*")


if __name__ == "__main__":
    unittest.main()
