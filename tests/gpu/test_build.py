"""Which programs are tested, and whether the recorded commit is theirs. Needs Ninja and git, no torch and no GPU."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from process_test import ProcessTest  # noqa: E402
from suite import build  # noqa: E402

RULES = "rule copy\n  command = cp $in $out\nbuild bin/ddpprof: copy source\nbuild ddpprof: phony bin/ddpprof\n"


class Folders(ProcessTest):
    def setUp(self):
        super().setUp()
        for patch in (mock.patch.object(build, "ROOT", self.folder), mock.patch.dict(os.environ)):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop("DDPPROF_PROGRAM", None)

    def make(self, *files):
        for file in files:
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def test_the_first_folder_with_all_files(self):
        self.assertIsNone(build.folder_with("bin/ddpprof"))
        self.make("build/dev/bin/ddpprof", "build/check/bin/ddpprof", "build/check/bin/ddpprof-worker")
        self.assertEqual(build.folder_with("bin/ddpprof"), self.folder / "build" / "dev")
        self.assertEqual(build.folder_with("bin/ddpprof", "bin/ddpprof-worker"), self.folder / "build" / "check")
        self.make("bin/ddpprof")  # an unpacked archive
        self.assertEqual(build.folder_with("bin/ddpprof"), self.folder)
        os.environ["DDPPROF_PROGRAM"] = str(self.folder / "build" / "check" / "bin" / "ddpprof")
        self.assertEqual(build.folder_with("bin/ddpprof"), (self.folder / "build" / "check").resolve())


@unittest.skipUnless(shutil.which("ninja") and shutil.which("git"), "needs ninja and git")
class Commit(ProcessTest):
    def setUp(self):
        super().setUp()
        patch = mock.patch.object(build, "ROOT", self.folder)
        patch.start()
        self.addCleanup(patch.stop)
        git = ["git", "-C", str(self.folder), "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        self.head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True,
                                   text=True).stdout[:12]
        self.built = self.folder / "build"
        self.built.mkdir()
        (self.built / "CMakeCache.txt").write_text(f"CMAKE_MAKE_PROGRAM:FILEPATH={shutil.which('ninja')}\n")
        (self.built / "build.ninja").write_text(RULES)
        (self.built / "source").write_text("1")
        subprocess.run(["ninja", "-C", str(self.built)], check=True, stdout=subprocess.DEVNULL)

    def test_programs_that_are_up_to_date(self):
        self.assertEqual(build.commit(self.built), self.head)

    def test_programs_that_are_older_than_a_source(self):
        later_ns = (self.built / "bin" / "ddpprof").stat().st_mtime_ns + 2_000_000_000
        os.utime(self.built / "source", ns=(later_ns, later_ns))
        self.assertEqual(build.commit(self.built), f"{self.head} (programs older than the sources)")
        self.assertEqual((self.built / "bin" / "ddpprof").read_text(), "1", "the programs are not built")

    def test_what_cannot_be_compared_says_so(self):
        (self.built / "build.ninja").unlink()
        self.assertEqual(build.commit(self.built), f"{self.head} (programs not compared with the sources: Ninja fails)")
        (self.built / "CMakeCache.txt").write_text("CMAKE_MAKE_PROGRAM:FILEPATH=/usr/bin/make\n")
        self.assertIn("not built with Ninja", build.commit(self.built))
        self.assertIn("no build folder", build.commit(self.folder))

    def test_packed_programs_have_their_commit_in_a_file(self):
        (self.built / "commit").write_text("abc\n")
        self.assertEqual(build.commit(self.built), "abc")


if __name__ == "__main__":
    unittest.main()
