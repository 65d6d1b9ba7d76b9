"""Rank folders from another person: how `ddpprof import` handles names, links and files that no worker wrote."""

import json
import os
import pathlib
import shutil
import socket
import unittest

from started_ranks import StartedRanks, five, free_port
from tiers import LONG

QUICKLY_S = 100  # an import that waits for a pipe would never end


class Foreign(StartedRanks):
    @classmethod
    def setUpClass(cls):
        cls.sent = None

    def setUp(self):
        super().setUp()
        self.database = self.path / "x.db"

    def folder(self):
        """A copy of what two ranks wrote, made once for all tests."""
        if type(self).sent is None:
            port = free_port()
            self.expect_done(*[self.start(five(rank, 2, port)) for rank in range(2)])
            keep = pathlib.Path(os.path.realpath(self.path)).with_name(self.path.name + "-kept")
            shutil.copytree(self.out, keep)
            type(self).sent = keep
            self.addClassCleanup(shutil.rmtree, keep)
        copy = self.path / "sent"
        if copy.exists():
            shutil.rmtree(copy)
        shutil.copytree(type(self).sent, copy)
        return copy / "attempt-0"

    def imported(self, *folders, code, expected=(), more=()):
        self.database.unlink(missing_ok=True)
        shutil.rmtree(f"{self.database}.d", ignore_errors=True)
        result = self.ddpprof("import", *(folders or [self.path / "sent"]), "--out", self.database, *more, timeout=QUICKLY_S)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in expected:
            self.assertIn(text, result.stderr)
        if code != 0:
            self.assertFalse(self.database.exists())
        return result

    def shard_of(self, attempt, rank):
        (shard,) = (attempt / "trace").glob(f"shard-{rank}-*.ddps")
        return shard

    def test_what_is_no_file_is_refused_and_named(self):
        def pipe(path):
            os.mkfifo(path)

        def listening(path):
            with socket.socket(socket.AF_UNIX) as server:
                here = os.getcwd()
                os.chdir(path.parent)  # a socket's path may have 108 bytes
                try:
                    server.bind(path.name)
                finally:
                    os.chdir(here)

        def loop(path):
            path.symlink_to(path.name)

        def link_out(path):
            secret = self.path / "secret"
            secret.write_text(json.dumps({"run": "x", "secret": 1}))
            path.symlink_to(secret)

        stand_ins = (("a pipe", pipe), ("a socket", listening), ("a symbolic link", loop), ("a symbolic link", link_out),
                     ("a folder", pathlib.Path.mkdir))
        names = (lambda attempt: attempt / "rank-1.json", lambda attempt: attempt / "result-1.json",
                 lambda attempt: attempt / "run-0.json", lambda attempt: attempt / "scenario-0.yaml",
                 lambda attempt: self.shard_of(attempt, 1))
        for what, make in stand_ins:
            for name in names if LONG else names[1::3]:
                path = name(self.folder())
                path.unlink()
                make(path)
                with self.subTest(what=what, path=path.name):
                    self.imported(code=5, expected=(f"{path} is {what}",))

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root makes devices")
    def test_a_device_is_refused(self):
        path = self.folder() / "result-0.json"
        path.unlink()
        try:
            os.mknod(path, 0o20644, os.makedev(1, 5))  # /dev/zero, which never ends
        except PermissionError as error:
            self.skipTest(f"skipped: this machine makes no devices: {error}")
        self.imported(code=5, expected=(f"{path} is a device",))

    def test_folders_that_lead_elsewhere(self):
        attempt = self.folder()
        (attempt / "trace").rename(self.path / "trace")
        (attempt / "trace").symlink_to(self.path / "trace")
        self.imported(code=5, expected=("trace is a symbolic link",))
        attempt = self.folder()
        attempt.rename(self.path / "elsewhere")
        attempt.symlink_to(self.path / "elsewhere")
        self.imported(code=5, expected=("attempt-0 is a symbolic link",))

    def test_sizes_beyond_reason(self):
        for name, size in (("result-1.json", 1 << 40), ("rank-0.json", 1 << 33), ("scenario-0.yaml", 1 << 33)):
            path = self.folder() / name
            os.truncate(path, size)  # a hole: nothing of it is on the disk
            self.imported(code=5, expected=(f"{path} has {size} bytes",))
        # A shard that claims to be large holds what it holds.
        shard = self.shard_of(self.folder(), 1)
        os.truncate(shard, 1 << 40)
        self.imported(code=0)

    def test_paths_in_files_lead_nowhere(self):
        attempt = self.folder()
        outside = self.path / "outside"
        for rank in range(2):
            path = attempt / f"scenario-{rank}.yaml"
            text = path.read_text()
            self.assertIn("  csv: \"\"", text)
            path.write_text(text.replace("  csv: \"\"", f"  csv: {outside}/tables").replace("  chrome: \"\"", f"  chrome: {outside}.json"))
            start = attempt / f"rank-{rank}.json"
            start.write_text(json.dumps(dict(json.loads(start.read_text()), scenario_file="../../../../etc/passwd")))
        self.imported(code=0, expected=(f"output.csv: {outside}/tables of the ranks' scenario is not written",
                                        f"output.chrome: {outside}.json of the ranks' scenario is not written"))
        self.assertEqual([path.name for path in self.path.iterdir() if path.name.startswith("outside")], [])
        self.assertEqual(self.query(self.database, "SELECT path FROM scenario"), [("passwd",)])

    def test_names_that_are_none(self):
        attempt = self.folder()
        (attempt / "run-0.json").write_text(json.dumps({"run": "../../x"}))
        self.imported(code=5, expected=("run-0.json: 'run' is not a name",))

    def test_a_copied_shard_counts_once(self):
        attempt = self.folder()
        self.imported(code=0)
        count = "SELECT sh.rank, count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id GROUP BY 1 ORDER BY 1"
        once = self.query(self.database, count)
        shard = self.shard_of(attempt, 1)
        shutil.copy(shard, attempt / "trace" / "shard-1-1.ddps")
        self.imported(code=0)
        self.assertEqual(self.query(self.database, count), once)
        (message,), = self.query(self.database, "SELECT message FROM diagnostic WHERE code = 'shard_twice'")
        self.assertIn("is a copy of", message)
        # A copy that was cut off does not take the place of the whole.
        cut = attempt / "trace" / "shard-1-0.ddps"
        shutil.copy(shard, cut)
        with open(cut, "r+b") as file:  # chunks_used, as when it was copied while the rank still wrote
            file.seek(32)
            file.write((0).to_bytes(8, "little"))
        self.imported(code=0)
        self.assertEqual(self.query(self.database, count), once)
        # Under another rank's name it would count there.
        shutil.copy(shard, attempt / "trace" / "shard-0-7.ddps")
        self.imported(code=5, expected=("shard-0-7.ddps belongs to rank 1, but its name has rank 0",))


if __name__ == "__main__":
    unittest.main()
