"""A part that hangs or is killed, a worker that is missing: the results of the call are kept, and no process is left.

Needs no torch and no GPU.
"""

import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from process_test import ProcessTest  # noqa: E402
from suite import evidence, limits, part_process, processes, run_parts, trace  # noqa: E402


class Apart(ProcessTest):
    def setUp(self):
        super().setUp()
        # This process collects the evidence. A machine may have cuda-gdb, which takes long.
        patch = mock.patch.object(evidence, "debugger", return_value=None)
        patch.start()
        self.addCleanup(patch.stop)

    def run_apart(self, script, limit_s=30):
        file = self.folder / "script.py"
        file.write_text("import json, os, signal, subprocess, sys, time\nfolder = sys.argv[1]\n" + script)
        return part_process.run_apart("ranges", [str(file), str(self.folder)], self.folder / "out", limit_s)

    RESULT = ("json.dump({'name': 'ranges', 'title': 't', 'status': 'passed', 'message': '', 'figures': []}, "
              "open(folder + '/out/part.json', 'w'))\n")

    def test_a_part_that_hangs_leaves_its_output_and_its_threads_and_is_ended_with_its_children(self):
        found = self.run_apart("print('half way', flush=True)\n"
                               "open(folder + '/pid', 'w').write(str(os.getpid()))\n"
                               "child = subprocess.Popen(['sleep', '300'])\n"
                               "open(folder + '/child', 'w').write(str(child.pid))\n"
                               "time.sleep(300)\n", 10)
        self.assertEqual(found["status"], "failed")
        self.assertTrue(found["message"].startswith("ended after its limit of 10 s\noutput so far: half way\n"))
        pid, child = self.pid(), self.pid("child")
        self.assertRegex(found["message"], rf"process {pid} \S+, child of {os.getpid()}:\n  thread {pid} ")
        self.assertIn(f"process {child} sleep", found["message"])
        self.assert_ended(pid)
        self.assert_ended(child)

    def test_the_output_of_a_part_that_hangs_is_kept_with_the_evidence_in_it(self):
        found = self.run_apart("print('begin' + 20_000 * 'x' + 'end', flush=True)\ntime.sleep(300)\n", 10)
        self.assertIn("begin" + 20_000 * "x" + "end", found["message"])

    def test_a_part_gets_its_deadline(self):
        found = self.run_apart("left = float(os.environ['GPU_SUITE_PART_DEADLINE']) - time.monotonic()\n"
                               "sys.exit(f'left: {left:.1f} s')\n", 20)
        left_s = float(re.search(r"left: (\S+) s", found["message"])[1])
        self.assertTrue(5 < left_s <= 20, left_s)

    def test_a_part_that_crashes(self):
        found = self.run_apart("print('half way', flush=True)\nos.abort()\n")
        self.assertEqual(found["status"], "failed")
        self.assertIn("ended with code -6 (SIGABRT) and left no complete result: half way", found["message"])

    def test_a_result_is_read(self):
        found = self.run_apart(self.RESULT)
        self.assertEqual((found["status"], found["message"]), ("passed", ""))
        self.assertGreater(found["seconds"], 0)

    def test_a_part_that_ends_badly_keeps_the_figures_that_it_has_written(self):
        result = self.RESULT.replace("[]", "[{'name': 'a', 'passed': True}]").replace("''", "'no device'")
        found = self.run_apart(result + "\nsys.exit(3)\n")
        self.assertEqual((found["status"], found["figures"]), ("failed", [{"name": "a", "passed": True}]))
        self.assertTrue(found["message"].startswith("no device\n"), found["message"])
        self.assertIn("ended with code 3 and left no complete result", found["message"])

    def test_a_job_of_a_killed_part_is_ended_although_it_has_a_session_of_its_own(self):
        found = self.run_apart("child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
                               "open(folder + '/pid', 'w').write(str(child.pid))\n"
                               "os.kill(os.getpid(), signal.SIGKILL)\n")
        self.assertEqual(found["status"], "failed")
        self.assert_ended(self.pid())

    def test_a_part_that_is_killed(self):
        found = self.run_apart("print('half way', flush=True)\n"
                               "child = subprocess.Popen(['sleep', '300'], process_group=0)\n"
                               "open(folder + '/pid', 'w').write(str(child.pid))\n"
                               "os.kill(os.getpid(), signal.SIGKILL)\n")
        self.assertEqual(found["status"], "failed")
        self.assertIn("ended with code -9 (SIGKILL) and left no complete result: half way", found["message"])
        self.assert_ended(self.pid())

    def test_a_result_is_kept_if_the_part_hangs_after_it(self):
        found = self.run_apart(self.RESULT.replace("[]", "[{'name': 'a', 'passed': True}]") + "\ntime.sleep(300)\n", 10)
        self.assertEqual((found["status"], found["figures"]), ("failed", [{"name": "a", "passed": True}]))

    def test_half_a_result_is_none(self):
        found = self.run_apart("open(folder + '/out/part.json', 'w').write('{\"name\": ')\n")
        self.assertIn("left no complete result", found["message"])

    def test_losses_of_all_databases_are_figures(self):
        (self.folder / "out" / "n1").mkdir(parents=True)
        for name, rows in (("a.db", [("cupti_dropped", 2), ("cupti_dropped", 3), ("other", 9)]), ("n1/b.db", [])):
            connection = sqlite3.connect(self.folder / "out" / name)
            connection.execute("CREATE TABLE diagnostic (code TEXT, count INTEGER)")
            connection.executemany("INSERT INTO diagnostic VALUES (?, ?)", rows)
            connection.commit()
            connection.close()
        found = self.run_apart(self.RESULT)
        self.assertEqual([(one["name"], one["value"], one["note"], one["passed"]) for one in found["figures"]],
                         [("cupti_dropped", 5, "a.db: 5", None), ("cupti_incomplete", 0, "", None)])

    def test_no_database_no_losses_and_a_damaged_one_is_reported(self):
        self.assertEqual(trace.losses(self.folder), [])
        (self.folder / "half.db").write_bytes(b"SQLite format 3\0" + bytes(20))
        self.assertIn("half.db is not readable", trace.losses(self.folder)[0].note)
        self.assertIsNone(trace.losses(self.folder)[0].value)


FAKE_TORCH = {"__init__.py": "__version__ = 'fake'\nclass version:\n    cuda = None\nfrom . import cuda\n",
              "cuda/__init__.py": "def is_available():\n    return False\n"}


class WholeRun(ProcessTest):
    """run-all with a fake ddpprof, whose `record` is a shell script, and a fake torch."""

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        for name, text in FAKE_TORCH.items():
            path = self.folder / "torch" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.program("cuda-gdb", "#!/bin/sh\necho backtrace\n")  # not the machine's, which takes long
        self.out = self.folder / "out"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def command(self, record, *arguments):
        self.program("bin/ddpprof", f"#!/bin/sh\nif [ $1 = record ]; then {record}\nfi\n")
        own = {name: value for name, value in os.environ.items() if not name.startswith("DDPPROF_")}
        return ([sys.executable, "-B", str(HERE / "run-all"), "--device", "cpu", "--out", str(self.out), *arguments],
                dict(own, PYTHONPATH=str(self.folder), PATH=f"{self.folder}:{os.environ['PATH']}",
                     TMPDIR=str(self.temporary),
                     DDPPROF_PROGRAM=str(self.folder / "bin" / "ddpprof")))

    def run_all(self, record, *arguments, files=("results.json", "results.md")):
        command, environment = self.command(record, *arguments)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(sorted(os.listdir(self.out)), list(files))
        return done, self.results()

    def results(self):
        return json.loads((self.out / "results.json").read_text())

    def statuses(self, results):
        return {part["name"]: part["status"] for part in results["parts"]}

    HANGS = "echo half way; sleep 300 & echo $! >{0}/pid; wait"

    def test_a_hanging_part(self):
        limit_s = limits.LAST_S + limits.LEAST_S + 10  # 10 s for the start-up and the part before
        done, results = self.run_all(self.HANGS.format(self.folder), "--only", "overlap,ranges", "--limit-s",
                                     str(limit_s))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.statuses(results), {"overlap": "skipped", "ranges": "failed"})
        message = results["parts"][1]["message"]
        for text in ("record --out", "had not ended after", "stdout so far: half way", f"process {self.pid()} sleep"):
            self.assertIn(text, message)
        self.assertIn(f"process {self.pid()} sleep", (self.out / "results.md").read_text())
        self.assertTrue(results["complete"])
        self.assertLess(results["seconds"], limit_s)
        self.assert_ended(self.pid())

    def test_a_killed_part_and_the_next_one_runs(self):
        done, results = self.run_all("kill -9 $PPID; sleep 300", "--only", "ranges,overlap")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.statuses(results), {"ranges": "failed", "overlap": "skipped"})
        self.assertIn("(SIGKILL) and left no complete result", results["parts"][0]["message"])

    def test_a_part_that_hangs_itself(self):
        # The job leaves a pipe for its result, and the part waits for a writer without end.
        command, environment = self.command('for result; do :; done; mkfifo "$result"; exit 0')
        command = [command[2], "--part", "ranges", "--device", "cpu", "--out", str(self.folder / "part")]
        with mock.patch.dict(os.environ, environment):
            found = part_process.run_apart("ranges", command, self.folder / "part", limits.RESERVE_S + 10)
        self.assertRegex(found["message"], r"^ended after its limit of \d+ s")
        self.assertRegex(found["message"], r'ranks.py", line \d+ in told')
        self.assertRegex(found["message"], r"process \d+ python.*, child of ")

    def test_results_are_written_after_each_part_and_sigterm_ends_the_running_one(self):
        command, environment = self.command(self.HANGS.format(self.folder), "--only", "overlap,ranges")
        process = self.started(command, environment)
        child = self.pid()
        self.assertEqual(sorted(os.listdir(self.out)), ["results.json", "results.md"])
        self.assertEqual((self.statuses(self.results()), self.results()["complete"]), ({"overlap": "skipped"}, False))
        process.terminate()
        self.assertEqual(process.wait(60), 143)
        self.assert_ended(child)
        self.assertTrue(self.results()["message"].endswith("ended during the part ranges: SIGTERM"))
        self.assertIn("Not complete: 1 of 2 parts", (self.out / "results.md").read_text())

    def started(self, command, environment):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # nohup ignores it
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_sighup_ends_the_running_part(self):
        process = self.started(*self.command(self.HANGS.format(self.folder), "--only", "ranges"))
        child = self.pid()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(60), 128 + signal.SIGHUP)
        self.assert_ended(child)
        self.assertTrue(self.results()["message"].endswith("ended during the part ranges: SIGHUP"))

    def test_a_killed_run_all_leaves_no_part_and_no_job(self):
        process = self.started(*self.command(self.HANGS.format(self.folder), "--only", "ranges"))
        child = self.pid()
        started = processes.tree(process.pid)
        self.assertGreater(len(started), 3)  # run-all, the part, record and its child
        process.kill()
        process.wait(60)
        for one in started:
            self.assert_ended(one.pid)
        self.assert_ended(child)

    def test_without_the_worker_only_its_parts_are_skipped(self):
        done, results = self.run_all("exit 5", "--only", "one_rank,ranges,gradient_order")
        self.assertEqual(self.statuses(results),
                         {"one_rank": "skipped", "ranges": "failed", "gradient_order": "skipped"})
        self.assertIn("needs ddpprof-worker, and there is no", results["parts"][0]["message"])
        self.assertIn("exit code 5", results["parts"][1]["message"])
        self.assertEqual(done.returncode, 1)

    def test_a_worker_that_does_not_start_fails_only_its_parts(self):
        self.program("bin/ddpprof-worker", "#!/bin/sh\necho 'libc.so.6: version GLIBC_2.99 not found' >&2\nexit 1\n")
        done, results = self.run_all("exit 5", "--only", "one_rank,overlap,several_ranks")
        self.assertEqual(self.statuses(results),
                         {"one_rank": "failed", "overlap": "skipped", "several_ranks": "failed"})
        self.assertIn("GLIBC_2.99", results["parts"][0]["message"])
        self.assertEqual(done.returncode, 1)

    def test_a_program_that_does_not_start_leaves_the_reason(self):
        command, environment = self.command("exit 5")
        self.program("bin/ddpprof", "#!/bin/sh\necho 'version GLIBC_2.99 not found' >&2\nexit 1\n")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("GLIBC_2.99", self.results()["message"])

    def test_a_list(self):
        command, environment = self.command("exit 5", "--list", "1", "--limit-s", "0.1")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(self.statuses(self.results())), ["warm_up", "ranges", "tracing_cost", "many_kernels"])
        self.assertEqual(self.results()["list"], 1)
        self.assertIn("not started", self.results()["parts"][0]["message"])

    def fake_torch(self, name, text):
        (self.folder / "torch" / name).write_text(text)

    def test_without_a_gpu(self):
        done, results = self.run_all("exit 5", "--device", "cuda", "--only", "ranges")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no GPU here", done.stderr)
        self.assertIn("no GPU here", results["message"])
        self.assertEqual((results["device"]["devices"], results["parts"]), (0, []))

    def test_a_torch_that_does_not_start(self):
        self.fake_torch("cuda/__init__.py", "raise ImportError('libcudart.so.13: no such file')\n")
        done, results = self.run_all("exit 5", "--only", "ranges")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("libcudart.so.13: no such file", results["message"])

    def test_results_exist_during_the_start_up(self):
        self.fake_torch("cuda/__init__.py",
                        f"import os, time\nopen({str(self.folder / 'pid')!r}, 'w').write(str(os.getpid()))\n"
                        "time.sleep(300)\n")
        process = self.started(*self.command("exit 5", "--only", "ranges"))
        child = self.pid()
        self.assertEqual((self.results()["parts"], self.results()["complete"]), ([], False))
        process.terminate()
        self.assertEqual(process.wait(60), 143)
        self.assertTrue(self.results()["message"].endswith("ended during the start-up: SIGTERM"))
        self.assert_ended(child)

    def test_versions_that_are_late_are_a_message(self):
        options = types.SimpleNamespace(device="cuda", small=True, list=None, out=self.out, limit_s=60, keep=False)
        self.fake_torch("cuda/__init__.py", "import time\ntime.sleep(300)\n")
        _, environment = self.command("exit 5")
        with mock.patch.dict(os.environ, environment), mock.patch.object(run_parts, "VERSIONS_S", 3):
            results = run_parts.Results(options, ["ranges"])
            self.assertEqual(run_parts.start_up(options, results)[0], "skipped")  # no worker
        self.assertIn("the versions are unknown: ", self.results()["message"])
        self.assertIn("versions.py had not ended after 3 s", self.results()["message"])

    def test_a_worker_that_is_late_is_a_message_and_its_parts_run(self):
        options = types.SimpleNamespace(device="cpu", small=True, list=None, out=self.out, limit_s=60, keep=False)
        self.program("bin/ddpprof-worker", "#!/bin/sh\nexec sleep 300\n")
        _, environment = self.command("exit 5")
        with mock.patch.dict(os.environ, environment), mock.patch.object(run_parts, "WORKER_S", 1):
            self.assertIsNone(run_parts.start_up(options, run_parts.Results(options, ["one_rank"])))
        self.assertIn("ddpprof-worker has not answered: ", self.results()["message"])
        self.assertIn("ddpprof-worker --version had not ended after 2 s", self.results()["message"])

    def test_keep(self):
        done, results = self.run_all('echo kept >"$(dirname "$3")/kept"; mkfifo "$(dirname "$3")/pipe"; exit 5',
                                     "--only", "ranges", "--keep", files=["ranges", "results.json", "results.md"])
        self.assertEqual((self.out / "ranges" / "kept").read_text(), "kept\n")
        self.assertIn("--keep cannot copy all files", done.stderr)
        self.assertTrue(results["complete"])


if __name__ == "__main__":
    unittest.main()
