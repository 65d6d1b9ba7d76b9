"""scripts/test-results: what it counts in a run of ctest, and in the second run of what failed."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test-results"


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for run in ("first", "second"):
            (self.folder / f"gtest-{run}").mkdir()

    def report(self, run, **entries):
        # The form that ctest writes: a skip and a test that could not start differ in the message alone.
        inside = {"skip": '<skipped message="SKIP_RETURN_CODE=77"/>',
                  "absent": '<skipped message="Unable to find executable"/>'}
        cases = "".join(f'<testcase name="{name.replace("__", ".")}" '
                        f'status="{"notrun" if status in inside else status}">{inside.get(status, "")}</testcase>'
                        for name, status in entries.items())
        (self.folder / f"{run}.xml").write_text(f"<testsuite>{cases}</testsuite>")

    def program(self, run, entry, **tests):
        inside = {"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}
        cases = "".join(f'<testcase name="{name}" classname="Suite" status="run">{inside[result]}</testcase>'
                        for name, result in tests.items())
        (self.folder / f"gtest-{run}" / f"{entry}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")

    def counts(self):
        return subprocess.run([SCRIPT, self.folder], capture_output=True, text=True, check=True).stdout.splitlines()

    def test_entries_without_a_result_file_count_once(self):
        self.report("first", graph="run", faults="fail", engines="skip")
        self.assertEqual(self.counts(), ["1 1 1"])

    def test_an_entry_whose_program_is_missing_has_failed(self):
        self.report("first", graph="run", unit__Suite="absent")
        self.assertEqual(self.counts(), ["1 1 0"])

    def test_an_entry_that_cannot_start_in_the_second_run_stays_failed(self):
        self.report("first", graph="fail")
        self.report("second", graph="absent")
        self.assertEqual(self.counts(), ["0 1 0"])

    def test_tests_of_a_program_count_one_by_one(self):
        self.report("first", unit__Suite="fail", graph="run")
        self.program("first", "unit.Suite", A="passed", B="passed", C="failed", D="skipped")
        self.assertEqual(self.counts(), ["3 1 1"])

    def test_a_program_that_fails_after_its_tests(self):
        self.report("first", unit__Suite="fail")
        self.program("first", "unit.Suite", A="passed")
        self.assertEqual(self.counts(), ["1 1 0"])

    def test_a_program_without_a_result_file(self):
        self.report("first", unit__Suite="fail")
        self.assertEqual(self.counts(), ["0 1 0"])

    def test_what_passes_in_the_second_run_is_named(self):
        self.report("first", unit__Suite="fail", graph="fail")
        self.program("first", "unit.Suite", A="passed", B="failed")
        self.report("second", unit__Suite="run", graph="fail")
        self.program("second", "unit.Suite", A="passed", B="passed")
        self.assertEqual(self.counts(), ["2 1 0", "Suite.B"])

    def test_a_program_that_ends_early_in_the_second_run(self):
        self.report("first", unit__Suite="fail")
        self.program("first", "unit.Suite", A="passed", B="failed")
        self.report("second", unit__Suite="fail")
        self.assertEqual(self.counts(), ["0 2 0"])


if __name__ == "__main__":
    unittest.main()
