"""The disk that a run writes to is full."""

import ctypes
import json
import os
import shutil
import subprocess
import time
import unittest

from faulty_runs import FaultTest, wait_until, why_skipped
from tiers import long_test

CLONE_NEWNS = 0x00020000  # sched.h
MIB = 1 << 20
STEPS = 2500


def why_no_mounts_of_its_own():
    """Gives this process its own mounts, which go with it however it ends. Returns what the machine refuses, or ""."""
    for program in ("mount", "umount"):
        if shutil.which(program) is None:
            return f"no program '{program}' (package mount)"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        return f"no mounts of one's own can be had here: {os.strerror(ctypes.get_errno())}"
    private = subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, text=True)
    return "" if private.returncode == 0 else f"mounts cannot be made private here: {private.stderr.strip()}"


class Disk(FaultTest):
    @classmethod
    def setUpClass(cls):
        cls.why_not = why_no_mounts_of_its_own()

    def small_disk(self, folder, size_bytes):
        """A file system of its own at `folder`, which need not be there."""
        if self.why_not:
            why_skipped(self, self.why_not)
        folder.mkdir(exist_ok=True)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", folder], capture_output=True, text=True)
        if made.returncode != 0:
            why_skipped(self, f"no file system can be mounted here: {made.stderr.strip()}")
        # Before the folder is removed, whatever still looks into it.
        self.addCleanup(subprocess.run, ["umount", "--lazy", folder], check=True)

    def test_disk_full_while_tracing(self):
        """The shards lie on a disk of 3 MiB: both ranks fill it, train on to their end and write their results."""
        self.scenario.write_text(self.scenario.read_text().replace("workers: [1, 2]", "workers: [2]")
                                 .replace("steps: 6000", f"steps: {STEPS}"))
        self.small_disk(self.path / "run.db.d", 3 * MIB)
        code, messages, seconds = self.finish(self.start(*self.run_arguments()), 600)
        self.assertIn(code, (0, 5), messages)  # 5: too few steps are left to predict from
        self.expect_nobody_left()
        report = self.expect_kept(n2="ok")
        results = [json.loads((self.measurement_folder(2) / f"result-{rank}.json").read_text()) for rank in range(2)]
        self.assertEqual([result["steps"]["measured"] for result in results], [STEPS, STEPS])
        lost = self.query("SELECT rank, count, severity, message FROM diagnostic WHERE code = 'shard_full' ORDER BY rank")
        self.assertEqual([row[0] for row in lost], [0, 1])
        for _, count, severity, message in lost:
            self.assertGreater(count, 100)
            self.assertEqual(severity, "error")
            self.assertIn("the shard could not grow (No space left on device) and later records were dropped", message)
        self.assertIn("the shard could not grow", report)
        kept = [row[0] for row in self.query("SELECT count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id "
                                             "WHERE st.kind = 'measured' GROUP BY sh.rank ORDER BY sh.rank")]
        self.assertEqual(len(kept), 2)
        self.assertTrue(all(100 < steps < STEPS for steps in kept), kept)
        self.row("the disk with the shards is full while a run traces", f"rank 0: {lost[0][3]}", code, seconds,
                 f"all steps are trained; rank 0's first {kept[0]} of {STEPS} are there, {lost[0][1]} records are lost and counted")

    @long_test
    def test_disk_full_for_the_database(self):
        self.scenario.write_text(self.scenario.read_text().replace("steps: 6000", "steps: 300"))
        disk = self.path / "disk"
        self.small_disk(disk, 12 * MIB)
        self.database = disk / "run.db"
        filler = disk / "other-file"
        run = self.start("run", self.scenario, "--out", self.database, "--set", "output.raw=all")
        self.assertTrue(wait_until(lambda: [*(disk / "run.db.d" / "ddp-n1-r0" / "trace").glob("*.ddps")]))
        begin = time.monotonic()
        with filler.open("ab", buffering=0) as file:
            def full():  # all but 64 KiB, also of what a rank gives back at its end: the load needs more
                free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
                try:
                    file.write(bytes(max(0, free - MIB // 16)))
                except OSError:  # a rank was faster
                    pass
                return run.poll() is not None
            self.assertTrue(wait_until(full, 600), "the run did not end")
        code, messages, _ = self.finish(run)
        seconds = time.monotonic() - begin
        self.assertEqual(code, 4, messages)
        self.assertRegex(messages, r"(?s)(run\.db: the disk is full .*free space|No space left).*--resume")
        self.expect_nobody_left()
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])
        self.assertNotIn(("ok",), self.query("SELECT status FROM measurement"))
        filler.unlink()
        subprocess.run(["mount", "-o", f"remount,size={512 * MIB}", disk], check=True)
        again = self.ddpprof("run", self.scenario, "--out", self.database, "--set", "output.raw=all", "--resume")
        self.assertIn(again.returncode, (0, 5), again.stderr)
        self.assertEqual(self.query("SELECT world_size, status FROM measurement ORDER BY 1"), [(1, "ok"), (2, "ok")])
        self.row("the disk with the database is full", messages, code, seconds,
                 "a sound database; `--resume` goes on once there is room", r"ddpprof run: .*")


if __name__ == "__main__":
    unittest.main()
