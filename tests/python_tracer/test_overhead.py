"""What the Python module costs a step outside of its window: at most 20 µs (printed), and the start of a process."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from recorded import PROGRAM, environment

MODULE = PROGRAM.parent.parent / "lib" / "ddpprof-python"
MOST_US = 20

# Times Optimizer.step of one small parameter, with the module's hook and without it, in alternating blocks.
MEASURE = """
import statistics, time, torch
import torch.optim.optimizer as o
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
optimizer.param_groups[0]["params"][0].grad = torch.zeros(1)
for _ in range(60):
    optimizer.step()
hooks = o._global_optimizer_post_hooks
assert len(hooks) == 1
ours = dict(hooks)
def block():
    begin = time.perf_counter_ns()
    for _ in range(500):
        optimizer.step()
    return (time.perf_counter_ns() - begin) / 500
differences = []
for _ in range(21):
    with_hook = block()
    hooks.clear()
    without = block()
    hooks.update(ours)
    differences.append(with_hook - without)
print(statistics.median(differences) * 1e-3)
"""


class Overhead(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_python(self, code, steps):
        env = environment(PYTHONPATH=str(MODULE), DDPPROF_PYTHON_DIR=str(self.folder), DDPPROF_PYTHON_STEPS=steps,
                          DDPPROF_PYTHON_MODE="always")
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, "".join(path.read_text() for path in self.folder.glob("python-*.jsonl"))

    def test_a_step_before_and_after_the_window(self):
        for name, steps, event in (("before", "1000000-1000039", "ended"), ("after", "10-49", "traced")):
            out, events = self.run_python(MEASURE, steps)
            self.assertIn(f'"{event}"', events)
            print(f"cost of a step {name} the window: {float(out):.2f} us", file=sys.stderr)
            self.assertLess(float(out), MOST_US)

    def test_the_start_of_a_process(self):
        def seconds(env):
            begin = time.monotonic()
            subprocess.run([sys.executable, "-c", "pass"], env=env, check=True, timeout=60)
            return time.monotonic() - begin

        injected = environment(PYTHONPATH=str(MODULE), DDPPROF_PYTHON_DIR=str(self.folder), DDPPROF_PYTHON_STEPS="10-49")
        plain = environment()
        differences = [seconds(injected) - seconds(plain) for _ in range(15)]
        print(f"cost of a process's start: {statistics.median(differences) * 1e3:.1f} ms", file=sys.stderr)
        self.assertLess(statistics.median(differences), 0.1)


if __name__ == "__main__":
    unittest.main()
