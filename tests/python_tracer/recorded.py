"""Runs jobs of this folder under `ddpprof record`, and reads the databases."""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent / "oracle"))  # tiers
PROGRAM = pathlib.Path(os.environ["DDPPROF_PROGRAM"])
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TRAIN = str(FOLDER / "train.py")


def environment(**more):
    """Returns this process's environment without variables that change how Python starts."""
    without = {"PYTHONPATH", "OMP_NUM_THREADS", "DDPPROF_PYTHON_DIR", "RANK", "WORLD_SIZE"}
    return {**{name: value for name, value in os.environ.items() if name not in without}, **more}


class Job:
    """A command in a folder of its own, with or without ddpprof."""

    def __init__(self, test, *command, options=(), env=None, files=None, plain=False):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name, text in (files or {}).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.database = self.folder / "job.db"
        record = [] if plain else [str(PROGRAM), "record", "--out", str(self.database), *options, "--"]
        done = subprocess.run(record + [str(word) for word in command], cwd=self.folder, capture_output=True, text=True,
                              timeout=300, env=env or environment())
        self.code, self.out, self.messages = done.returncode, done.stdout, done.stderr

    def rows(self, sql):
        with sqlite3.connect(self.database) as database:
            return database.execute(sql).fetchall()

    def one(self, sql):
        (row,) = self.rows(sql)
        return row if len(row) > 1 else row[0]

    def left(self):
        """Returns the names of the files that are in the folder now."""
        return sorted(path.name for path in self.folder.iterdir())
