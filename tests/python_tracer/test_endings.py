"""How jobs start, end and misbehave under `ddpprof record`: they run as without it, and what is not traced is reported."""
import json
import sys
import unittest

from recorded import Job, TRAIN, environment
from tiers import LONG, long_test

PYTHON = sys.executable


class Endings(unittest.TestCase):
    def both(self, *command, env=None, files=None, options=()):
        """Runs the command with and without ddpprof, and compares exit code and standard output."""
        plain = Job(self, *command, env=env, files=files, plain=True)
        job = Job(self, *command, env=env, files=files, options=options)
        self.assertEqual((job.code, job.out), (plain.code, plain.out), job.messages)
        job.plain = plain
        return job

    def assertNothing(self, job, reason):
        self.assertIn("nothing was recorded", job.messages)
        self.assertIn(reason, " ".join(job.messages.split()))
        self.assertNotIn("job.db", job.left())
        self.assertNotIn("job.db.recording", job.left())

    @long_test
    def test_one_process(self):
        job = self.both(PYTHON, TRAIN)
        self.assertEqual(job.one("SELECT world_size, COUNT(*) FROM measurement"), (1, 1), job.messages)
        self.assertEqual(job.rows("SELECT kind, COUNT(*) FROM step GROUP BY 1"), [("measured", 20), ("untraced", 19)])

    def test_exit_code(self):
        job = self.both(PYTHON, TRAIN, "--end", "exit", "--end-at", "55")
        self.assertEqual(job.code, 3)
        self.assertEqual(job.one("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), 20)

    @long_test
    def test_exception_in_the_traced_steps(self):
        job = self.both(PYTHON, TRAIN, "--end", "raise", "--end-at", "40")
        self.assertEqual(job.code, 1)
        self.assertIn("ValueError: the job's own error", job.messages)
        self.assertEqual(job.one("SELECT MAX(step) FROM step"), 39, "the steps until then")

    @long_test
    def test_a_thread_that_trains_ends_in_the_traced_steps(self):
        training = """
import threading, torch
def train():
    model = torch.nn.Linear(50, 50)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(40):
        model(torch.randn(8, 50)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
thread = threading.Thread(target=train)
thread.start()
thread.join()
print("trained")
"""
        job = self.both(sys.executable, "threads.py", files={"threads.py": training})
        self.assertEqual(job.rows("SELECT kind, MAX(step) FROM step GROUP BY 1"), [("measured", 39), ("untraced", 28)],
                         job.messages)

    @long_test
    def test_os_exit_in_the_traced_steps(self):
        job = self.both(PYTHON, TRAIN, "--end", "os_exit", "--end-at", "40")
        self.assertEqual(job.code, 7)
        self.assertNothing(job, "it ended during its traced steps")

    def test_killed_in_the_traced_steps(self):
        job = Job(self, "sh", "-c", f"{PYTHON} {TRAIN} --end kill --end-at 40")
        self.assertEqual(job.code, 128 + 9)
        self.assertNothing(job, "it ended during its traced steps")

    @long_test
    def test_killed_after_the_window(self):
        job = Job(self, PYTHON, TRAIN, "--end", "kill", "--end-at", "50")
        self.assertEqual(job.code, 128 + 9)
        self.assertEqual(job.one("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), 20, "the trace is complete")

    @long_test
    def test_ended_before_the_window(self):
        self.assertNothing(self.both(PYTHON, TRAIN, "--steps", "7"), "the training ended after 7 steps")

    @long_test
    def test_a_function_around_the_model_is_compiled_again(self):
        """While the model has the module's hook, which torch.compile then traces. The class has a number where DeepSpeed's
        has a method, and the rate is infinite."""
        training = """
import torch
class Model(torch.nn.Linear):
    zero_optimization_stage = 2
torch._dynamo.config.automatic_dynamic_shapes = False
torch._dynamo.config.cache_size_limit = 64
model = Model(20, 20)
optimizer = torch.optim.SGD(model.parameters(), lr=float("inf"))
@torch.compile(backend="eager")
def loss(inputs):
    return model(inputs).sum()
for step in range(40):
    loss(torch.randn(2 + step, 20)).backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained")
"""
        job = self.both(sys.executable, "compiled.py", files={"compiled.py": training})
        self.assertEqual(job.code, 0, job.messages)
        self.assertEqual(job.one("SELECT MAX(step) FROM step WHERE kind = 'measured'"), 39, job.messages)
        self.assertEqual(job.one("SELECT json_extract(options, '$.optimizer') FROM measurement"), "SGD")

    def test_an_optimizer_that_is_replaced_in_the_traced_steps(self):
        """The new one makes the steps from 36 on: the profiler ends after 256 of them, not with the job."""
        job = """import torch
model = torch.nn.Linear(20, 20)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(36 + 400):
    if step == 36:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model(torch.randn(8, 20)).sum().backward()
    optimizer.step()
    if step == 36 + 300:
        print("profiling" if torch.autograd._profiler_enabled() else "not profiling")
"""
        done = self.both(PYTHON, "replaced.py", files={"replaced.py": job})
        self.assertEqual((done.code, done.out), (0, "not profiling\n"), done.messages)
        self.assertEqual(done.rows("SELECT MIN(step), MAX(step) FROM step WHERE kind = 'measured'"), [(30, 35)], done.messages)

    @long_test
    def test_no_step(self):
        self.assertNothing(self.both(PYTHON, "-c", "import torch; print(torch.ones(1).item())"),
                           "torch was imported, but no process")

    def test_no_torch(self):
        self.assertNothing(self.both(PYTHON, "-c", "print(1)"), "none of 1 Python process with ddpprof's module imported")

    def test_no_python(self):
        self.assertNothing(self.both("sh", "-c", "echo fine; exit 4"), "no Python process of the job loaded ddpprof's")

    def test_options_of_python_that_leave_the_module_out(self):
        for option in ("-S", "-I", "-E") if LONG else ("-I",):
            with self.subTest(option):
                self.assertNothing(self.both(PYTHON, option, "-c", "print(2)"), "python -S, -I or -E")

    def test_the_job_replaces_pythonpath(self):
        self.assertNothing(self.both("sh", "-c", f"PYTHONPATH=/ {PYTHON} -c 'print(3)'"), "replaces PYTHONPATH")

    @long_test
    def test_own_pythonpath_and_sitecustomize(self):
        files = {"own/sitecustomize.py": "import sys\nsys.own_customization = __name__ + ' ' + __file__[-20:]\n",
                 "own/helper.py": "x = 5\n",
                 "job.py": "import sys, helper, sitecustomize\nprint(helper.x, sys.own_customization, sitecustomize)\n"
                           "print([p for p in sys.path], [str(f) for f in sys.meta_path if 'ddpprof' in str(f).lower()])\n"
                           "import runpy\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"}
        plain = Job(self, "env", "PYTHONPATH=own", PYTHON, "job.py", TRAIN, files=files, plain=True)
        job = Job(self, PYTHON, "job.py", TRAIN, files=files, env=environment(PYTHONPATH="own"))
        self.assertEqual(plain.code, 0, plain.messages)
        self.assertEqual(job.out.replace(str(job.folder), ""), plain.out.replace(str(plain.folder), ""), job.messages)
        self.assertEqual(job.one("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), 20)

    def test_a_sitecustomize_that_fails(self):
        files = {"own/sitecustomize.py": "raise RuntimeError('own failure')\n"}
        job = self.both(PYTHON, "-c", "print(6)", files=files, env=environment(PYTHONPATH="own"))
        self.assertEqual(job.code, 0)
        self.assertIn("own failure", job.messages)
        self.assertIn("own failure", job.plain.messages)

    @long_test
    def test_the_jobs_own_profiler_with_a_schedule(self):
        job = self.both(PYTHON, TRAIN, "--profile", "schedule")
        self.assertNothing(job, "the job uses torch.profiler itself, which keeps it")
        self.own_trace(job, "aten::addmm")

    @long_test
    def test_the_jobs_own_profiler_in_the_traced_steps(self):
        job = self.both(PYTHON, TRAIN, "--profile", "late")
        self.assertNothing(job, "the job started torch.profiler in the window, and keeps it")
        self.own_trace(job, "aten::addmm")

    def own_trace(self, job, name):
        trace = json.loads((job.folder / "own.json").read_text())
        self.assertIn(name, {event.get("name") for event in trace["traceEvents"]})
        self.assertNotIn("ddpprofJob", trace)

    @long_test
    def test_copies_of_the_model_while_its_facts_are_read(self):
        job = self.both(PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", TRAIN, "--copy-at",
                        "9")
        self.assertEqual(job.one("SELECT batch_per_worker, world_size FROM measurement"), (24, 1), job.messages)

    @long_test
    def test_a_child_that_is_forked_in_the_traced_steps(self):
        job = self.both(PYTHON, TRAIN, "--fork-at", "35")
        self.assertIn("child grew by less than 50 MB: True", job.out)
        self.assertEqual(job.one("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), 20)

    @long_test
    def test_a_restarted_job(self):
        """torchrun starts the rank again after a failure: the later attempt is used."""
        job = Job(self, PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "--max-restarts",
                  "1", "again.py", files={"again.py": AGAIN}, env=environment(TRAIN=TRAIN))
        self.assertEqual(job.code, 0, job.messages)
        self.assertIn("1 earlier trace", job.messages)
        self.assertEqual(job.one("SELECT batch_per_worker FROM measurement"), 16, "of the second attempt")

    @long_test
    def test_the_recording_folder_disappears(self):
        job = Job(self, "sh", "-c", f"rm -rf job.db.recording; {PYTHON} {TRAIN}; echo $?")
        self.assertEqual(job.out.split()[-1], "0", job.messages)
        self.assertIn("nothing was recorded", job.messages)

    def test_wrong_choices_are_errors_before_the_job_runs(self):
        for options, words in ((["--tracer", "perf"], "is unknown"),
                               (["--tracer", "torch", "--steps", "5"], "too few steps"),
                               (["--tracer", "torch", "--delay", "3"], "bound the native tracer only")):
            job = Job(self, "touch", "ran", options=options)
            self.assertEqual((job.code, job.left()), (2, []), job.messages)
            self.assertIn(words, job.messages)


AGAIN = """
import os, runpy, sys
second = os.environ["TORCHELASTIC_RESTART_COUNT"] == "1"
sys.argv = [os.environ["TRAIN"], "--batch", "16" if second else "32"]
if not second:
    sys.argv += ["--end", "raise", "--end-at", "55"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

if __name__ == "__main__":
    unittest.main()
