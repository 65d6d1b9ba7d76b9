"""ddpprof export --format anonymous: no name of the original is left, and reports and predictions have the same numbers."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["DDPPROF_PROGRAM"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRACES = ROOT / "tests/analysis/import"
# Columns whose values are names of the user: of these no value may be left that is not public.
NAMES = {"measurement": ["model"], "shard": ["host", "boot_id", "process"], "host_condition": ["host"],
         "parameter": ["name"], "thread": ["name"], "sharded_unit": ["name"], "process_group": ["name", "description"],
         "string": ["value"], "scenario": ["name", "path"]}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def numbers(value):
    """All numbers of a JSON document, in order."""
    if isinstance(value, dict):
        return [number for member in value.values() for number in numbers(member)]
    if isinstance(value, list):
        return [number for member in value for number in numbers(member)]
    return [value] if isinstance(value, (int, float)) else []


def found(name, content):
    """Whether a name is in the bytes as a word of its own: "node" is also a part of the schema's words, "detach" of aten::detach."""
    return re.search(rb"(?<![A-Za-z0-9_:])" + re.escape(name) + rb"(?![A-Za-z0-9_])", content) is not None


def texts(database, table, column):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        connection.text_factory = bytes
        return {row[0] for row in connection.execute(f'SELECT DISTINCT "{column}" FROM "{table}"') if isinstance(row[0], bytes)}


class Anonymous(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.database, self.out = self.folder / "job.db", self.folder / "anonymous.db"

    def export(self):
        run(PROGRAM, "export", self.database, "--format", "anonymous", "--out", self.out)

    def check_numbers(self, *more_predictions):
        for words in (["report", "FILE", "--report", "all"], ["predict", "FILE", "--workers", "2,8,64"],
                      *more_predictions):
            first, second = (json.loads(run(PROGRAM, *[file if word == "FILE" else word for word in words], "--format", "json"))
                             for file in (self.database, self.out))
            self.assertEqual([table["name"] for table in first["tables"]], [table["name"] for table in second["tables"]])
            for one, other in zip(first["tables"], second["tables"]):
                self.assertEqual(numbers(one["rows"]), numbers(other["rows"]), one["name"])
        self.assertGreater(len(numbers(first["tables"])), 10)

    def check_names(self, public=()):
        """The values of NAMES that are also in the new database are public; the others are nowhere in its bytes."""
        content = self.out.read_bytes()
        replaced = 0
        for table, columns in NAMES.items():
            for column in columns:
                originals, left = texts(self.database, table, column), texts(self.out, table, column)
                self.assertEqual(len(originals), len(left), (table, column))  # one name for each
                for name in originals - left:
                    replaced += 1
                    if len(name) > 3:
                        self.assertFalse(found(name, content), (table, column, name))
                for name in originals & left:
                    self.assertTrue(re.fullmatch(rb"\d*", name) or name.decode().startswith(tuple(public)), (table, column, name))
        return replaced

    def test_a_recorded_job(self):
        traces = TRACES / "cases/data/kineto_blocking_gloo_all_reduces_after_backward"
        run(PROGRAM, "import", *sorted(traces.glob("rank*.json.gz")), "--model", "acme-llm", "--out", self.database)
        self.export()
        self.check_numbers()
        self.assertGreater(self.check_names(public=("aten::", "c10d::", "autograd::", "gloo:", "operation", "annotation",
                                                    "python", "ProfilerStep#", "record_param_comms", "default_pg")), 5)
        self.assertFalse(b"acme" in self.out.read_bytes())

    def test_a_name_that_is_an_ordinary_word_does_not_change_messages(self):
        traces = TRACES / "cases/data/kineto_blocking_gloo_all_reduces_after_backward"
        run(PROGRAM, "import", *sorted(traces.glob("rank*.json.gz")), "--model", "job", "--out", self.database)
        with sqlite3.connect(self.database) as connection:
            connection.execute("INSERT INTO diagnostic SELECT MAX(id), 0, 'warning', 'made', 3, ?, ? FROM measurement",
                               ("the job of acme-job has 2 ranks", "run the job with 8 ranks"))
            connection.execute("UPDATE shard SET process = 'acme-job'")
        run(PROGRAM, "export", self.database, "--format", "anonymous", "--out", self.out,
            env={**os.environ, "DDPPROF_SEALS": "ignore"})
        self.assertEqual(texts(self.out, "measurement", "model"), {b"job"})
        self.assertIn(b"run the job with 8 ranks", texts(self.out, "diagnostic", "advice"))
        self.assertIn(b"the job of process-1 has 2 ranks", texts(self.out, "diagnostic", "message"))
        self.assertFalse(b"acme" in self.out.read_bytes())

    def test_a_sharded_job(self):
        run(PROGRAM, "import", TRACES / "torch_versions/data/2.11.0/fsdp2", "--out", self.database)
        self.export()
        self.check_numbers()
        # The trace names no model, so that ddpprof calls it "job": an ordinary word, which tells nothing.
        self.check_names(public=("aten::", "c10d::", "autograd::", "gloo:", "operation", "annotation", "python",
                                 "ProfilerStep#", "record_param_comms", "default_pg", "mesh_", "job"))

    def test_a_run_of_a_scenario(self):
        run(os.environ["DDPPROF_SYNTHETIC"], self.database)
        self.export()
        self.check_numbers(["lr", "FILE", "--workers", "8,64"])
        self.check_names()
        (resolved,) = texts(self.out, "scenario", "resolved")
        (source,) = texts(self.out, "scenario", "source")
        self.assertEqual(source, resolved)
        self.assertIn(b'name: "scenario-1"', resolved)

    def test_texts_for_people(self):
        run(os.environ["DDPPROF_SYNTHETIC"], self.database)
        # Without seals, as another program writes it.
        with sqlite3.connect(self.database) as connection:
            connection.execute("INSERT INTO diagnostic VALUES (1, 0, 'warning', 'made', 3, ?, ?)",
                               ("rank 3 on node read '/home/alice/acme/data.bin' and acme-trace.json.gz from 10.1.2.3 "
                                "after 17 steps; the rank's time is 4 s", "look at /scratch/alice/log"))
            connection.execute("UPDATE measurement SET message = 'process acme-train was killed'")
            connection.execute("UPDATE shard SET process = 'acme-train'")
        unsealed = {**os.environ, "DDPPROF_SEALS": "ignore"}
        run(PROGRAM, "export", self.database, "--format", "anonymous", "--out", self.out, env=unsealed)
        content = self.out.read_bytes()
        for name in (b"alice", b"acme", b"10.1.2.3", b"/home", b"/scratch"):
            self.assertFalse(name in content, name)
        (message,) = texts(self.out, "diagnostic", "message") - texts(self.database, "diagnostic", "message")
        self.assertEqual(message, b"rank 3 on host-1 read 'name' and file from address after 17 steps; the rank's time is 4 s")
        self.assertEqual(texts(self.out, "measurement", "message"), {b"process process-1 was killed"})

    def test_a_command_of_a_scenario(self):
        scenario = self.folder / "acme.yaml"
        scenario.write_text("name: acme-job\nworkload:\n  command: [torchrun, --nproc-per-node, '{workers}', acme_train.py]\n")
        run(os.environ["DDPPROF_SYNTHETIC"], self.database)
        with sqlite3.connect(self.database) as connection:
            resolved = run(PROGRAM, "validate", scenario, "--print")
            connection.execute("UPDATE scenario SET name = 'acme-job', path = 'acme.yaml', source = ?, resolved = ?",
                               (scenario.read_text(), resolved))
        run(PROGRAM, "export", self.database, "--format", "anonymous", "--out", self.out,
            env={**os.environ, "DDPPROF_SEALS": "ignore"})
        self.assertFalse(b"acme" in self.out.read_bytes())
        (made,) = texts(self.out, "scenario", "resolved")
        self.assertIn(b"{workers}", made)
        again = self.folder / "again.yaml"
        again.write_bytes(made)
        run(PROGRAM, "validate", again)

    def test_the_new_file_is_a_database_and_is_not_exported_over_the_original(self):
        run(os.environ["DDPPROF_SYNTHETIC"], self.database)
        self.export()
        run(PROGRAM, "report", self.out)
        done = subprocess.run([PROGRAM, "export", self.database, "--format", "anonymous", "--out", self.database],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["anonymous.db", "job.db"])


if __name__ == "__main__":
    unittest.main()
