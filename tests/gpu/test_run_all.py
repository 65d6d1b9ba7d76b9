"""The suite itself: lists, limits, failures, exit codes, the form of its results. Needs no torch and no GPU."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suite import limits, parts, report, run_parts  # noqa: E402
from suite.figures import Skip, figure  # noqa: E402
from suite.job import LimitReached  # noqa: E402


class Commands(unittest.TestCase):
    def run_all(self, *arguments):
        return subprocess.run([sys.executable, "-B", HERE / "run-all", *arguments], capture_output=True, text=True,
                              timeout=60)

    def test_a_part_that_is_none(self):
        done = self.run_all("--only", "ranges,rnages")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no part rnages", done.stderr)
        self.assertIn("tracing_cost", done.stderr)

    def test_a_list_that_is_none(self):
        self.assertEqual(self.run_all("--list", "0").returncode, 2)
        self.assertEqual(self.run_all("--list", str(len(parts.LISTS) + 1)).returncode, 2)
        self.assertEqual(self.run_all("--list", "1", "--only", "ranges").returncode, 2)

    def test_every_part_has_a_title_and_a_limit_and_the_sum_of_files_is_the_order(self):
        files = {path.stem for path in (HERE / "parts").glob("*.py")} - {"__init__"}
        self.assertEqual(files, set(parts.ORDER))
        for name in parts.ORDER:
            part = parts.load(name)
            self.assertTrue(part.TITLE)
            self.assertTrue(0 < part.LIMIT_S <= 300)


class Lists(unittest.TestCase):
    def test_every_part_is_in_one_list(self):
        self.assertEqual(len(parts.ORDER), len(set(parts.ORDER)))

    def test_the_limits_of_a_list_fit_into_one_command(self):
        for number in range(1, len(parts.LISTS) + 1):
            total_s = limits.STARTUP_S + sum(parts.load(name).LIMIT_S for name in parts.of_list(number))
            self.assertLessEqual(total_s, limits.LIST_S, f"list {number}")

    def test_the_checks_of_the_start_up_have_time_after_torch_hangs(self):
        left_s = (limits.STARTUP_S - limits.RESERVE_S - run_parts.VERSIONS_S - limits.EVIDENCE_S - limits.END_S)
        self.assertGreaterEqual(left_s, run_parts.PROGRAM_S)

    def test_a_part_has_time_for_a_job_and_both_sources_of_timestamps_have_time(self):
        for name in parts.ORDER:
            self.assertGreater(parts.load(name).LIMIT_S, limits.LEAST_S)
        ranges = parts.load("ranges")
        left_s = ranges.LIMIT_S - limits.RESERVE_S - ranges.ONE_S - limits.EVIDENCE_S - limits.END_S
        self.assertGreaterEqual(left_s, 30)

    def test_the_parts_that_start_the_worker_say_so(self):
        for name in parts.ORDER:
            text = (HERE / "parts" / f"{name}.py").read_text()
            starts = "start(machine" in text
            self.assertEqual(parts.needs_worker(name), starts, name)


class Parts(unittest.TestCase):
    def measure(self, function):
        sys.modules["parts.fake"] = types.SimpleNamespace(TITLE="fake", LIMIT_S=1, measure=function)
        self.addCleanup(sys.modules.pop, "parts.fake", None)
        self.saved = []
        return parts.measure("fake", None, None, lambda found: self.saved.append(
            (found["status"], [one["name"] for one in found["figures"]])))

    def test_figures_decide(self):
        good, bad, without_goal = figure("a", 1, equals=1), figure("b", 1, equals=2), figure("c", 1)
        self.assertEqual(self.measure(lambda *_: [good, without_goal])["status"], "passed")
        self.assertEqual(self.measure(lambda *_: [good, bad, without_goal])["status"], "failed")

    def test_an_exception_fails_the_part_with_all_its_frames_and_keeps_the_figures_before_it(self):
        def broken(*_):
            yield figure("a", 1, equals=1)
            raise_error()

        def raise_error():
            raise RuntimeError("worker is gone")

        found = self.measure(broken)
        self.assertEqual((found["status"], [one["name"] for one in found["figures"]]), ("failed", ["a"]))
        self.assertRegex(found["message"], r"^RuntimeError: worker is gone "
                         r"\(parts.py:\d+, test_run_all.py:\d+, test_run_all.py:\d+\)$")

    def test_the_result_so_far_is_failed_until_the_part_has_ended(self):
        self.measure(lambda *_: [figure("a", 1, equals=1), figure("b", 1)])
        self.assertEqual(self.saved, [("failed", ["a"]), ("failed", ["a", "b"]), ("passed", ["a", "b"])])

    def test_a_measurement_that_fails_does_not_prevent_the_next(self):
        def fails():
            yield figure("a", 1)
            raise ZeroDivisionError("0 steps")

        def hangs():
            raise LimitReached("record had not ended")

        found = self.measure(lambda *_: parts.each([("callback", fails), ("third", hangs),
                                                    ("paired", lambda: [figure("b", 1)])]))
        self.assertEqual((found["status"], [one["name"] for one in found["figures"]]), ("failed", ["a", "b"]))
        first, second = found["message"].splitlines()
        self.assertRegex(first, r"^callback: ZeroDivisionError: 0 steps \(parts.py:\d+, test_run_all.py:\d+\)$")
        self.assertRegex(second, r"^third: LimitReached: record had not ended \(")

    def test_skipped(self):
        def skips(*_):
            raise Skip("no such device")
        self.assertEqual(self.measure(skips)["status"], "skipped")


class Results(unittest.TestCase):
    PARTS = [{"name": "a", "title": "A", "status": "passed", "seconds": 1.25, "message": "",
              "figures": [figure("ratio", 1.003, at_most=1.02, note="6 | pairs").as_json()]},
             {"name": "b", "title": "B", "status": "failed", "seconds": 0.5, "message": "it\nbroke", "figures": []},
             {"name": "c", "title": "C", "status": "skipped", "seconds": 0.0, "message": "no device", "figures": []}]

    def results(self):
        device = {"device": "GPU X", "driver": "1.2", "cuda": "13.0", "torch": "2.11.0", "nccl": "2.28.9",
                  "cupti": 130001}
        return {"format": 1, "commit": "abc", "started_utc": "2020-01-01T00:00:00+00:00", "mode": "cuda",
                "small": False, "seconds": 2.0, "list": 1, "planned": ["a", "b", "c"], "complete": True, "message": "",
                "device": device, **report.counts(self.PARTS), "parts": self.PARTS}

    def test_exit_codes(self):
        self.assertEqual(report.exit_code(self.PARTS), 1)
        self.assertEqual(report.exit_code([self.PARTS[0], self.PARTS[2]]), 0)
        self.assertEqual(report.exit_code([self.PARTS[2]]), 1, "nothing was judged")

    def test_markdown(self):
        text = report.markdown(self.results())
        self.assertEqual(text, report.markdown(self.results()))
        for line in ("| device | GPU X |", "| | ratio | 1.003 (6 \\| pairs) | <= 1.02 | ok |",
                     "| **B** | it broke | 0.5 s | | failed |", "| **C** | no device | 0.0 s | | skipped |"):
            self.assertIn(line + "\n", text)
        cells = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("| **")}
        self.assertEqual(cells, {6})

    def test_a_long_message_is_whole_below_the_table(self):
        results = self.results()
        results["parts"] = [dict(self.PARTS[1], message="late\n" + 100 * "wchan futex_wait\n")]
        text = report.markdown(results)
        self.assertEqual(text.count("    wchan futex_wait\n"), 100)
        self.assertLess(max(len(line) for line in text.splitlines()), 300)

    def test_results_that_are_not_complete_say_so(self):
        self.assertNotIn("Not complete", report.markdown(self.results()))
        text = report.markdown(dict(self.results(), complete=False, planned=["a", "b", "c", "d"], message="SIGTERM"))
        self.assertIn("Not complete: 3 of 4 parts have ended.", text)
        self.assertIn("    SIGTERM\n", text)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            report.write(folder, self.results())
            self.assertEqual(sorted(os.listdir(folder)), ["results.json", "results.md"])
            read = json.loads((pathlib.Path(folder) / "results.json").read_text())
            self.assertEqual((read["passed"], read["failed"], read["skipped"]), (1, 1, 1))
            self.assertEqual(read["parts"], self.PARTS)


if __name__ == "__main__":
    unittest.main()
