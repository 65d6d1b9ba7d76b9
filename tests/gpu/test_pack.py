"""The archive: unpacked into an empty folder its programs start with its own libraries, and train on a CPU."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "oracle"))
from tiers import long_test  # noqa: E402: found by the line above

BUILD = pathlib.Path(os.environ["DDPPROF_PROGRAM"]).resolve().parents[1]
C_LIBRARY = ("libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "libutil.so", "libresolv.so", "ld-linux",
             "linux-vdso")


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=400, **more)


class Pack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        folder = pathlib.Path(cls.temporary.name)
        packed = run(HERE / "pack", folder / "gpu.tar.gz")  # from the folder of DDPPROF_PROGRAM
        assert packed.returncode == 0, packed.stderr
        assert f"programs of {BUILD}, commit" in packed.stdout, packed.stdout
        cls.archive_bytes = (folder / "gpu.tar.gz").stat().st_size
        subprocess.run(["tar", "xzf", folder / "gpu.tar.gz", "-C", folder], check=True)
        cls.top = folder / "ddpprof-gpu"
        sys.path.insert(0, str(HERE))
        from suite.machine import torch_libraries
        cls.torch = torch_libraries()
        own = {name: value for name, value in os.environ.items() if not name.startswith("DDPPROF_")}
        cls.plain = own
        cls.environment = dict(own, LD_LIBRARY_PATH=":".join([*cls.torch, str(cls.top / "lib" / "needed")]))

    def test_size(self):
        self.assertLess(self.archive_bytes, 64 << 20)

    def test_libraries_are_the_archive_s_torch_s_or_the_c_library(self):
        for file in ("bin/ddpprof", "bin/ddpprof-worker", "lib/libddpprof-tracer.so"):
            for line in run("ldd", self.top / file, env=self.environment).stdout.splitlines():
                name, _, rest = line.strip().partition(" => ")
                if pathlib.Path(name.split()[0]).name.startswith(C_LIBRARY):
                    continue
                path = os.path.realpath(rest.split(" (")[0])
                inside = [os.path.realpath(self.top), *(os.path.realpath(one) for one in self.torch)]
                self.assertTrue(any(path.startswith(one + "/") for one in inside), f"{file}: {line}")

    def test_help_and_doctor(self):
        helped = run(self.top / "bin/ddpprof", "--help", env=self.environment)
        self.assertEqual(helped.returncode, 0, helped.stderr)
        self.assertIn("record", helped.stdout)
        doctor = run(self.top / "bin/ddpprof", "doctor", "--format", "json", "--folder", self.temporary.name,
                     env=self.environment)
        self.assertIn(doctor.returncode, (0, 3), doctor.stderr)
        self.assertEqual(json.loads(doctor.stdout)["report"], "doctor")

    def test_a_scenario_on_a_cpu(self):
        database = pathlib.Path(self.temporary.name) / "run.db"
        done = run(self.top / "bin/ddpprof", "run", self.top / "scenarios/linear-10-1-ddp.yaml", "--device", "cpu",
                   "--set", "workers=[1,2]", "--set", "measure.steps=10", "--set", "measure.repeats=1", "--set",
                   "measure.warmup_steps=3", "--set", f"output.database={database}", env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(database.is_file())

    @long_test
    def test_the_suite_finds_its_own_programs_and_says_its_commit(self):
        out = pathlib.Path(self.temporary.name) / "out"
        done = run(sys.executable, "-B", self.top / "tests/gpu/run-all", "--device", "cpu", "--small", "--only",
                   "several_ranks,ranges,gpt", "--out", out, env=self.plain)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        results = json.loads((out / "results.json").read_text())
        self.assertEqual(results["commit"], (self.top / "commit").read_text().strip())

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as empty:
            without = run(HERE / "pack", pathlib.Path(empty) / "a.tar", "--build", empty)
            self.assertEqual(without.returncode, 1)
            self.assertIn("build it first", without.stderr)
            self.assertEqual(os.listdir(empty), [])
        self.assertEqual(run(HERE / "pack", "somewhere").returncode, 2)


if __name__ == "__main__":
    unittest.main()
