"""Databases that older programs wrote: upgraded without loss, or left unchanged with a message that helps.

tests/cli/old_databases/README.md says which commits wrote the files, and how. reports.json.gz has what these programs
printed of their files.
"""
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
from tiers import LONG  # noqa: E402: found by the line above

PROGRAM = os.environ["DDPPROF_PROGRAM"]
FILES = pathlib.Path(__file__).resolve().parent / "old_databases"
TRACES = FILES.parent.parent / "analysis/import/cases/data/kineto_blocking_gloo_all_reduces_after_backward"
# Until version 6 a step's time was that of its slowest rank. Now it is the mean of the ranks, and the slowest rank is a column.
OLD_STEP = 6
RENAMED = {("steps", "step_s"): "slowest_rank_s"}
OF_THE_STEP = {"share_of_step", "step_median_s", "exposed_share", "throughput_samples_per_s", "speedup", "weak_efficiency"}


def run(*words, code=0, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != code:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def unprivileged():
    """The start of a command that has no right to write read-only files."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]


def version_of(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def rows_of(database):
    """Table → (its columns, its rows in order)."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        connection.text_factory = bytes
        names = [name.decode() for (name,) in
                 connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        found = {}
        for name in names:
            cursor = connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid')
            found[name] = ([column[0] for column in cursor.description], cursor.fetchall())
        return found


def shape_of(database):
    """The columns of each table and view, with their types."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        names = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') "
                                   "AND name NOT LIKE 'sqlite_%'").fetchall()
        columns = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'
        return {(kind, name): connection.execute(columns, (name,)).fetchall() for kind, name in names}


class OldDatabases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.current = int(re.search(r"database schema (\d+)", run(PROGRAM, "--version", "--verbose").stdout).group(1))
        cls.files = sorted(FILES.glob("*/*.db.gz"))

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def each(self):
        """Each old file; its unpacked copy, in a folder of its own; and its schema version. Without long tests the oldest
        and the newest file of the two kinds: of a sweep, and of an import."""
        for packed in self.files if LONG else (self.files[0], self.files[-2]):
            database = self.folder / packed.parent.name / packed.stem.removesuffix(".db") / packed.stem
            database.parent.mkdir(parents=True)
            database.write_bytes(gzip.decompress(packed.read_bytes()))
            yield packed, database, version_of(database)

    def test_the_files_are_of_older_versions(self):
        versions = {int(packed.parent.name.removeprefix("version-")) for packed in self.files}
        self.assertIn(1, versions)
        self.assertGreaterEqual(len(versions), 3)
        for packed, _, version in self.each():
            self.assertEqual(packed.parent.name, f"version-{version}")
            self.assertLess(version, self.current)

    def test_the_upgrade_keeps_every_value(self):
        for _, database, version in self.each():
            before = rows_of(database)
            self.assertTrue(before["step"][1] and before["collective"][1])
            done = run(PROGRAM, "report", database)
            self.assertIn(f"was updated from schema version {version} to {self.current}", done.stderr)
            self.assertEqual(version_of(database), self.current)
            after = rows_of(database)
            for table, (columns, rows) in before.items():
                places = [after[table][0].index(column) for column in columns]
                self.assertEqual([tuple(row[place] for place in places) for row in after[table][1]], rows, table)
            self.assertEqual(run(PROGRAM, "report", database).stderr, "")  # the second time nothing is updated

    def test_an_upgraded_file_has_the_tables_and_views_of_a_new_one(self):
        new = self.folder / "new.db"
        run(PROGRAM, "import", *sorted(TRACES.glob("rank*.json.gz")), "--out", new)
        expected = shape_of(new)
        self.assertEqual({kind for kind, _ in expected}, {"table", "view"})
        for _, database, _ in self.each():
            run(PROGRAM, "report", database)
            self.assertEqual(shape_of(database), expected, database)

    def test_reports_have_the_figures_that_the_older_program_printed(self):
        for packed, database, version in self.each():
            reports = packed.with_name(packed.name.replace(".db.gz", ".reports.json.gz"))
            printed = json.loads(gzip.decompress(reports.read_bytes()))
            figures = 0
            for report, old in printed.items():
                new = json.loads(run(PROGRAM, "report", database, "--report", report, "--format", "json").stdout)
                tables = {table["name"]: table for table in new["tables"]}
                for table in old["tables"]:
                    figures += self.compare(version, report, table, tables)
            self.assertGreater(figures, 100)

    def compare(self, version, report, old, tables):
        """Compares the rows of a table in the columns that both programs have. Returns the number of equal figures."""
        if not old["rows"]:
            return 0
        new = tables[old["name"]]
        known = {column["name"] for column in new["columns"]}
        columns = [column["name"] for column in old["columns"] if column["kind"] != "text" and column["name"] in known]
        self.assertEqual(len(old["rows"]), len(new["rows"]), f"{report}: {old['name']}")
        equal = 0
        for row, (before, after) in enumerate(zip(old["rows"], new["rows"])):
            for column in columns:
                if before[column] is None:
                    continue
                now = column
                if version <= OLD_STEP and before["workers"] > 1:
                    if column in OF_THE_STEP:
                        continue
                    now = RENAMED.get((old["name"], column), column)
                self.assertAlmostEqual(before[column], after[now], delta=1e-9 * abs(before[column]),
                                       msg=f"{report}: {old['name']}, row {row}, {column}")
                equal += 1
        return equal

    def test_every_command_reads_an_older_file(self):
        for packed, database, version in self.each():
            unchanged = database.read_bytes()
            for words in (["predict", database, "--workers", "8,64"], ["lr", database, "--workers", "8"],
                          ["compare", database, database],
                          ["export", database, "--format", "chrome", "--out", database.with_suffix(".json")]):
                database.write_bytes(unchanged)
                done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)
                self.assertIn(done.returncode, (0, 5), done.stderr)
                self.assertIn(f"ddpprof {words[0]}: {database} was updated from schema version {version}", done.stderr)

    def test_quiet_hides_the_note(self):
        _, database, _ = next(self.each())
        self.assertEqual(run(PROGRAM, "report", database, "-q").stderr, "")
        self.assertEqual(version_of(database), self.current)

    def test_a_read_only_file_is_refused_with_what_to_do(self):
        for _, database, version in self.each():
            unchanged = database.read_bytes()
            database.chmod(0o444)
            done = run(*unprivileged(), PROGRAM, "report", database, code=4)
            self.assertIn(f"updates the file from schema version {version} to {self.current}", done.stderr)
            self.assertIn("no permission to write", done.stderr)
            self.assertIn("copy the file to a folder of your own", done.stderr)
            self.assertEqual(database.read_bytes(), unchanged)
            copy = database.with_name("copy.db")
            copy.write_bytes(unchanged)
            run(*unprivileged(), PROGRAM, "report", copy)

    def test_a_folder_without_write_permission_is_refused_with_what_to_do(self):
        for _, database, version in self.each():
            unchanged = database.read_bytes()
            database.parent.chmod(0o555)
            try:
                done = run(*unprivileged(), PROGRAM, "report", database, code=4)
            finally:
                database.parent.chmod(0o755)
            self.assertIn("copy the file to a folder of your own", done.stderr)
            self.assertEqual(database.read_bytes(), unchanged)

    def test_an_upgrade_that_the_disk_stops_leaves_the_file_as_it_was(self):
        for _, database, version in self.each():
            unchanged = database.read_bytes()
            limit = len(unchanged)  # the upgrade adds pages
            done = run(PROGRAM, "report", database, code=4,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertIn(f"updates the file from schema version {version} to {self.current}; the file is unchanged",
                          done.stderr)
            self.assertIn("ulimit -f", done.stderr)
            self.assertEqual(database.read_bytes(), unchanged)
            run(PROGRAM, "report", database)
            self.assertEqual(version_of(database), self.current)


if __name__ == "__main__":
    unittest.main()
