"""The suite's judges: what is right passes, what is wrong in one place fails."""

import gzip
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from judge import order, overlap, totals  # noqa: E402
from judge.launches import launched_in, outside  # noqa: E402
from judge.pairs import median_interval  # noqa: E402
from parts import batch_fit, gpt, many_kernels, nccl_simulation, one_rank, profiler  # noqa: E402
from parts import step_end, tracing_cost  # noqa: E402
from parts.overlap import differences  # noqa: E402
from suite.figures import figure, nothing_in  # noqa: E402
from suite.trace import Call, Copy, Kernel, Process, Range, processes, rows  # noqa: E402

PROGRAM = os.environ.get("DDPPROF_PROGRAM")
DATA = pathlib.Path(os.environ.get("DDPPROF_DATA_DIR", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"))


def passed(figures):
    return all(one.passed is not False for one in figures)


def kernel(start_ns, end_ns, correlation, name="gemm"):
    return Kernel(name, start_ns, end_ns, correlation, 7)


class Figures(unittest.TestCase):
    def test_goals(self):
        self.assertTrue(figure("a", 3, at_least=3, at_most=3).passed)
        self.assertFalse(figure("a", 3.01, at_most=3).passed)
        self.assertFalse(figure("a", None, at_most=3).passed, "what was not found meets no goal")
        self.assertIsNone(figure("a", 3).passed)
        self.assertTrue(nothing_in("a", []).passed)
        self.assertFalse(nothing_in("a", ["b"]).passed)


class Launches(unittest.TestCase):
    RANGES = [Range("one", 100, 200, 1, None), Range("two", 200, 300, 1, None)]
    CALLS = [Call(1, 110, 1), Call(2, 150, 2), Call(3, 210, 1)]
    KERNELS = [kernel(120, 180, 1), kernel(400, 500, 2), kernel(500, 510, 3)]

    def test_kernels_belong_where_they_were_launched(self):
        found = launched_in(self.RANGES, self.KERNELS, self.CALLS)
        self.assertEqual(found.counts, [2, 1], "one ran long after its range, and was launched on another thread")
        self.assertEqual(found.without_call, [])

    def test_a_missing_kernel_shows(self):
        self.assertEqual(launched_in(self.RANGES, self.KERNELS[1:], self.CALLS).counts, [1, 1])

    def test_a_kernel_before_its_range_or_its_launch_has_a_negative_gap(self):
        found = launched_in(self.RANGES, [kernel(90, 95, 1)], self.CALLS)
        self.assertEqual((found.call_gap_ns, found.range_gap_ns), (-20, -10))
        found = launched_in(self.RANGES, [kernel(105, 130, 1)], self.CALLS)
        self.assertEqual((found.call_gap_ns, found.range_gap_ns), (-5, 5))

    def test_the_smallest_gaps(self):
        found = launched_in(self.RANGES, self.KERNELS, self.CALLS)
        self.assertEqual((found.call_gap_ns, found.range_gap_ns), (120 - 110, 120 - 100))
        nothing = launched_in(self.RANGES, [], [])
        self.assertEqual((nothing.call_gap_ns, nothing.range_gap_ns), (None, None))

    def test_a_start_of_zero_or_outside_of_the_lifetime_shows(self):
        wrong = [kernel(0, 95, 1), kernel(49, 60, 1), kernel(501, 502, 3)]
        self.assertEqual(outside([*wrong, kernel(50, 60, 1), kernel(500, 510, 1)], (50, 500)), wrong)
        self.assertEqual(outside([kernel(0, 5, 1)], (-10, 500)), [kernel(0, 5, 1)])

    def test_a_kernel_without_a_launch_shows(self):
        lost = kernel(120, 130, 9)
        self.assertEqual(launched_in(self.RANGES, [lost], self.CALLS).without_call, [lost])


class Totals(unittest.TestCase):
    EVENTS = [("_Z4gemmPf", 1000), ("add", 10), ("add", 30)]

    def judged(self, theirs):
        return profiler.judged([totals.compare(totals.totals(self.EVENTS), totals.totals(theirs))])

    def test_names_are_compared_as_people_read_them(self):
        self.assertTrue(passed(self.judged([("gemm(float*)", 1005), ("add", 20), ("add", 20)])))

    def test_one_kernel_missing_fails(self):
        self.assertFalse(passed(self.judged([("gemm(float*)", 1005), ("add", 40)])))

    def test_as_many_of_other_names_fail(self):
        self.assertFalse(passed(self.judged([("gemm(float*)", 1005), ("add", 20), ("sub", 20)])))

    def test_two_percent_fail_either_way(self):
        self.assertFalse(passed(self.judged([("gemm(float*)", 1021), ("add", 20), ("add", 20)])))
        self.assertFalse(passed(self.judged([("gemm(float*)", 979), ("add", 20), ("add", 20)])))

    def test_nothing_recorded_fails(self):
        self.assertFalse(passed(profiler.judged([totals.compare({}, totals.totals(self.EVENTS))])))
        self.assertFalse(passed(profiler.judged([totals.compare(totals.totals(self.EVENTS), {})])))


class ThreeSources(unittest.TestCase):
    """The worker, recorded Python and an imported trace: 100 us of kernels in two steps."""

    KERNELS = [("_Z4gemmPf", 80_000), ("add", 10_000), ("add", 10_000)]
    STEPS_NS = [1_000_000, 1_000_000]

    def failed(self, **changed):
        one = {side: (self.STEPS_NS, changed.get(side, self.KERNELS)) for side in ("worker", "recorded", "imported")}
        return [found.name for found in [*gpt.step_times([one], 2), *gpt.kernel_times([one])] if found.passed is False]

    def test_equal_kernels_pass_and_one_percent_is_tolerated(self):
        self.assertEqual(self.failed(), [])
        self.assertEqual(self.failed(worker=[("gemm(float*)", 80_900), *self.KERNELS[1:]]), [])

    def test_two_percent_more_or_less_fails_and_names_the_source(self):
        for ns in (78_000, 82_000):
            self.assertEqual(self.failed(worker=[("_Z4gemmPf", ns), *self.KERNELS[1:]]),
                             ["total kernel time, worker over recorded, median of rounds",
                              "total kernel time, worker over imported, median of rounds"])
            self.assertEqual(self.failed(imported=[("_Z4gemmPf", ns), *self.KERNELS[1:]]),
                             ["total kernel time, imported over recorded, median of rounds",
                              "total kernel time, worker over imported, median of rounds"])

    def test_python_s_two_recordings_have_the_same_kernels(self):
        split = [("_Z4gemmPf", 80_000), ("add", 20_000)]
        self.assertEqual(self.failed(imported=split), ["names whose counts differ, imported and recorded"])
        self.assertEqual(self.failed(worker=split), [], "the total time decides")

    def test_nothing_recorded_fails(self):
        for side in ("worker", "recorded", "imported"):
            self.assertTrue(any("total kernel time" in name for name in self.failed(**{side: []})), side)

    def test_the_ratio_of_step_times_is_worker_over_python(self):
        runs = {"worker": ([2e6, 2e6], []), "recorded": ([1e6, 1e6], []), "imported": ([1e6, 1e6], [])}
        figures = {one.name: one for one in gpt.step_times([runs], 2)}
        ratio = figures["step time, worker over Python DDP, median of rounds"]
        self.assertEqual((ratio.value, ratio.passed), (2.0, None))
        self.assertFalse(passed(gpt.step_times([runs], 3)))

    def test_kernels_of_the_warm_up_do_not_count(self):
        steps = [Range(f"step {i}", 100 * i, 100 * i + 90, 1, None) for i in range(4)]
        calls = [Call(i, 100 * i + 5, 1) for i in range(4)]
        process = Process(1, 0, [kernel(100 * i + 10, 100 * i + 10 + i, i) for i in range(4)], [], calls, steps, [])
        self.assertEqual(gpt.in_steps(process, 1, 3), [("gemm", 1), ("gemm", 2), ("gemm", 3)])
        with self.assertRaisesRegex(ValueError, "3 steps were recorded, expected 2"):
            gpt.in_steps(process, 1, 2)


class StepEnd(unittest.TestCase):
    def database(self, loss, diagnostic, steps=4):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        path = pathlib.Path(temporary.name) / "job.db"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE step (step INTEGER, kind TEXT, duration_ns INTEGER, loss REAL)")
        connection.execute("CREATE TABLE diagnostic (code TEXT, count INTEGER)")
        connection.execute("INSERT INTO step VALUES (0, 'warmup', 9e9, 0.5)")
        connection.executemany("INSERT INTO step VALUES (?, 'measured', ?, ?)",
                               [(1 + i, 1e6 if i < steps // 2 else 3e6, loss) for i in range(steps)])
        connection.execute("INSERT INTO diagnostic VALUES (?, 1)", (diagnostic,))
        connection.commit()
        connection.close()
        return path

    def test_the_second_half_counts_and_what_is_reported_is_judged(self):
        waits, does_not = self.database(0.5, "other"), self.database(None, "steps_do_not_wait")
        figures = list(step_end.judged("step", {"every_step": (waits, 4), "never": (does_not, 4)}, cuda=True))
        self.assertTrue(passed(figures))
        values = {one.name: one.value for one in figures}
        self.assertEqual(values["step, never: step, median of the second half"], 3.0)
        self.assertEqual(values["step: every_step over never"], 1.0)

    def test_a_setting_without_effect_fails(self):
        waits, does_not = self.database(0.5, "other"), self.database(None, "steps_do_not_wait")
        for every, never in ((waits, waits), (does_not, does_not)):
            failed = [one.name for one in step_end.judged("step", {"every_step": (every, 4), "never": (never, 4)}, True)
                      if one.passed is False]
            self.assertEqual(len(failed), 2, failed)
        self.assertFalse(passed(step_end.judged("step", {"every_step": (waits, 5), "never": (does_not, 4)}, True)))


class Order(unittest.TestCase):
    """Two buckets of two gradients; the compute stream's kernels 1 to 4, the all-reduces 11 and 12."""

    STEPS = [Range("step 0", 0, 100, 1, None)]
    BUCKETS = [[3, 2], [1, 0]]
    MARKS = [(3, 12), (2, 22), (1, 32), (0, 42)]
    CALLS = [Call(1, 10, 1), Call(2, 20, 1), Call(11, 25, 1), Call(3, 30, 1), Call(4, 40, 1), Call(12, 45, 1)]
    COMPUTE = [kernel(50, 60, 1), kernel(60, 70, 2), kernel(70, 80, 3), kernel(80, 90, 4)]

    def check(self, first_ns, second_ns, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", compute=None):
        reduces = [kernel(first_ns, first_ns + 5, 11, name), kernel(second_ns, second_ns + 5, 12, name)]
        return order.check(self.STEPS, self.BUCKETS, self.MARKS, (compute or self.COMPUTE) + reduces, self.CALLS)

    def test_in_order(self):
        for name in ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_Z13oneRankReduceI13FuncPreMulSumIfEEvPvS2_m"):
            self.assertEqual(self.check(70, 90, name), order.Order(2, [], []))

    def test_an_all_reduce_before_its_gradient_fails(self):
        self.assertEqual(self.check(69, 90).early, [(0, 0, 1)])
        self.assertEqual(self.check(70, 85).early, [(0, 1, 5)])

    def test_what_is_missing_is_said_and_not_judged(self):
        self.assertEqual(order.check(self.STEPS, self.BUCKETS, self.MARKS, self.COMPUTE, self.CALLS).missing,
                         [(0, None, "0 all-reduces for 2 buckets")])
        without_mark = order.check(self.STEPS, self.BUCKETS, self.MARKS[1:], self.COMPUTE + [
            kernel(70, 75, 11, "ncclX"), kernel(90, 95, 12, "ncclX")], self.CALLS)
        self.assertEqual((without_mark.pairs, without_mark.missing), (1, [(0, 0, "a gradient's mark")]))


class Overlap(unittest.TestCase):
    # By hand: compute [0, 10) and [5, 20), communication [15, 30), a copy [28, 40), a window [2, 35).
    KERNELS = [kernel(0, 10, 1), kernel(5, 20, 2), kernel(15, 30, 3, "ncclDevKernel_AllReduce")]
    COPIES = [Copy("host_to_device", 28, 40, 4)]

    def test_by_hand(self):
        found = overlap.device_time(self.KERNELS, self.COPIES, 2, 35)
        self.assertEqual([found[name] for name in overlap.FIELDS], [18, 15, 7, 5, 33, 1, 1, 1])

    def test_unions_and_intersections(self):
        self.assertEqual(overlap.union([(5, 9), (1, 2), (8, 12), (3, 3)]), [[1, 2], [5, 12]])
        self.assertEqual(overlap.intersection([[0, 5], [7, 9]], [[4, 8]]), [[4, 5], [7, 8]])


@unittest.skipUnless(PROGRAM and (DATA / "traces").is_dir(), "needs DDPPROF_PROGRAM and the measured traces")
class MeasuredTraces(unittest.TestCase):
    """Traces of real GPUs: the judges agree with the import, and notice one changed number."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.database = pathlib.Path(self.temporary.name) / "trace.db"

    def imported(self, name):
        subprocess.run([PROGRAM, "import", DATA / "traces" / name, "--out", self.database], check=True, timeout=120,
                       capture_output=True)

    def change(self, sql):
        connection = sqlite3.connect(self.database)
        connection.execute(sql)
        connection.commit()
        connection.close()

    def test_device_time(self):
        for name in ("a100_ddp_rank0of2.json.gz", "two_gpus_nsys.sqlite"):
            with self.subTest(name):
                self.database.unlink(missing_ok=True)
                self.imported(name)
                compared, wrong = differences(self.database)
                self.assertGreaterEqual(compared, 2)
                self.assertEqual(wrong, [])
                worked, overlapped = rows(
                    self.database, "SELECT sum(compute_ns), sum(overlapped_ns) FROM device_time")[0]
                self.assertGreater(worked, 0)
                if name.startswith("a100"):  # in the other one nothing overlaps
                    self.assertGreater(overlapped, 0)
                self.change("UPDATE device_time SET overlapped_ns = overlapped_ns + 1 WHERE name = 'all'")
                self.assertNotEqual(differences(self.database)[1], [])

    def test_kernels_beside_the_profiler_s_file(self):
        name = "a100_ddp_rank0of2.json.gz"
        self.imported(name)
        plain = pathlib.Path(self.temporary.name) / "trace.json"
        plain.write_bytes(gzip.decompress((DATA / "traces" / name).read_bytes()))
        theirs = totals.totals(profiler.chrome_kernels(plain))

        def judged():
            ours = rows(self.database, "SELECT n.value, k.end_ns - k.start_ns FROM kernel k "
                        "JOIN string n ON n.id = k.name_id")
            return passed(profiler.judged([totals.compare(totals.totals(ours), theirs)]))

        self.assertTrue(judged())
        (process,) = processes(self.database)
        self.assertEqual(totals.totals(gpt.of_imported(process)), theirs)
        self.change("UPDATE kernel SET end_ns = start_ns + (end_ns - start_ns) * 102 / 100")
        self.assertFalse(judged())
        self.database.unlink()
        self.imported(name)
        self.change("DELETE FROM kernel WHERE rowid = (SELECT min(rowid) FROM kernel)")
        self.assertFalse(judged())


class Pairs(unittest.TestCase):
    def test_interval(self):
        # The extremes of six values cover 1 - 2/64; the 6th and 15th of 20 cover 95.9 % (tables of the binomial).
        self.assertEqual(median_interval([3, 1, 2, 6, 5, 4]), (1, 3.5, 6, 0.96875))
        low, median, high, covers = median_interval(range(1, 21))
        self.assertEqual((low, median, high), (6, 10.5, 15))
        self.assertAlmostEqual(covers, 0.9586, places=4)
        with self.assertRaises(ValueError):
            median_interval([])

    def test_cost(self):
        self.assertTrue(passed(tracing_cost.judged([(1.01, 1), (1.03, 1), (1.0, 1)], judge=True)))
        self.assertFalse(passed(tracing_cost.judged([(1.03, 1), (1.021, 1), (1.0, 1)], judge=True)))
        self.assertTrue(passed(tracing_cost.judged([(1.5, 1)], judge=False)))

    def test_fewer_than_three_pairs_fail_on_a_device(self):
        self.assertEqual([one.name for one in tracing_cost.judged([(1, 1), (1, 1)], judge=True)
                          if one.passed is False], ["pairs"])
        self.assertTrue(passed(tracing_cost.judged([(1, 1)] * 3, judge=True)))

    def figures_of(self, left_s, *runs):
        """Figures of tracing_cost, and the exception at its end. `runs` are pairs of runs, or exceptions."""
        machine = types.SimpleNamespace(device="cuda", cuda=True, small=False, left_s=lambda: left_s)
        process = types.SimpleNamespace(kernels=[], copies=[], calls=[], ranges=[], named=lambda name: [0] * 170)
        figures = {}
        with mock.patch.object(tracing_cost, "pair_of_runs", side_effect=runs), mock.patch.object(
                tracing_cost.trace, "processes", return_value=[process]):
            try:
                for one in tracing_cost.measure(machine, pathlib.Path()):
                    figures[one.name] = one
            except RuntimeError as error:
                return figures, str(error)
        return figures, None

    def test_a_pair_that_fails_leaves_the_figures_of_the_pairs_before_it(self):
        run = {True: [101, 101], False: [100, 100]}
        figures, error = self.figures_of(100, run, run, RuntimeError("no device"))
        self.assertEqual((figures["pairs"].value, figures["pairs"].passed, error), (2, False, "no device"))
        self.assertEqual(figures["steps that were recorded"].value, 170)
        self.assertEqual(self.figures_of(100, RuntimeError("no device")), ({}, "no device"))

    def test_no_further_pair_without_time(self):
        run = {True: [101, 101], False: [100, 100]}
        figures, error = self.figures_of(-1, *[run] * 6)
        self.assertEqual((figures["pairs"].value, error), (1, None))
        self.assertEqual(self.figures_of(100, *[run] * 6)[0]["pairs"].value, 6)

    def test_the_lower_end_of_the_interval_has_no_goal(self):
        self.assertIsNone(tracing_cost.judged([(1.5, 1)] * 3, judge=True)[1].passed)

    def test_percentiles_have_no_goal(self):
        self.assertEqual(tracing_cost.percentile_95(range(101)), 95)
        figures = tracing_cost.tails([(3e6, 2e6), (3e6, 1e6), (9e6, 2e6)])
        self.assertEqual([(one.value, one.passed) for one in figures], [(3.0, None), (3.0, None), (2.0, None)])


class OtherParts(unittest.TestCase):
    def test_losses_have_to_be_counted(self):
        self.assertTrue(passed(many_kernels.judged(1000, 1000, {})))
        self.assertTrue(passed(many_kernels.judged(1000, 990, {"cupti_dropped": 10})))
        self.assertFalse(passed(many_kernels.judged(1000, 999, {})))
        self.assertFalse(passed(many_kernels.judged(1000, 1001, {})))
        self.assertFalse(passed(many_kernels.judged(1000, 980, {"cupti_dropped": 10, "unbalanced_ranges": 10})))

    def test_batch(self):
        self.assertTrue(batch_fit.judged(1.04, 1.0, 5).passed)
        self.assertFalse(batch_fit.judged(1.06, 1.0, 5).passed)
        self.assertFalse(batch_fit.judged(0.94, 1.0, 5).passed)
        text = ("table,strategy,step_s\npredictions,ddp,0.1\n\n"
                "table,strategy,changed_step_s,changed_step_low_s,changed_step_high_s\nwhat_if,ddp,0.2,0.15,0.25\n")
        self.assertEqual(batch_fit.predicted_step(text), (0.2, 0.15, 0.25))
        with self.assertRaises(RuntimeError):
            batch_fit.predicted_step("table,strategy,step_s\npredictions,ddp,0.1\n")

    def test_estimates(self):
        self.assertEqual(nccl_simulation.median_error([(1.1, 1.0), (0.8, 1.0), (2.0, 1.0)]), 0.2)
        self.assertIsNone(nccl_simulation.median_error([(-1.0, 1.0)]), "NCCL's word for none")

    def test_the_fit_of_two_processes_on_one_device_has_no_goal(self):
        self.assertIsNone(nccl_simulation.judged(("line", 9, 0.6), cuda=True).passed)
        self.assertIsNone(nccl_simulation.judged(None, cuda=True).passed)
        self.assertTrue(nccl_simulation.judged(("line", 9, 0.6), cuda=False).passed)
        self.assertFalse(nccl_simulation.judged(None, cuda=False).passed)

    def test_bytes_of_nccl_s_calls(self):
        process = type("Process", (), {})()
        step = [Range(f"step {i}", 100 * i, 100 * i + 90, 1, None) for i in range(4)]
        message = {"NCCL communicator ID": 77, "Message size [bytes]": 40, "Reduction operation": "Sum"}
        process.named = lambda name: step
        process.ranges = [Range("ncclCommInitRankConfig", 1, 2, 1, None)] + [
            Range("ncclAllReduce", 100 * i + at, 100 * i + at + 2, 1, message) for i in range(4) for at in (10, 20)]
        self.assertTrue(passed(one_rank.nccl_figures(process, {"gradient_bytes": 80})))
        self.assertFalse(passed(one_rank.nccl_figures(process, {"gradient_bytes": 120})))
        process.ranges.pop()
        self.assertFalse(passed(one_rank.nccl_figures(process, {"gradient_bytes": 80})))


if __name__ == "__main__":
    unittest.main()
