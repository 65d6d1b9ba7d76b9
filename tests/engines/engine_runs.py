"""What the tests of all engines share: commands as the documents have them, and what the database must say afterwards."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "oracle"), str(ROOT / "tests" / "cluster")]

from started_ranks import LONG_S, PROGRAM, StartedRanks, clean_environment  # noqa: E402

PAGES = ROOT / "docs" / "guide" / "engines"
MEASURED_STEPS = 6  # of started_ranks.SCENARIO
LIMIT_S = 420  # for a whole run on a machine with other work; ctest's own limit is above it


def lacks(what):
    """What the set-up installs is missing: skipped, but not where everything is to be there."""
    if os.environ.get("DDPPROF_COMPLETE") == "1":
        raise AssertionError(f"{what}; scripts/setup.sh installs it")
    raise unittest.SkipTest(what)


def need_programs(package, *programs):
    found = [program for program in programs if shutil.which(program, path=search_path()) is None]
    if found:
        lacks(f"no program {', '.join(found)} (Debian package {package})")


def search_path():
    """Where the commands of the documents look: ddpprof, torchrun, and what Debian keeps for root."""
    return ":".join([str(pathlib.Path(PROGRAM).parent), str(pathlib.Path(sys.executable).parent), os.environ["PATH"],
                     "/usr/sbin", "/sbin"])


def page_commands(page):
    """The lines of a page's `sh` blocks, by the word that the block's first line, a comment, ends with."""
    blocks, block = {}, None
    for line in (PAGES / page).read_text().splitlines():
        if line == "```sh":
            block = []
        elif line == "```" and block is not None:
            blocks[block[0].split()[-1]] = "\n".join(block[1:])
            block = None
        elif block is not None:
            block.append(line)
    return blocks


def wait_until(condition, what, limit_s=LIMIT_S, watched=()):
    """Polls; a process of `watched` that ends first is a failure, told with its output."""
    end = time.monotonic() + limit_s
    while not condition():
        for rank in watched:
            if rank.process.poll() is not None and not condition():
                out, messages = rank.process.communicate()
                raise AssertionError(f"ended with {rank.process.returncode} before {what}: {out}{messages}")
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what}")
        time.sleep(0.1)


class EngineTest(StartedRanks):
    def setUp(self):
        super().setUp()
        self.results = self.path / "results"  # as the documents' commands call it

    def environment(self, **more):
        return {**clean_environment(), "PATH": search_path(), **more}

    def shell(self, command, timeout=LIMIT_S, **environment):
        """A document's command in this test's folder; everything that it says is in the result's stdout."""
        return subprocess.run(["bash", "-c", f"set -e\n{command}"], cwd=self.path, env=self.environment(**environment),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)

    def expect_run(self, world_size, started_by, hosts=1, folders=(), job=None):
        """`ddpprof import` makes one whole measurement of what the ranks left. Returns the database."""
        database = self.path / "run.db"
        result = self.ddpprof("import", *(folders or [self.results]), "--out", database, "--overwrite", timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.query(database, "SELECT kind, strategy, world_size, status, nodes FROM measurement"),
                         [("train", "ddp", world_size, "ok", hosts)])
        self.assertEqual(self.query(database, "SELECT sh.rank, count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id "
                                              "WHERE st.kind = 'measured' GROUP BY 1 ORDER BY 1"),
                         [(rank, MEASURED_STEPS) for rank in range(world_size)])
        self.assertEqual(self.query(database, "SELECT count(DISTINCT host) FROM shard"), [(hosts,)])
        options = json.loads(self.query(database, "SELECT options FROM measurement")[0][0])
        self.assertEqual(options.get("started_by"), started_by)
        if job is not None:
            self.assertEqual(options.get("job"), job)
        self.assertEqual(self.query(database, "SELECT message FROM diagnostic WHERE severity = 'error'"), [])
        self.assertGreater(self.query(database, "SELECT count(*) FROM collective WHERE skew_ns IS NOT NULL")[0][0], 0)
        self.expect_identical_parameters(world_size)
        return database, result

    def expect_identical_parameters(self, world_size):
        """Of the last attempt of every rank that left a result."""
        last = {}
        for path in sorted(self.path.glob("**/attempt-*/result-*.json"), key=lambda path: path.stat().st_mtime):
            found = json.loads(path.read_text())
            last[found["rank"]] = found["parameter_hash"]
        self.assertEqual(sorted(last), list(range(world_size)))
        self.assertEqual(len(set(last.values())), 1, last)
