"""A job that reaches its limit: its output and its evidence are in the message, and its processes are ended.

Needs no torch and no GPU.
"""

import importlib
import io
import os
import pathlib
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from process_test import ProcessTest  # noqa: E402
from suite import evidence, job, limits, processes, ranks  # noqa: E402
from suite.machine import Machine  # noqa: E402


class Jobs(ProcessTest):
    def late(self, *command, limit_s=6.0):
        with mock.patch.object(evidence, "debugger", return_value=None), self.assertRaises(job.LimitReached) as caught:
            job.run(command, dict(os.environ), limit_s)
        return str(caught.exception)

    def test_a_job_that_ends_is_read_whole(self):
        done = job.run(["sh", "-c", "printf 'out\\r\\n'; echo err >&2; exit 3"], dict(os.environ), 20)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "out\n", "err\n"))

    def test_output_so_far_and_threads_are_in_the_message_and_children_are_ended(self):
        script = f"echo half way; echo warned >&2; sleep 300 & echo $! >{self.folder}/pid; wait"
        message = self.late("sh", "-c", script)
        self.assertIn("had not ended after 6 s", message)
        self.assertIn("stdout so far: half way", message)
        self.assertIn("stderr so far: warned", message)
        self.assertRegex(message, rf"process {self.pid()} sleep, child of \d+:\n  thread {self.pid()} sleep: state S, ")
        # A process needs CAP_SYS_ADMIN to read a stack, and root in a container may not have it.
        self.assertRegex(message, "nanosleep|stack not readable")
        self.assert_ended(self.pid())

    def test_a_descendant_that_has_left_the_group_is_ended(self):
        script = f"setsid sh -c 'echo $$ >{self.folder}/pid; exec sleep 300' & wait"
        self.late("sh", "-c", script)
        self.assert_ended(self.pid())

    def test_a_job_that_ignores_sigterm_and_holds_its_pipes_is_ended(self):
        begin = time.monotonic()
        self.late("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
        self.assertLess(time.monotonic() - begin, 20)

    def test_no_other_process_is_ended(self):
        other = subprocess.Popen(["sleep", "300"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.late("sleep", "300", limit_s=0.5)
        self.assertIsNone(other.poll())
        self.late("sh", "-c", "sleep 300 & sleep 300", limit_s=0.5)
        self.assertIsNone(other.poll())

    def test_a_python_job_prints_its_stacks_before_its_limit(self):
        script = self.folder / "hangs.py"
        script.write_text(f"import sys, time\nsys.path.insert(0, {str(HERE / 'jobs')!r})\nimport stacks\n"
                          "stacks.print_before_the_limit()\n"
                          "def waits_for_the_device():\n    time.sleep(300)\nprint('begun')\nwaits_for_the_device()\n")
        message = self.late(sys.executable, "-B", script, limit_s=12.0)
        self.assertIn("stdout so far: begun", message)  # not kept in Python's buffer
        self.assertIn("in waits_for_the_device", message)

    def test_a_job_whose_first_process_has_ended_is_ended(self):
        done = job.run(["sh", "-c", f"sleep 300 & echo $! >{self.folder}/pid"], dict(os.environ), 20)
        self.assertEqual(done.returncode, 0)
        self.assert_ended(self.pid())

    def test_a_second_end_does_nothing(self):
        one = job.Started(["sh", "-c", "echo out; exec sleep 300"], dict(os.environ), 60)
        while not one.output()[0]:
            time.sleep(0.02)
        self.assertEqual((one.end(), one.end(), one.output()), ("", "", ["out\n", ""]))
        self.assertEqual(one.process.returncode, -9)

    def test_several_jobs_share_one_wait(self):
        jobs = [job.Started(["sleep", "300"], dict(os.environ), 60) for _ in range(3)]
        with mock.patch.object(processes, "wait_for_end", wraps=processes.wait_for_end) as wait:
            self.assertEqual(job.end_all(jobs), "")
        self.assertEqual([len(call.args[0]) for call in wait.mock_calls], [3])
        self.assertEqual([one.process.returncode for one in jobs], [-9] * 3)

    def test_the_pieces_of_the_message_are_on_stderr_at_once(self):
        one = job.Started(["sh", "-c", "echo half way; exec sleep 300"], dict(os.environ), 60)
        self.addCleanup(one.end)
        while not one.output()[0]:
            time.sleep(0.02)
        with mock.patch.object(evidence, "of_tree", side_effect=KeyboardInterrupt), mock.patch.object(
                sys, "stderr", io.StringIO()) as printed, self.assertRaises(KeyboardInterrupt):
            job.timeout_message("too late", [one], 0)
        self.assertIn("too late\nstdout so far: half way\n", printed.getvalue())

    def test_nccl_warns_unless_the_environment_has_another_level(self):
        show = ["sh", "-c", "echo $NCCL_DEBUG"]
        plain = {name: value for name, value in os.environ.items() if name != "NCCL_DEBUG"}
        self.assertEqual(job.run(show, plain, 20).stdout, "WARN\n")
        self.assertEqual(job.run(show, dict(plain, NCCL_DEBUG="INFO"), 20).stdout, "INFO\n")

    def test_ranks_print_their_stacks_one_after_the_other(self):
        with mock.patch.object(sys, "path", [str(HERE / "jobs"), *sys.path]):
            stacks = importlib.import_module("stacks")
        delays = []
        for rank in ({}, {"RANK": "0"}, {"RANK": "3"}):
            with mock.patch.dict(os.environ, {limits.DUMP_AT: "1100", **rank}), mock.patch.object(
                    stacks, "faulthandler") as handler, mock.patch.object(stacks.time, "monotonic", return_value=1000):
                if not rank:
                    os.environ.pop("RANK", None)
                stacks.print_before_the_limit()
            delays.append(handler.dump_traceback_later.call_args.args[0])
        self.assertEqual(delays, [100, 100.5, 102])

    def test_every_python_job_has_its_stacks_printed(self):
        for path in (HERE / "jobs").glob("*.py"):
            if path.name != "stacks.py":
                self.assertIn("\nstacks.print_before_the_limit()" if path.name != "launch.py" else
                              "    stacks.print_before_the_limit()", path.read_text(), path.name)


class Ranks(ProcessTest):
    def wait_for(self, *scripts, limit_s=6.0):
        jobs = [job.Started(["sh", "-c", script], dict(os.environ), limit_s) for script in scripts]
        try:
            with mock.patch.object(evidence, "debugger", return_value=None):
                ranks.wait_for(types.SimpleNamespace(deadline=None), jobs)
        finally:
            job.end_all(jobs)

    def test_a_rank_that_hangs(self):
        with self.assertRaisesRegex(job.LimitReached,
                                    r"rank 1 of 2 had not ended after \d+ s(.|\n)*stderr so far: joined"):
            self.wait_for("exit 0", f"echo joined >&2; echo $$ >{self.folder}/pid; exec sleep 300")
        self.assert_ended(self.pid())

    def test_a_rank_that_fails_ends_the_wait_for_the_others(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, "rank 1 of 2: exit code 4: no device"):
            self.wait_for("exec sleep 300", "echo no device >&2; exit 4", limit_s=60)
        self.assertLess(time.monotonic() - begin, 30)

    def test_the_errors_of_all_ranks_are_in_the_message(self):
        with self.assertRaises(RuntimeError) as caught:
            self.wait_for("echo connection closed >&2; exit 4", "sleep 0.4; echo no device >&2; exit 5",
                          "echo waits >&2; exec sleep 300", limit_s=60)
        self.assertEqual(str(caught.exception).splitlines(),
                         ["rank 0 of 3: exit code 4: connection closed", "rank 1 of 3: exit code 5: no device",
                          "rank 2 of 3: still running: waits"])


class Debugger(ProcessTest):
    def of_sleep(self, text, limit_s):
        self.program("cuda-gdb", text)
        sleeping = subprocess.Popen(["sleep", "300"])
        self.addCleanup(sleeping.wait)
        self.addCleanup(sleeping.kill)
        with mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            begin = time.monotonic()
            found = "\n".join(evidence.of_tree(processes.tree(sleeping.pid), begin + limit_s))
            self.assertLess(time.monotonic() - begin, limit_s + 5)
        return found, sleeping.pid

    def test_its_backtrace(self):
        found, pid = self.of_sleep('#!/bin/sh\necho "$@"\necho "#0 cuCtxSynchronize ()"\n', 20)
        self.assertIn(f"cuda-gdb on process {pid} sleep:\n-p {pid} -batch", found)
        self.assertIn("#0 cuCtxSynchronize ()", found)

    def test_one_that_hangs_is_ended(self):
        found, _ = self.of_sleep(f"#!/bin/sh\ntrap '' TERM\necho attaching\nsleep 300 & echo $! >{self.folder}/pid\n"
                                 "while :; do sleep 0.1; done\n", 6)
        self.assertRegex(found, r"attaching\n\[ended after its limit of \d+ s\]")
        self.assert_ended(self.pid())

    def of_this_process(self, debugger, limit_s):
        with mock.patch.object(evidence, "debugger", return_value=debugger):
            return "\n".join(evidence.of_tree([processes.read(os.getpid())], time.monotonic() + limit_s))

    def test_none(self):
        self.assertIn("no backtrace: this machine has no cuda-gdb", self.of_this_process(None, 5))

    def test_no_time_left(self):
        self.assertIn("not started: the part has no time left", self.of_this_process("/bin/false", 1))

    def test_a_signal_ends_the_debugger(self):
        program = self.program("debugger", f"#!/bin/sh\necho $$ >{self.folder}/pid\nexec sleep 300\n")

        def interrupt(process, limit_s):
            self.pid()
            raise processes.Signalled(15)

        with mock.patch.object(subprocess.Popen, "wait", interrupt), self.assertRaises(processes.Signalled):
            evidence.backtrace(str(program), os.getpid(), 20)
        self.assert_ended(self.pid())


class Stacks(unittest.TestCase):
    def test_without_root_the_stack_is_not_readable(self):
        def opened(path, *arguments, **more):
            if path.endswith("/stack"):
                raise PermissionError(13, "Permission denied")
            return open(path, *arguments, **more)

        with mock.patch.object(evidence, "open", opened, create=True):
            lines = evidence.of_process(processes.read(os.getpid()))
        self.assertIn("    stack not readable without CAP_SYS_ADMIN", lines)

    def test_a_process_that_has_just_ended(self):
        ended = subprocess.Popen(["true"])
        gone = processes.Process(ended.pid, 1, 1, 1, "S", "true")
        ended.wait()
        self.assertEqual(evidence.of_process(gone), [f"process {ended.pid} true, child of 1:"])

    def test_a_zombie_with_living_threads_has_not_ended(self):
        script = ("import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(300,)).start()\n"
                  "print('begun', flush=True)\nctypes.CDLL(None).pthread_exit(None)\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        process.stdout.readline()
        until = time.monotonic() + 20
        while processes.read(process.pid).state != "Z":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        self.assertEqual([one.pid for one in processes.tree(process.pid)], [process.pid])
        self.assertEqual(processes.end(process, process.pid), "")
        self.assertIsNone(processes.read(process.pid))

    def test_a_process_that_does_not_end_is_reported(self):
        other = subprocess.Popen(["sleep", "300"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.assertRegex(processes.wait_for_end([other], [], 0.2),
                         rf"^SIGKILL has not ended process {other.pid} within")
        self.assertRegex(processes.wait_for_end([other], [processes.read(other.pid)], 0.2),
                         rf"process {other.pid} sleep \(state S\) within 0 s$")

    def test_a_process_with_an_id_that_was_given_again_gets_no_signal(self):
        other = subprocess.Popen(["sleep", "300"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        processes.send(processes.read(other.pid)._replace(started=1), 9)
        time.sleep(0.1)
        self.assertIsNone(other.poll())


class Limits(ProcessTest):
    def machine(self, device, left_s):
        self.program("ddpprof", "#!/bin/sh\nexec sleep 300\n")
        (self.folder / "bin").mkdir()
        (self.folder / "ddpprof").rename(self.folder / "bin" / "ddpprof")
        with mock.patch.dict(os.environ, DDPPROF_PROGRAM=str(self.folder / "bin" / "ddpprof")):
            return Machine(device, True, None if left_s is None else time.monotonic() + left_s)

    def test_a_job_ends_at_least_ten_seconds_before_its_part(self):
        machine = self.machine("cuda", 100)
        self.assertEqual(machine.limit_s(30), 30)
        self.assertLessEqual(machine.limit_s(300), 90)
        self.assertGreater(machine.limit_s(300), 80)

    def test_on_a_cpu_and_without_a_deadline(self):
        machine = self.machine("cpu", None)
        self.assertEqual((machine.limit_s(30), machine.limit_s()), (60, float("inf")))
        self.assertEqual(machine.run(["echo", "out"]).stdout, "out\n")

    def test_without_a_limit_of_its_own_a_job_has_the_rest_of_the_part(self):
        self.assertTrue(80 < self.machine("cuda", 100).limit_s() <= 100 - limits.RESERVE_S)

    def test_evidence_is_complete_before_the_part_ends(self):
        now = time.monotonic()
        self.assertEqual(job.evidence_until(now + 12), now + 12 - limits.END_S - 4)
        self.assertTrue(15 < job.evidence_until(now + 300) - now < limits.EVIDENCE_S + 5)

    def test_a_job_is_not_started_without_time(self):
        with self.assertRaisesRegex(job.LimitReached, "was not started: the part's limit ends in 9 s"):
            self.machine("cuda", 9.2).run(["true"], 5)

    def test_the_job_s_limit_is_first_and_its_evidence_is_in_time(self):
        machine = self.machine("cuda", limits.RESERVE_S + 3)
        with mock.patch.object(evidence, "debugger", return_value=None), self.assertRaisesRegex(
                job.LimitReached, r"had not ended after \d+ s"):
            machine.record(self.folder / "job.db", ["sleep", "300"])
        self.assertGreater(machine.deadline - time.monotonic(), 2)


if __name__ == "__main__":
    unittest.main()
