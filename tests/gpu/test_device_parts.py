"""Parts that judge kernels, without a device: jobs are recorded for real on the CPU, and get fake kernels, copies and
launches where a GPU would have had them. What is right passes; one kernel too few, too early or too long fails."""

import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from judge.overlap import FIELDS, device_time  # noqa: E402
from parts import gradient_order, many_kernels, odd_jobs, overlap, profiler, ranges  # noqa: E402
from suite import trace  # noqa: E402
from suite.figures import Failed  # noqa: E402
from suite.job import LimitReached  # noqa: E402
from suite.machine import Machine  # noqa: E402

os.environ["DDPPROF_SEALS"] = "ignore"  # Python writes the rows of fake kernels, without seals
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


class Device:
    """Fake kernels of one process: each begins after its launch, and those of a stream after each other."""

    def __init__(self, defect):
        self.defect, self.until_ns, self.rows, self.calls, self.copies = defect, {7: 0, 16: 0}, [], [], []

    def launch(self, name, at_ns, stream=7, after_ns=0, lasts_ns=1000):
        start_ns = max(self.until_ns[stream], at_ns + 2000, after_ns)
        if self.defect == "early" and stream == 16:
            start_ns = after_ns - 1
        if self.defect in ("1500 ns before", "2500 ns before"):
            start_ns = at_ns - int(self.defect.split()[0])
        if self.defect == "long":
            lasts_ns = lasts_ns * 102 // 100
        self.until_ns[stream] = start_ns + lasts_ns
        self.calls.append((len(self.calls) + 1, at_ns))
        self.rows.append((name, start_ns, start_ns + lasts_ns, len(self.calls), stream))

    def follow(self, process, known):
        """One step's kernels as the job's own ranges and marks lie."""
        buckets = known.get("buckets") or []
        for step in process.named("step "):
            inside = [one for one in process.ranges + process.marks if step.start_ns <= one.start_ns < step.end_ns]
            gone = set()
            for one in sorted(inside, key=lambda one: one.start_ns):
                if one.name == "forward":
                    self.launch("_Z4gemmPf", one.start_ns + 1, lasts_ns=900_000)
                    self.copies.append(("host_to_device", one.start_ns + 9, one.start_ns + 50_000, 4096))
                elif one.name == "backward" and not any(mark.name.startswith("gradient ") for mark in inside):
                    for index, _ in enumerate(buckets):
                        self.launch("gemm_gradient", one.start_ns + index)
                        self.launch(REDUCE, one.start_ns + index, 16, self.until_ns[7] - 400, 5000)
                elif one.name == "adds":
                    for index in range(known["adds"]):
                        self.launch("add", one.start_ns + 1 + index)
                elif one.name.startswith("gradient "):
                    self.launch("gemm_gradient", one.start_ns - 1)
                    gone.add(int(one.name.split()[1]))
                    for bucket in buckets:
                        if gone.issuperset(bucket) and int(one.name.split()[1]) in bucket:
                            self.launch(REDUCE, one.start_ns + 1, 16, self.until_ns[7], 5000)

    def store(self, database, shard):
        rows = self.rows[:-1] if self.defect == "missing" else self.rows
        if self.defect in ("zero", "a day late"):
            moved_ns = -rows[-1][1] if self.defect == "zero" else 86_400_000_000_000
            rows = [*rows[:-1], (rows[-1][0], rows[-1][1] + moved_ns, rows[-1][2] + moved_ns, *rows[-1][3:])]
        connection = sqlite3.connect(database)
        for name in {row[0] for row in rows}:
            connection.execute("INSERT OR IGNORE INTO string (value) VALUES (?)", (name,))
        connection.executemany(
            "INSERT INTO kernel SELECT ?, (SELECT id FROM string WHERE value = ?), 0, ?, ?, ?, ?, 1, 1, 1, 0",
            [(shard, name, stream, correlation, start, end) for name, start, end, correlation, stream in rows])
        if self.defect == "incomplete":
            connection.execute("INSERT INTO diagnostic (severity, code, count, message, advice) "
                               "VALUES ('warning', 'cupti_incomplete', 1, 'fake', '')")
        connection.executemany("INSERT INTO api_call VALUES (?, 'runtime', 211, 1, ?, ?, ?, NULL)",
                               [(shard, correlation, at, at + 500) for correlation, at in self.calls])
        connection.executemany("INSERT INTO memcpy VALUES (?, ?, 0, 7, 0, ?, ?, ?)",
                               [(shard, *copy) for copy in self.copies])
        connection.commit()
        connection.close()


class FakeGpu(Machine):
    """A machine whose jobs run on the CPU, and whose databases get what a device would have added."""

    def __init__(self, defect=None, cupti=None):
        super().__init__("cpu", True, time.monotonic() + 300)
        self.cuda, self.defect, self.cupti, self.sources = True, defect, cupti, []

    def on_cpu(self, command):
        out, skip = [], False
        for word, following in zip(map(str, command), [*map(str, command[1:]), ""]):
            if skip or word in ("--one-gpu", "--average"):
                skip = False
            elif word in ("--width", "--batch"):
                out, skip = [*out, word, "64"], True
            elif word == "--profile":
                self.profile, skip = following, True
            else:
                out.append({"cuda": "cpu", "nccl": "gloo"}.get(word, word))
        # A step with fake kernels is longer than a step on the CPU. The pauses keep the kernels in the job's lifetime.
        return [*out, "--pause-s", "0.002"] if any(word.endswith("step.py") for word in out) else out

    def run(self, command, limit_s=None, **more):
        self.profile = None
        done = super().run(self.on_cpu(command), limit_s, **more)
        if self.profile:  # what torch.profiler would have seen: the kernels of the timed steps
            steps = 10 * [("gemm(float*)", 900_000), *[("add", 1000)] * 7]
            events = [{"cat": "kernel", "name": name, "dur": ns / 1000} for name, ns in steps]
            events.append({"cat": "cpu_op", "name": "mm"})
            pathlib.Path(self.profile).write_text(json.dumps({"traceEvents": events}))
        return done

    def record(self, database, job, *options, **more):
        if any(str(word).endswith("odd.py") for word in job):
            return self.odd(database, job, **more)
        self.sources.append((more.get("environment") or {}).get("DDPPROF_CUPTI_TIMESTAMPS"))
        if self.defect == "second pair" and len(self.sources) == 2:
            raise RuntimeError("no device")
        if self.defect == "callback hangs" and self.sources[-1] == "callback":
            raise LimitReached("ddpprof record had not ended after 50 s")
        done = super().record(database, job, *options, **more)
        words = list(map(str, job))
        written = pathlib.Path(words[-1] if "many.py" in str(job) else words[words.index("--told") + 1])
        for process in trace.processes(database):
            name = written if process.rank <= 0 else written.with_name(f"{written.stem}-rank{process.rank}.json")
            known, device = json.loads(name.read_text()), Device(self.defect)
            if self.defect == "callback breaks" and self.sources[-1] == "callback":
                name.write_text(json.dumps({key: value for key, value in known.items() if key != "lifetime_ns"}))
            if "count" in known:
                begin_ns = process.named("many")[0].start_ns
                for index in range(known["count"]):
                    device.launch("add", begin_ns + 1 + index)
            else:
                device.follow(process, known)
            device.store(database, process.shard)
        self.store_clock(database)
        self.summarise(database)
        return done

    def store_clock(self, database):
        if self.cupti is None:
            return
        connection = sqlite3.connect(database)
        connection.execute("INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('info', "
                           "'cupti_timestamps', 1, ?, '')",
                           (f"clock of the GPU's times: {self.sources[-1]}; CUPTI 13.0 (API {self.cupti}), driver up "
                            "to CUDA 13.0",))
        connection.commit()
        connection.close()

    def summarise(self, database):
        """device_time as the import would have made it; `defect` "overlap" makes one column wrong."""
        for process in trace.processes(database):
            connection = sqlite3.connect(database)
            whole = trace.Range("all", min(one.start_ns for one in process.kernels),
                                max(one.end_ns for one in process.kernels), 0, None)
            for step in [whole, *process.named("step ")]:
                found = device_time(process.kernels, process.copies, step.start_ns, step.end_ns)
                found["overlapped_ns"] += self.defect == "overlap"
                connection.execute(f"INSERT INTO device_time (shard_id, name, start_ns, span_ns, {', '.join(FIELDS)}) "
                                   f"VALUES ({', '.join('?' * (4 + len(FIELDS)))})",
                                   (process.shard, step.name, step.start_ns, step.end_ns - step.start_ns,
                                    *(found[field] for field in FIELDS)))
            connection.commit()
            connection.close()

    def odd(self, database, job, **more):
        script = ("import json, sys, time\nfrom torch.cuda import nvtx\n"
                  "with nvtx.range('graph'): time.sleep(0.01)\nwith nvtx.range('second context'): pass\n"
                  "json.dump({'added': 15, 'expected': 15, 'context_codes': [0] * 8, 'bytes': 77}, "
                  "open(sys.argv[1], 'w'))" + ("\nsys.exit(6)" if self.defect == "exit code" else ""))
        done = super().record(database, [sys.executable, "-c", script, job[-1]], **more)
        (process,) = trace.processes(database)
        device = Device(self.defect)
        for _ in range(15):
            device.launch("add", process.named("graph")[0].start_ns)
        device.copies.append(("memset", 1, 2, 77))
        device.store(database, process.shard)
        return done


@unittest.skipUnless(os.environ.get("DDPPROF_PROGRAM"), "needs DDPPROF_PROGRAM")
class DeviceParts(unittest.TestCase):
    def failed(self, function, defect=None, sources=ranges.SOURCES, cupti=None):
        """Names of the figures that failed."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(ranges, "SOURCES", sources):
            found = list(function(FakeGpu(defect, cupti), pathlib.Path(folder)))
        self.assertTrue(any(one.passed is not None for one in found))
        return [one.name for one in found if one.passed is False]

    def test_ranges(self):
        failed = self.failed(ranges.measure, "missing")
        for source in ranges.SOURCES:
            self.assertIn(f"{source}: kernels in each range of adds", failed)

    def test_ranges_are_recorded_with_both_sources_of_timestamps(self):
        machine = FakeGpu()
        with tempfile.TemporaryDirectory() as folder:
            figures = list(ranges.measure(machine, pathlib.Path(folder)))
        self.assertEqual(machine.sources, ["callback", "paired"])
        for source in machine.sources:
            values = {one.name: one.value for one in figures if one.name.startswith(source)}
            self.assertNotIn(False, [one.passed for one in figures])
            self.assertEqual(values[f"{source}: kernels that start at zero or outside of the job's lifetime"], 0)
            self.assertEqual(values[f"{source}: records left out"], 0)
            self.assertGreaterEqual(values[f"{source}: smallest gap, kernel start - launch start"], 2000)

    def test_a_kernel_may_begin_two_microseconds_before_its_launch(self):
        self.assertEqual(self.failed(ranges.measure, "1500 ns before", ("paired",)), [])
        failed = self.failed(ranges.measure, "2500 ns before", ("paired",))
        self.assertIn("paired: smallest gap, kernel start - launch start", failed)
        self.assertIn("paired: smallest gap, kernel start - range start", failed)

    def test_kernels_outside_of_the_job_s_lifetime(self):
        for defect in ("zero", "a day late"):
            self.assertIn("paired: kernels that start at zero or outside of the job's lifetime",
                          self.failed(ranges.measure, defect, ("paired",)))

    def test_a_zero_time_is_a_known_defect_of_an_older_cupti_with_the_callback_only(self):
        zero = "kernels that start at zero or outside of the job's lifetime"
        self.assertIn(f"callback: {zero}", self.failed(ranges.measure, "zero", ("callback",), 130_100))
        with tempfile.TemporaryDirectory() as folder:
            figures = {one.name: one for one in ranges.measure(FakeGpu("zero", 130_001), pathlib.Path(folder))}
        failed = [name for name, one in figures.items() if one.passed is False]
        self.assertIn(f"paired: {zero}", failed)
        self.assertEqual([name for name in failed if name.startswith("callback")], [])
        self.assertEqual((figures[f"callback: {zero}"].value, figures[f"callback: {zero}"].goal), (1, ""))
        self.assertIn("known defect", figures[f"callback: {zero}"].note)
        self.assertTrue(figures["callback: step ranges"].passed, "the host's figures keep their goals")

    def test_a_failure_with_one_source_leaves_the_figures_of_the_other(self):
        for defect, text in (("callback hangs", "^callback: LimitReached: .*not ended"),
                             ("callback breaks", "^callback: KeyError: 'lifetime_ns' .*ranges.py:")):
            figures = []
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Failed, text):
                for one in ranges.measure(FakeGpu(defect), pathlib.Path(folder)):
                    figures.append(one)
            self.assertEqual([one.name for one in figures if one.passed is False], [])
            self.assertIn("paired: kernels recorded", [one.name for one in figures])

    def test_records_that_cupti_left_out(self):
        self.assertEqual(self.failed(ranges.measure, "incomplete", ("paired",)), ["paired: records left out"])
        self.assertEqual(self.failed(profiler.measure, "incomplete"), ["records left out"])

    def test_a_pair_that_fails_leaves_the_figures_of_the_pairs_before_it(self):
        machine, figures = FakeGpu("second pair"), []
        machine.small = False
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(RuntimeError, "no device"):
            for one in profiler.measure(machine, pathlib.Path(folder)):
                figures.append(one)
        self.assertIn("names whose counts differ", [one.name for one in figures])

    def test_profiler(self):
        self.assertEqual(self.failed(profiler.measure), [])
        self.assertIn("names whose counts differ", self.failed(profiler.measure, "missing"))
        self.assertEqual(self.failed(profiler.measure, "long"),
                         ["total kernel time, ours over torch.profiler's, median"])

    def test_gradient_order(self):
        self.assertEqual(self.failed(gradient_order.measure), [])
        self.assertEqual(self.failed(gradient_order.measure, "early"),
                         ["one rank: all-reduces before their gradient",
                          "rank 0 of two: all-reduces before their gradient",
                          "rank 1 of two: all-reduces before their gradient"])

    def test_overlap(self):
        self.assertEqual(self.failed(overlap.measure), [])
        self.assertIn("one: columns that differ", self.failed(overlap.measure, "overlap"))

    def test_many_kernels(self):
        self.assertEqual(self.failed(many_kernels.measure), [])
        self.assertIn("neither recorded nor counted as lost", self.failed(many_kernels.measure, "missing"))

    def test_odd_jobs(self):
        self.assertEqual(self.failed(odd_jobs.graphs_and_contexts), [])
        self.assertEqual(self.failed(odd_jobs.graphs_and_contexts, "missing"), ["graph: kernels of its replays"])
        self.assertEqual(self.failed(odd_jobs.graphs_and_contexts, "exit code"),
                         ["graph and second context: exit code"])


if __name__ == "__main__":
    unittest.main()
