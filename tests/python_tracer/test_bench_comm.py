"""`ddpprof bench-comm -- LAUNCHER`: collectives timed in the user's own Python, with real ranks over Gloo."""
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from recorded import FOLDER, PROGRAM, TORCHRUN, environment

sys.path.append(str(FOLDER.parent / "cluster"))
import hosts  # noqa: E402
from tiers import LONG, long_test

LAUNCHER = TORCHRUN  # two ranks, without a script
MBIT = 200


class BenchComm(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def ddpprof(self, *words, code=0):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=400,
                              env=environment(OMP_NUM_THREADS="1"))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def rows(self, database, sql):
        with sqlite3.connect(self.folder / database) as opened:
            return opened.execute(sql).fetchall()

    def medians_ns(self, database, op):
        """By size, the median of the slowest rank's time."""
        times = {}
        for size, slowest_ns in self.rows(database, "SELECT bytes, MAX(duration_ns) FROM comm_point JOIN shard ON shard.id = "
                                                    f"shard_id WHERE op = '{op}' GROUP BY measurement_id, bytes, iteration"):
            times.setdefault(size, []).append(slowest_ns)
        return {size: statistics.median(values) for size, values in times.items()}

    def test_two_ranks_are_timed_and_added_to_a_job(self):
        self.ddpprof("record", "--tracer", "torch", "--out", "job.db", "--steps", "4-13", "--", *TORCHRUN, FOLDER / "train.py")
        before = self.rows("job.db", "SELECT points FROM fit WHERE name = 'all_reduce'")
        done = self.ddpprof("bench-comm", "--append", "job.db", "--limit", 120, "--", *LAUNCHER)
        self.assertEqual(self.rows("job.db", "SELECT kind, world_size, backend, device, nodes FROM measurement WHERE kind = "
                                             "'bench-comm'"), [("bench-comm", 2, "gloo", "cpu", 1)])
        self.assertEqual(self.rows("job.db", "SELECT COUNT(DISTINCT rank), COUNT(*) FROM shard JOIN measurement ON "
                                             "measurement.id = measurement_id WHERE kind = 'bench-comm'"), [(2, 2)])
        for op in ("all_reduce", "all_gather", "reduce_scatter"):
            self.assertIn(op, done.stdout)
            medians = self.medians_ns("job.db", op)
            self.assertEqual(min(medians), 1024)
            self.assertGreaterEqual(max(medians), 16 << 20)
            self.assertGreater(medians[16 << 20], 2 * medians[1 << 20], "times grow with the size")
        self.assertFalse((self.folder / "job.db.comm").exists())
        # The fit of the job's all-reduce then has the points of the sweep.
        after = self.rows("job.db", "SELECT points FROM fit WHERE name = 'all_reduce'")
        self.assertGreaterEqual(after[0][0], (before[0][0] if before else 0) + len(self.medians_ns("job.db", "all_reduce")) - 1,
                                done.stderr)
        self.assertNotIn("not used", self.ddpprof("predict", "job.db", "--workers", "4").stdout)

    @long_test
    def test_several_numbers_of_workers(self):
        command = [word if word != "2" else "{workers}" for word in LAUNCHER]
        self.ddpprof("bench-comm", "--workers", "2,3", "--limit", 60, "--out", "links.db", "--", *command)
        self.assertEqual(self.rows("links.db", "SELECT world_size FROM measurement ORDER BY 1"), [(2,), (3,)])
        self.assertIn("{workers}, and --workers is missing",
                      self.ddpprof("bench-comm", "--out", "x.db", "--", *command, code=2).stderr)

    def test_what_goes_wrong_is_told_and_stores_nothing(self):
        mistakes = (
                ((*LAUNCHER, "train.py"), 2, "bench-comm starts a script of its own"),
                (("no-such-launcher",), 3, "cannot be started"),
                ((*LAUNCHER, "--no-such-option"), 4, "the launcher ended with exit code 2 without results"),
                ((sys.executable,), 4, "ranks must be started by torchrun, srun or mpirun"),
                ((*LAUNCHER[:-1], "1"), 4, "a collective needs 2 ranks or more, and the launcher starts 1"),
                (("true", "{script}"), 4, "its ranks did not run the script"))
        for words, code, message in mistakes if LONG else (mistakes[0], mistakes[3], mistakes[5]):
            done = self.ddpprof("bench-comm", "--out", "links.db", "--", *words, code=code)
            self.assertIn(message, done.stderr, words)
            self.assertFalse((self.folder / "links.db").exists())
        if not LONG:
            return
        begin = time.monotonic()
        # Rank 1 never comes: the wait for it has the limit --timeout.
        alone = ["env", "RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29731", sys.executable]
        done = self.ddpprof("bench-comm", "--out", "links.db", "--timeout", 2, "--limit", 60, "--", *alone, code=4)
        self.assertRegex(done.stderr, "rank 0: .*[tT]ime")
        done = self.ddpprof("bench-comm", "--out", "links.db", "--limit", 10, "--", "sh", "-c", "sleep 1000; echo", code=4)
        self.assertIn("had not ended after 10 s (--limit)", done.stderr)
        self.assertLess(time.monotonic() - begin, 120)
        self.assertFalse((self.folder / "links.db").exists())

    @long_test
    def test_two_hosts_have_the_rate_of_their_link(self):
        """Between two hosts, a ring's all-reduce moves as many bytes as the vector has in each direction: 2 (N-1)/N S."""
        reason = hosts.why_not(share=False)
        if reason:
            self.skipTest(reason)
        with hosts.Hosts(2, MBIT) as two:
            start = "".join(
                f"nsenter --net=/run/netns/{two.namespace(rank)} env RANK={rank} LOCAL_RANK=0 WORLD_SIZE=2 "
                f"MASTER_ADDR={two.address(0)} MASTER_PORT=29517 GLOO_SOCKET_IFNAME=eth0 {sys.executable} \"$0\" \"$@\" & "
                for rank in range(2)) + "wait"
            self.ddpprof("bench-comm", "--nodes", 2, "--out", "links.db", "--limit", 100, "--", "sh", "-c", start, "{script}")
            # The hosts have one kernel and one name. Only their networks differ.
            unstated = self.ddpprof("bench-comm", "--out", "unstated.db", "--limit", 10, "--", "sh", "-c", start, "{script}")
            self.ddpprof("run", "--workers", "2", "--steps", "4-13", "--out", "run.db", "--", "sh", "-c", start,
                         FOLDER / "train.py")
        self.assertEqual(self.rows("links.db", "SELECT world_size, nodes FROM measurement"), [(2, 2)])
        self.assertEqual(self.rows("links.db", "SELECT message FROM diagnostic WHERE code = 'hosts_share_a_machine'"), [])
        self.assertIn("2 different networks", unstated.stderr)
        for database in ("unstated.db", "run.db"):
            self.assertEqual(self.rows(database, "SELECT nodes FROM measurement"), [(1,)])
            (advice,) = self.rows(database, "SELECT advice FROM diagnostic WHERE code = 'hosts_share_a_machine'")
            self.assertIn("--nodes 2", advice[0])
        medians = self.medians_ns("links.db", "all_reduce")
        large = 4 << 20
        expected_ns = large * 8 / (MBIT * 1e6) * 1e9
        print(f"all_reduce of 4 MiB over {MBIT} Mbit/s: {medians[large] * 1e-6:.1f} ms, expected {expected_ns * 1e-6:.1f} ms")
        self.assertGreater(medians[large], 0.95 * expected_ns)
        self.assertLess(medians[large], 1.35 * expected_ns)
        gathered = self.medians_ns("links.db", "all_gather")[large]  # (N-1)/N S at least
        self.assertGreater(gathered, 0.45 * expected_ns)
        self.assertLess(gathered, 1.35 * expected_ns)


if __name__ == "__main__":
    unittest.main()
