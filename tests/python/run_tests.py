"""Runs one file of unittest tests and ends with 77, ctest's code for skipped, when no test of it ran.

    run_tests.py FILE [unittest's OPTION]…

Skipped is what a machine refuses, and only when nothing failed: a test of the file, its set-up or that of its class.
A file without tests has failed.
"""

import pathlib
import sys
import unittest

SKIPPED = 77


class Result(unittest.TextTestResult):
    """Counts what ran to its end; unittest's own count has skipped tests in it, too."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.ran = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.ran += 1

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self.ran += err is None

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.ran += 1


def exit_code(result):
    if not result.wasSuccessful():
        return 1
    if result.ran > 0:
        return 0
    return SKIPPED if result.skipped else 1


def main(path, *options):
    path = pathlib.Path(path).resolve()
    sys.path[0], sys.argv = str(path.parent), [str(path), *options]  # as if Python had been given the file
    runner = type("Runner", (unittest.TextTestRunner,), {"resultclass": Result})
    program = unittest.main(module=path.stem, argv=sys.argv, testRunner=runner, exit=False)
    return exit_code(program.result)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
