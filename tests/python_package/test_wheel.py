"""The wheel of scripts/wheel, installed into clean environments: what it contains, needs and computes."""
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import time
import unittest
import zipfile

from package import PROGRAM, synthetic_database, temporary_folder
from tiers import LONG, long_test
from wheels import ROOT, build_wheels, clean_variables, make_environment, run

TRAIN = ROOT / "tests/python_tracer/train.py"
LARGEST_BYTES = 60 << 20


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.clean = clean_variables()
        cls.folder = temporary_folder(cls)
        build_wheels(cls.folder)
        (cls.wheel,) = cls.folder.glob("*.whl")
        cls.venv = make_environment(cls.folder / "venv", cls.wheel)
        cls.program = cls.venv / "bin/ddpprof"

    @classmethod
    def addCleanup(cls, *arguments, **options):  # temporary_folder() serves tests and this class
        cls.addClassCleanup(*arguments, **options)

    def test_its_name_states_the_systems_and_it_is_small(self):
        self.assertRegex(self.wheel.name, r"^ddpprof-\d+\.\d+\.\d+-py3-none-manylinux_2_34_x86_64\.whl$")
        self.assertLess(self.wheel.stat().st_size, LARGEST_BYTES)

    def test_its_files_need_glibc_2_34_at_most_and_no_cxx_library(self):
        for file in (self.program, self.venv / "lib/libddpprof-tracer.so"):
            versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", file).stdout)
            self.assertGreater(len(versions), 10)
            self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), (2, 34), file)
            linked = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", file).stdout))
            self.assertLessEqual(linked, {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}, file)

    def workers(self):
        """The torch that this build's worker was built for → the worker's path in the wheel."""
        with zipfile.ZipFile(self.wheel) as archive:
            paths = [name for name in archive.namelist() if name.startswith("ddpprof/bin/")]
        return {re.fullmatch(r"ddpprof/bin/torch-(\d+\.\d+\.\d+)/ddpprof-worker", path).group(1): path for path in paths}

    def test_its_worker_is_in_a_folder_named_after_the_torch(self):
        self.assertEqual(list(self.workers()), [importlib.metadata.version("torch").split("+")[0]])
        (worker,) = (self.site_packages() / path for path in self.workers().values())
        self.assertTrue(os.access(worker, os.X_OK))
        self.assertRegex(run("objdump", "-p", worker).stdout, r"R(UN)?PATH +\$ORIGIN/\.\./\.\./\.\./torch/lib\n")

    def test_a_wheel_can_have_workers_for_several_versions_of_torch(self):
        sys.path.insert(0, str(ROOT / "packaging"))
        import make_wheel
        build = ROOT / "build/wheel"
        workers = {version: build / "bin/ddpprof-worker" for version in ("2.10.0", "2.11.0", "2.12.1")}
        files = make_wheel.files_of(ROOT, build, "1.2.3", "", workers)
        self.assertEqual({path for path in files if path.startswith("ddpprof/bin/")},
                         {f"ddpprof/bin/torch-{version}/ddpprof-worker" for version in workers})

    def test_a_version_of_torch_is_a_whole_one_and_served_by_one_worker(self):
        for versions, message in ((["2.12"], "a whole version"), (["2.12.0", "2.12.1"], "name one of the two")):
            options = [word for version in versions for word in ("--torch", version)]
            done = run(ROOT / "scripts/wheel", *options, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)

    def test_it_has_the_licences_of_what_it_contains(self):
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith("licenses/THIRD-PARTY")]
            text = archive.read(name).decode()
            self.assertIn(name.replace("THIRD-PARTY", "common-licenses/LGPL-2.1"), archive.namelist())  # of libcsv
        for library in ("Ceres", "Eigen", "libcsv", "yaml-cpp", "OpenSSL", "SQLite", "simdjson", "zlib", "Zstandard|zstd"):
            self.assertRegex(text, f"(?i){library}")
        self.assertNotIn("SuiteSparse\n", text)

    def test_the_program_starts_within_20_ms(self):
        times = []
        for _ in range(30):
            started_s = time.monotonic()
            run(self.program, "--help")
            times.append(time.monotonic() - started_s)
        self.assertLess(min(times), 0.02)

    def test_its_numbers_are_those_of_the_build_with_debians_libraries(self):
        database = synthetic_database(temporary_folder(self))
        for arguments in (["report", database, "--report", "all"], ["predict", database, "--workers", "8,64"]):
            ours, theirs = (run(program, *arguments, "--format", "json", env=self.clean)
                            for program in (self.program, PROGRAM))
            self.assertEqual(ours.stderr, theirs.stderr)
            self.assertEqual(json.loads(ours.stdout), json.loads(theirs.stdout))

    def test_the_package_finds_its_program(self):
        database = synthetic_database(temporary_folder(self))
        script = ("import ddpprof, sys; print(ddpprof.program()); db = ddpprof.open(sys.argv[1]); "
                  "assert type(db.steps) is list and len(db.steps) > 0; assert len(db.predict([8])['predictions']) > 0")
        done = run(self.venv / "bin/python", "-c", script, database, env=self.clean, cwd="/")
        self.assertEqual(done.stdout.strip(), str(self.program.resolve()))
        with zipfile.ZipFile(self.wheel) as archive:
            self.assertIn("ddpprof/py.typed", archive.namelist())

    def check_record(self, program):
        folder = temporary_folder(self)
        run(program, "record", "--out", "job.db", "--steps", "5-20", "--", sys.executable, TRAIN, "--steps", "30",
            cwd=folder, env=self.clean)
        (row,) = json.loads(run(program, "report", folder / "job.db", "--format", "json").stdout)["tables"][1]["rows"]
        self.assertEqual(row["batch_per_worker_samples"], 24)

    def test_record_finds_the_tracers(self):
        if LONG:
            self.check_record(self.program)
        link = temporary_folder(self) / "ddpprof"
        link.symlink_to(self.program)
        self.check_record(link)
        self.assertIn(str(self.venv.resolve() / "lib/libddpprof-tracer.so"), self.doctor())

    def test_it_has_completions_and_manual_pages(self):
        bash = self.venv / "share/bash-completion/completions/ddpprof"
        self.assertEqual(bash.read_text(), run(self.program, "completion", "bash").stdout)
        page = (self.venv / "share/man/man1/ddpprof-record.1").read_text()
        self.assertTrue(page.startswith('.TH "DDPPROF\\-RECORD"'), page[:100])

    def test_without_the_window_the_message_names_its_package(self):
        done = run(self.program, "gui", check=False, env={**self.clean, "DISPLAY": ":0"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("install the window (pip install ddpprof-gui)", done.stderr)

    @long_test
    def test_an_installation_with_a_prefix_as_for_a_user(self):
        prefix = temporary_folder(self)
        run(self.venv / "bin/pip", "install", "--no-index", "--prefix", prefix, "--ignore-installed", self.wheel, env=self.clean)
        self.check_record(prefix / "bin/ddpprof")

    def site_packages(self):
        (site,) = self.venv.glob("lib/python3*/site-packages")
        return site

    def run_a_scenario(self):
        scenario = ROOT / "scenarios/linear-10-1-ddp.yaml"
        return run(self.program, "run", scenario, "--out", "job.db", "--overwrite", check=False, env=self.clean,
                   cwd=self.folder)

    def doctor(self):
        return run(self.program, "doctor", "--format", "csv", check=False, env=self.clean).stdout

    def test_a_scenario_needs_the_workers_torch(self):
        torch = self.site_packages() / "torch"
        done = self.run_a_scenario()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("ddpprof-worker needs torch 2.11, and this environment has no torch", done.stderr)
        torch.mkdir()
        (torch / "version.py").write_text("__version__ = '2.9.1+cu128'\n")
        done = self.run_a_scenario()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("needs torch 2.11, and this environment has torch 2.9.1+cu128", done.stderr)
        (torch / "version.py").unlink()
        torch.rmdir()
        torch.symlink_to(pathlib.Path(importlib.util.find_spec("torch").origin).parent)
        try:
            done = self.run_a_scenario()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("ddp measured", done.stdout)
        finally:
            torch.unlink()

    @long_test
    def test_the_worker_for_the_installed_torch_is_chosen(self):
        """A copy of the worker serves another version: its libraries are those of the same torch."""
        (built_for,) = self.workers()
        bin_folder, torch = self.site_packages() / "ddpprof/bin", self.site_packages() / "torch"
        other = bin_folder / "torch-2.98.1"
        shutil.copytree(bin_folder / f"torch-{built_for}", other)
        torch.mkdir()
        (torch / "lib").symlink_to(pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib")
        try:
            for installed, chosen in ((f"{built_for}+cu130", built_for), ("2.98.0", "2.98.1")):
                (torch / "version.py").write_text(f"__version__ = '{installed}'\n")
                done = self.run_a_scenario()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"torch-{chosen}/ddpprof-worker: version", self.doctor())
            (torch / "version.py").write_text("__version__ = '2.99.0'\n")
            done = self.run_a_scenario()
            self.assertEqual(done.returncode, 3)
            self.assertIn("needs torch 2.11 or 2.98, and this environment has torch 2.99.0", done.stderr)
            self.assertIn("pip install torch==2.98.1", done.stderr)
            self.assertIn("pip install torch==2.98.1", self.doctor())
        finally:
            shutil.rmtree(torch)
            shutil.rmtree(other)

    @long_test
    def test_no_file_is_left_after_it_is_removed(self):
        venv = make_environment(temporary_folder(self) / "venv")

        def files():  # pip leaves empty folders, such as share/man
            return {path for path in venv.rglob("*") if not path.is_dir() and "__pycache__" not in path.parts}

        before = files()
        run(venv / "bin/pip", "install", "--no-index", self.wheel, env=self.clean)
        self.assertGreater(len(files()), len(before))
        run(venv / "bin/pip", "uninstall", "-y", "ddpprof", env=self.clean)
        self.assertEqual(files(), before)


if __name__ == "__main__":
    unittest.main()
