"""cpack's Debian package of this build: what it contains and depends on, and that its program runs from where it is unpacked."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from package import synthetic_database, temporary_folder
from wheels import clean_variables, run

BUILD = pathlib.Path(os.environ["DDPPROF_BUILD"])


class DebianPackage(unittest.TestCase):
    @classmethod
    def addCleanup(cls, *arguments, **options):  # temporary_folder() serves tests and this class
        cls.addClassCleanup(*arguments, **options)

    @classmethod
    def setUpClass(cls):
        if shutil.which("dpkg-shlibdeps") is None and os.environ.get("DDPPROF_COMPLETE") != "1":
            raise unittest.SkipTest("dpkg-shlibdeps is not installed (Debian: dpkg-dev)")
        cls.folder = temporary_folder(cls)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder, cwd=cls.folder)
        (cls.package,) = cls.folder.glob("*.deb")
        cls.root = cls.folder / "root"
        run("dpkg-deb", "--extract", cls.package, cls.root)

    def test_its_name_and_fields(self):
        self.assertRegex(self.package.name, r"^ddpprof_\d+\.\d+\.\d+_amd64\.deb$")
        fields = run("dpkg-deb", "--field", self.package).stdout
        depends = re.search(r"^Depends: (.+)$", fields, re.MULTILINE).group(1)
        for library in ("libc6", "libfmt", "libsqlite3", "libyaml-cpp", "libqt6widgets6"):
            self.assertIn(library, depends)
        self.assertNotIn("torch", depends)

    def test_its_files(self):
        files = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        self.assertLessEqual({"usr/bin/ddpprof", "usr/lib/libddpprof-tracer.so", "usr/lib/ddpprof-python/sitecustomize.py",
                              "usr/share/man/man1/ddpprof-run.1", "usr/share/bash-completion/completions/ddpprof",
                              "usr/share/doc/ddpprof/copyright"}, files)
        self.assertFalse({"usr/bin/ddpprof-worker"} & files)

    def test_its_program_runs_and_finds_its_tracer(self):
        program = self.root / "usr/bin/ddpprof"
        database = synthetic_database(self.folder)
        self.assertIn("ddp", run(program, "report", database, env=clean_variables()).stdout)
        doctor = subprocess.run([program, "doctor", "--format", "csv"], capture_output=True, text=True, timeout=120,
                                env=clean_variables())
        self.assertIn(str(self.root.resolve() / "usr/lib/libddpprof-tracer.so"), doctor.stdout)


if __name__ == "__main__":
    unittest.main()
