"""What run_tests.py ends with, for files whose tests pass, fail and are skipped in every place."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parent / "run_tests.py"

PASSES = "def test_passes(self): pass"
FAILS = "def test_fails(self): self.fail('as asked')"
SKIPS = "def test_skips(self): self.skipTest('as asked')"
SKIPPED_CLASS = "@classmethod\n    def setUpClass(cls): raise unittest.SkipTest('as asked')"
BROKEN_CLASS = "@classmethod\n    def setUpClass(cls): raise RuntimeError('as asked')"
SUBTESTS = """def test_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                if part < {skipped}: self.skipTest('as asked')"""


class Codes(unittest.TestCase):
    def ends_with(self, *classes):
        """The exit code for a file with one class for each list of members."""
        with tempfile.TemporaryDirectory(prefix="ddpprof-run-tests-") as folder:
            file = pathlib.Path(folder) / "test_of_somebody.py"
            text = ["import unittest"]
            for number, members in enumerate(classes):
                text += [f"class Case{number}(unittest.TestCase):", *(f"    {member}" for member in members)]
            file.write_text("\n".join(text) + "\n")
            done = subprocess.run([sys.executable, "-B", RUNNER, file, "-v"], capture_output=True, text=True, timeout=60)
            self.assertNotIn("SyntaxError", done.stderr)
            return done.returncode

    def test_what_ran(self):
        self.assertEqual(self.ends_with([PASSES]), 0)
        self.assertEqual(self.ends_with([PASSES, SKIPS]), 0)
        self.assertEqual(self.ends_with([PASSES], [SKIPPED_CLASS, PASSES]), 0)
        self.assertEqual(self.ends_with([SUBTESTS.format(skipped=1)]), 0)

    def test_the_file_sees_itself_as_the_program(self):
        self.assertEqual(self.ends_with(["def test_it(self): import sys; assert sys.argv[0] == __file__"]), 0)

    def test_what_was_skipped(self):
        self.assertEqual(self.ends_with([SKIPS]), 77)
        self.assertEqual(self.ends_with([SKIPPED_CLASS, PASSES]), 77)
        self.assertEqual(self.ends_with([SKIPPED_CLASS, PASSES], [SKIPS]), 77)
        self.assertEqual(self.ends_with([SUBTESTS.format(skipped=2)]), 77)

    def test_what_failed(self):
        self.assertEqual(self.ends_with([FAILS]), 1)
        self.assertEqual(self.ends_with([FAILS, SKIPS]), 1)
        self.assertEqual(self.ends_with([BROKEN_CLASS, PASSES]), 1)  # unittest says "Ran 0 tests" here, too
        self.assertEqual(self.ends_with([BROKEN_CLASS, PASSES], [SKIPPED_CLASS, PASSES]), 1)
        self.assertEqual(self.ends_with(["raise RuntimeError('as asked')"]), 1)  # while it is read

    def test_a_file_without_tests_has_failed(self):
        self.assertEqual(self.ends_with(["pass"]), 1)


if __name__ == "__main__":
    unittest.main()
