"""A test that fails while what it started has started more: nothing of it lives on."""

import os
import pathlib
import sys
import time
import unittest

os.environ.setdefault("DDPPROF_PROGRAM", "not asked for here")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))

from started_ranks import Rank, StartedRanks  # noqa: E402


class Inner(StartedRanks):
    PATIENCE_S = 0.5

    def test_starts_a_starter(self):
        # Like mpirun: the second process is not a child of this process. It has the folder's name and the first process's pipe.
        starter = Rank(["bash", "-c", 'tail -n 0 -f "$0/scenario.yaml" >/dev/null & wait', str(self.path)], {})
        self.ranks.append(starter)
        while not [pid for pid in self.processes() if pid != starter.pid]:  # ctest's limit is this wait's
            time.sleep(0.01)
        self.fail("as asked")


class Endings(unittest.TestCase):
    def test_what_is_left_is_told_and_ended(self):
        test, result = Inner("test_starts_a_starter"), unittest.TestResult()
        test.run(result)
        messages = [text for _, text in result.failures]
        self.assertEqual(len(messages), 2, (messages, result.errors))
        self.assertIn("as asked", messages[0])
        self.assertIn("a process is left", messages[1])
        end = time.monotonic() + 60
        while test.processes() and time.monotonic() < end:  # killed, not yet gone
            time.sleep(0.01)
        self.assertEqual(test.processes(), [])


# unittest would find it by itself, and it is to fail.
def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(Endings)


if __name__ == "__main__":
    unittest.main()
