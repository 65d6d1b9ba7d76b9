"""The suite's own machinery: limits, failures, exit codes, the form of its results. Needs neither torch nor a GPU."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suite import parts, report  # noqa: E402
from suite.figures import Skip, figure  # noqa: E402


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Commands(unittest.TestCase):
    def run_all(self, *arguments):
        hidden = dict(os.environ, CUDA_VISIBLE_DEVICES="")  # also where there is a GPU
        return subprocess.run([sys.executable, "-B", HERE / "run-all", *arguments], capture_output=True, text=True,
                              timeout=60, env=hidden)

    def test_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_all("--out", folder)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("no GPU here", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_part_that_is_none(self):
        done = self.run_all("--only", "ranges,rnages")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no part rnages", done.stderr)
        self.assertIn("tracing_cost", done.stderr)

    def test_every_part_has_a_title_and_a_limit_and_the_sum_of_files_is_the_order(self):
        files = {path.stem for path in (HERE / "parts").glob("*.py")} - {"__init__"}
        self.assertEqual(files, set(parts.ORDER))
        for name in parts.ORDER:
            part = parts.load(name)
            self.assertTrue(part.TITLE)
            self.assertTrue(0 < part.LIMIT_S <= 300)


class Parts(unittest.TestCase):
    def measure(self, function):
        sys.modules["parts.made"] = types.SimpleNamespace(TITLE="made", LIMIT_S=1, measure=function)
        self.addCleanup(sys.modules.pop, "parts.made", None)
        return parts.measure("made", None, None)

    def test_figures_decide(self):
        good, bad, told = figure("a", 1, equals=1), figure("b", 1, equals=2), figure("c", 1)
        self.assertEqual(self.measure(lambda *_: [good, told])["status"], "passed")
        self.assertEqual(self.measure(lambda *_: [good, bad, told])["status"], "failed")

    def test_an_exception_fails_the_part_and_says_where(self):
        def broken(*_):
            raise RuntimeError("worker is gone")
        found = self.measure(broken)
        self.assertEqual(found["status"], "failed")
        self.assertIn("worker is gone (test_run_all.py:", found["message"])

    def test_a_command_that_is_late_fails_the_part(self):
        found = self.measure(lambda *_: subprocess.run(["sleep", "30"], timeout=0.1))
        self.assertEqual(found["status"], "failed")
        self.assertIn("sleep 30 had not ended", found["message"])

    def test_skipped(self):
        def skips(*_):
            raise Skip("no such device")
        self.assertEqual(self.measure(skips)["status"], "skipped")


class Apart(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_apart(self, script, limit_s):
        file = self.folder / "script.py"
        file.write_text(script)
        return parts.run_apart("ranges", [str(file), str(self.folder)], self.folder / "out", limit_s)

    def test_a_part_that_hangs_is_ended_with_what_it_started(self):
        begin = time.monotonic()
        found = self.run_apart("import subprocess, sys, time\n"
                               "child = subprocess.Popen(['sleep', '300'])\n"
                               "open(sys.argv[1] + '/pid', 'w').write(str(child.pid))\n"
                               "time.sleep(300)\n", 3)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual((found["status"], found["message"]), ("failed", "ended after its limit of 3 s"))
        child = int((self.folder / "pid").read_text())
        until = time.monotonic() + 20
        while alive(child) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertFalse(alive(child))

    def test_a_part_that_crashes_fails(self):
        found = self.run_apart("import os\nprint('on the way', flush=True)\nos.abort()\n", 30)
        self.assertEqual(found["status"], "failed")
        self.assertIn("code -6", found["message"])
        self.assertIn("on the way", found["message"])

    def test_what_it_found_is_read(self):
        found = self.run_apart("import json, sys\njson.dump({'name': 'ranges', 'title': 't', 'status': 'passed', "
                               "'message': '', 'figures': []}, open(sys.argv[1] + '/out/part.json', 'w'))\n", 30)
        self.assertEqual(found["status"], "passed")
        self.assertGreater(found["seconds"], 0)


class Results(unittest.TestCase):
    PARTS = [{"name": "a", "title": "A", "status": "passed", "seconds": 1.25, "message": "",
              "figures": [figure("ratio", 1.003, at_most=1.02, note="6 | pairs").as_json()]},
             {"name": "b", "title": "B", "status": "failed", "seconds": 0.5, "message": "it\nbroke", "figures": []},
             {"name": "c", "title": "C", "status": "skipped", "seconds": 0.0, "message": "no device", "figures": []}]

    def results(self):
        return {"format": 1, "commit": "abc", "started_utc": "2020-01-01T00:00:00+00:00", "mode": "cuda", "small": False,
                "seconds": 2.0, "device": {"device": "GPU X", "driver": "1.2", "cuda": "13.0", "torch": "2.11.0",
                                           "nccl": "2.28.9", "cupti": 130001}, **report.counts(self.PARTS),
                "parts": self.PARTS}

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

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            report.write(folder, self.results())
            self.assertEqual(sorted(os.listdir(folder)), ["results.json", "results.md"])
            read = json.loads((pathlib.Path(folder) / "results.json").read_text())
            self.assertEqual((read["passed"], read["failed"], read["skipped"]), (1, 1, 1))
            self.assertEqual(read["parts"], self.PARTS)


if __name__ == "__main__":
    unittest.main()
