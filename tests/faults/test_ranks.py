"""A rank that is killed, stopped, slow, out of memory, or computes no number any more."""

import json
import os
import signal
import time
import unittest

from faulty_runs import FaultTest, scenario_with_a_nan, why_skipped
from hosts import cpu_controller, remove_group
from memory_group import MemoryGroup
from tiers import long_test

KEPT = "N = 1 whole, N = 2 as partial with its steps"


class Ranks(FaultTest):
    def measured_steps(self, workers, rank):
        return self.query("SELECT count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON "
                          f"m.id = sh.measurement_id WHERE m.world_size = {workers} AND sh.rank = {rank}")[0][0]

    def test_killed(self):
        run = self.start(*self.run_arguments())
        self.wait_for_step()
        os.kill(self.worker(1), signal.SIGKILL)
        code, messages, seconds = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.assertIn("Rank 1 was killed by SIGKILL in step ", messages)
        self.expect_nobody_left()
        self.expect_kept(n1="ok", n2="partial")
        self.assertGreater(self.measured_steps(2, 1), 10)
        self.assertIn(("unclosed_shard",), self.query("SELECT code FROM diagnostic WHERE rank = 1"))
        self.row("a rank is killed (SIGKILL)", messages, code, seconds, KEPT)

    @long_test
    def test_stopped(self):
        run = self.start(*self.run_arguments("--set", "measure.timeout_s=4"))
        self.wait_for_step()
        os.kill(self.worker(1), signal.SIGSTOP)
        code, messages, seconds = self.finish(run, 4)
        self.assertEqual(code, 4, messages)
        self.assertIn("Rank 1 is stopped (SIGSTOP) in step ", messages)
        self.assertIn("No progress for 4 s", messages)
        self.expect_nobody_left()
        self.expect_kept(n1="ok", n2="partial")
        self.assertGreater(self.measured_steps(2, 1), 10)
        self.row("a rank is stopped (SIGSTOP), measure.timeout_s: 4", messages, code, seconds, KEPT)

    @long_test
    def test_loss_that_is_no_number(self):
        self.scenario.write_text(scenario_with_a_nan(self.path / "data", step=10, timeout_s=60))
        code, messages, seconds = self.finish(self.start(*self.run_arguments()))
        self.assertEqual(code, 4, messages)
        self.assertIn("Rank 1 ended with exit code 4 in step 10 of 43", messages)
        self.assertIn("rank 1 failed while optimizer (step 10): the loss is nan: expected a finite number", messages)
        self.expect_nobody_left()
        self.expect_kept(n2="partial")
        self.assertIn(("loss_not_finite", 1), self.query("SELECT code, rank FROM diagnostic WHERE rank = 1"))
        self.row("a rank's loss is not finite", messages, code, seconds, "the steps before, as partial",
                 r"rank 1 failed while optimizer.*")

    def test_out_of_memory(self):
        # 60 M parameters, their gradients and Adam's moments: 960 MB a rank at the first step.
        self.scenario.write_text(self.scenario.read_text().replace("[64, 128, 10]", "[64, 7500, 7500, 10]")
                                 .replace("steps: 6000", "steps: 50").replace("workers: [1, 2]", "workers: [2]")
                                 .replace("batch_per_worker: 16", "batch_per_worker: 16\n  optimizer: {kind: adam}"))
        if reason := MemoryGroup.why_not():
            why_skipped(self, reason)
        with MemoryGroup(limit_bytes=1200 << 20) as group:
            # The run joins the group before it starts anything, as in a container or a batch system's step.
            run = self.start(*self.run_arguments(), before=group.join)
            code, messages, seconds = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.assertRegex(messages, r"Rank [01] was killed by SIGKILL in .* The kernel's out-of-memory killer ended it "
                                   r"\(memory\.(events|oom_control): oom_kill went from 0 to [12]\)")
        self.expect_nobody_left()
        status, = self.query("SELECT DISTINCT status FROM measurement")
        self.assertIn(status[0], ("partial", "failed"))  # failed: no step had ended yet
        self.row("the kernel's out-of-memory killer ends a rank", messages, code, seconds,
                 "what was measured before", r"Rank [01] was killed.*")

    def test_slow(self):
        found = cpu_controller()
        if found is None:
            why_skipped(self, "no cgroup that can limit processors is writable")
        top, unified = found
        group = top / f"ddpprof-fault-{os.getpid()}"
        group.mkdir()
        self.addCleanup(remove_group, group)
        if unified:
            (group / "cpu.max").write_text("2000 20000")
        else:
            (group / "cpu.cfs_period_us").write_text("20000")
            (group / "cpu.cfs_quota_us").write_text("2000")
        self.scenario.write_text(self.scenario.read_text().replace("[64, 128, 10]", "[256, 512, 512, 10]")
                                 .replace("steps: 6000", "steps: 120").replace("workers: [1, 2]", "workers: [2]"))
        run = self.start(*self.run_arguments())
        (group / "cgroup.procs").write_text(str(self.worker(1)))  # a tenth of a core
        code, messages, _ = self.finish(run, 180)
        self.assertIn(code, (0, 5), messages)  # 5: one world size is too little to predict from
        self.expect_nobody_left()
        self.expect_kept(n2="ok")
        begin = time.monotonic()
        report = self.ddpprof("report", self.database, "--report", "skew", "--format", "json")
        seconds = time.monotonic() - begin
        self.assertEqual(report.returncode, 0, report.stderr)
        tables = {table["name"]: table for table in json.loads(report.stdout)["tables"]}
        named = [row["rank"] for row in tables["stragglers"]["rows"]]
        self.assertEqual(named, [1], tables["stragglers"])
        self.row("a slow rank (a tenth of a core)", f"rank 1: {tables['stragglers']['rows'][0]['evidence']}", code, seconds,
                 "all; `ddpprof report --report skew` names it", r"rank 1.*")


if __name__ == "__main__":
    unittest.main()
