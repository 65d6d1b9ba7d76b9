"""Trainings with other people's programs, unmodified, under `ddpprof record` and `ddpprof run --workers 1,2`: what ddpprof
found is what the scripts print of themselves.

    test_clients.py Clients.test_NAME

DDPPROF_CLIENTS_PYTHON is the interpreter of the environment with the programs (scripts/setup.sh, group `clients`).
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from clients import CLIENTS, PYTHON

PROGRAM = os.environ["DDPPROF_PROGRAM"]
FIRST, START, LAST = 10, 30, 49  # the default window: steps without the profiler from 10, with it from 30 to 49
LIMIT_S = 400


def facts_in(output):
    """Returns the facts that the client printed."""
    return json.loads(re.search(r"facts (\{.*\})", output)[1])


def without_facts(output):
    """Returns the sorted lines of an output, the losses as they are, others without numbers: times, process ids, ports."""
    kept = [line for line in output.splitlines() if "facts" not in line and "runtime" not in line]
    return sorted(line if line.startswith("step ") else re.sub(r"session_\S+|[0-9a-f]{16,}|\d+", "*", line) for line in kept)


def steps_in(output):
    """Returns the lines about steps, with their losses, in their order."""
    return [line for line in output.splitlines() if line.startswith("step ")]


class Clients(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, client, name, *program, workers=None):
        """Runs the client in a folder of its own."""
        folder = self.folder / name
        folder.mkdir()
        for file, text in client.files.items():
            (folder / file).write_text(text)
        command = [word if workers is None else word.replace("{workers}", str(workers)) for word in client.command()]
        without = {"PYTHONPATH", "OMP_NUM_THREADS", "RANK", "WORLD_SIZE"}
        environment = {key: value for key, value in os.environ.items() if key not in without}
        done = subprocess.run([*program, *command], cwd=folder, env={**environment, **client.environment},
                              capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
        return done, folder

    def rows(self, database, sql):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def check(self, client, database, facts, messages):
        """Compares the measurement of facts["world_size"] ranks with the facts."""
        workers = facts["world_size"]
        found = self.rows(database, "SELECT id, device, status, batch_per_worker, accumulation, parameter_count, "
                                    "parameter_bytes, strategy, json_extract(options, '$.optimizer'), backend FROM "
                                    f"measurement WHERE world_size = {workers}")
        self.assertEqual(len(found), 1, messages)
        measurement = found[0][0]
        self.assertEqual(found[0][1:], ("cpu", "ok", facts["batch"], facts["accumulation"], facts["parameter_count"],
                                        facts["parameter_bytes"], client.strategy,
                                        client.optimizer, "gloo"), messages)
        shards = f"FROM step st JOIN shard s ON s.id = st.shard_id WHERE s.measurement_id = {measurement}"
        for rank in range(workers):
            steps = self.rows(database, f"SELECT st.step, st.kind, st.samples {shards} AND s.rank = {rank} ORDER BY st.step")
            self.assertEqual([step[:2] for step in steps], [(step, "untraced") for step in range(FIRST, START - 1)] +
                             [(step, "measured") for step in range(START, LAST + 1)], messages)
            self.assertEqual({step[2] for step in steps}, {facts["batch"] * facts["accumulation"]})
        # The client's clock has the end of step k at index k - 1.
        own_s = sum(facts["step_s"][FIRST - 1:START - 3])
        stored_s = self.rows(database, f"SELECT SUM(st.duration_ns) * 1e-9 {shards} AND s.rank = 0 AND st.kind = 'untraced' "
                                       f"AND st.step < {START - 2}")[0][0]
        self.assertAlmostEqual(stored_s / own_s, 1, delta=0.05, msg="the same steps by the client's own clock")
        if "buckets" in facts:
            self.check_buckets(database, measurement, workers, facts["buckets"])

    def check_buckets(self, database, measurement, workers, buckets):
        sizes = {}
        for rank, step, size in self.rows(
                database, "SELECT s.rank, st.step, c.bytes FROM collective c JOIN step st ON st.id = c.step_id JOIN shard s "
                          f"ON s.id = st.shard_id WHERE s.measurement_id = {measurement} AND c.bucket >= 0 AND "
                          "st.kind = 'measured'"):
            sizes.setdefault((rank, step), []).append(size)
        if workers > 1:
            self.assertEqual(len(sizes), workers * (LAST - START + 1))
        for place, found in sizes.items():
            self.assertEqual(sorted(found), buckets, place)

    def need(self, client):
        """Skips the test if the client's package is not installed, and fails if it must be."""
        missing = subprocess.run([PYTHON, "-c", f"import {client.package}"], capture_output=True, text=True, timeout=LIMIT_S)
        if missing.returncode != 0:
            (self.fail if os.environ.get("DDPPROF_COMPLETE") else self.skipTest)(missing.stderr)

    def client(self, client):
        self.need(client)
        plain, plain_folder = self.start(client, "plain", workers=2)
        self.assertEqual(plain.returncode, 0, plain.stdout + plain.stderr)
        recorded, folder = self.start(client, "record", PROGRAM, "record", "--out", self.folder / "two.db", "--", workers=2)
        self.assertEqual(recorded.returncode, 0, recorded.stdout + recorded.stderr)
        self.assertEqual(without_facts(recorded.stdout), without_facts(plain.stdout), "the job prints what it prints alone")
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         sorted(path.name for path in plain_folder.iterdir()), "and leaves the same files")
        self.check(client, self.folder / "two.db", facts_in(recorded.stdout), recorded.stderr)
        swept, folder = self.start(client, "run", PROGRAM, "run", "--workers", "1,2", "--out", "sweep.db", "--")
        self.assertEqual(swept.returncode, 0, swept.stdout + swept.stderr)
        outputs = {workers: (folder / "sweep.db.d" / f"n{workers}-r0" / "output.log").read_text() for workers in (1, 2)}
        for output in outputs.values():
            self.check(client, folder / "sweep.db", facts_in(output), swept.stderr)
        self.assertEqual(steps_in(outputs[2]), steps_in(plain.stdout), "the job trains as it trains alone")
        made = {"sweep.db", "sweep.db.d"}
        self.assertEqual(sorted({path.name for path in folder.iterdir()} - made),
                         sorted(path.name for path in plain_folder.iterdir()))


def add_test(client):
    setattr(Clients, "test_" + client.name, lambda self: self.client(client))


for one in CLIENTS:
    add_test(one)

if __name__ == "__main__":
    unittest.main()
