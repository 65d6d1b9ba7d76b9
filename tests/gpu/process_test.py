"""The base of tests that start processes in a temporary folder."""

import pathlib
import tempfile
import time
import unittest

from suite import processes


class ProcessTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def pid(self, name="pid"):
        until = time.monotonic() + 20
        while not (text := (self.folder / name).read_text() if (self.folder / name).exists() else "").strip():
            self.assertLess(time.monotonic(), until, f"{name} was not written")
            time.sleep(0.02)
        return int(text)

    def assert_ended(self, pid):
        until = time.monotonic() + 10
        while processes.read(pid) is not None and time.monotonic() < until:
            time.sleep(0.02)
        self.assertIsNone(processes.read(pid))

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path
