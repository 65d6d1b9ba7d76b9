"""The clock is set while a run measures. The machine's own is left alone: a library that is preloaded shifts it (step_clock.cpp)."""

import os
import unittest

from faulty_runs import FaultTest, step_of
from tiers import long_test

HOUR_S = 3600
NEARLY_NS = 3000 * 10**9  # no run here takes that long, and no jump is shorter
STEPS = 400


class Clock(FaultTest):
    def clock_set(self, by_s, how):
        """CLOCK_REALTIME of the launcher and of rank 1 jumps, rank 0's does not."""
        step = self.path / "step-now"
        run = self.start(*self.run_arguments("--set", "workers=[2]", "--set", "measure.repeats=2", "--set", f"measure.steps={STEPS}"),
                         LD_PRELOAD=os.environ["DDPPROF_STEP_CLOCK_LIBRARY"], DDPPROF_TEST_STEP_S=str(by_s),
                         DDPPROF_TEST_STEP_FILE=str(step), DDPPROF_TEST_STEP_NOT_RANK="0")
        self.wait_for_step(step=10)
        step.write_text("")
        self.assertLess(step_of(self.measurement_folder(2) / "rank-1.status"), STEPS, "the run was over before the clock was set")
        code, messages, seconds = self.finish(run, 600)
        self.assertEqual(code, 0, messages)
        self.expect_nobody_left()
        started = [row[0] for row in self.query("SELECT started_utc_ns FROM measurement ORDER BY repeat")]
        self.assertEqual(len(started), 2)
        self.assertGreater((started[1] - started[0]) * (1 if by_s > 0 else -1), NEARLY_NS, "the clock did not jump")
        self.assertEqual(self.query("SELECT DISTINCT status FROM measurement"), [("ok",)])
        shards = self.query("SELECT id FROM shard ORDER BY measurement_id, rank")
        self.assertEqual(len(shards), 4)
        for shard, in shards:
            steps = self.query(f"SELECT start_ns, duration_ns FROM step WHERE shard_id = {shard} ORDER BY step")
            self.assertEqual(len(steps), STEPS + 3)
            for (start, duration), (later, _) in zip(steps, steps[1:]):
                self.assertTrue(0 < duration <= later - start, "steps overlap or have no time")
            # A step that holds the hour, forwards or backwards, would be here.
            self.assertLess(steps[-1][0] + steps[-1][1] - steps[0][0], NEARLY_NS)
        for wall, in self.query("SELECT wall_ns FROM measurement"):
            self.assertTrue(0 < wall < NEARLY_NS, wall)
        # Ranks of one host share the monotonic clock, whatever the other one says: collectives of both still overlap.
        pairs, apart = self.query(
            "SELECT count(*), max(abs(a.end_ns - b.end_ns)) FROM shard x JOIN shard y USING (measurement_id) "
            "JOIN collective a ON a.shard_id = x.id JOIN collective b ON b.shard_id = y.id AND "
            "b.communicator = a.communicator AND b.sequence = a.sequence WHERE x.rank = 0 AND y.rank = 1")[0]
        self.assertGreaterEqual(pairs, 2 * STEPS)
        self.assertLess(apart, NEARLY_NS)
        self.assertEqual(self.query("SELECT code, message FROM diagnostic WHERE severity = 'error'"), [])
        self.row(f"the clock is set {how} by an hour while ranks train", "none", code, seconds,
                 "all; times are CLOCK_MONOTONIC and do not jump", r".*")

    def test_clock_set_back(self):
        self.clock_set(-HOUR_S, "back")

    @long_test
    def test_clock_set_forward(self):
        """Every limit that was reckoned on that clock would be over at once."""
        self.clock_set(HOUR_S, "forward")


if __name__ == "__main__":
    unittest.main()
