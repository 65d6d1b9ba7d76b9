"""ddpprof.profile in real trainings: the database has the window's steps of every rank."""
import json
import subprocess
import sys
import unittest

from package import FOLDER, PROGRAM, environment, temporary_folder

import ddpprof
from tiers import LONG, long_test

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
FIRST, LAST = 5, 20
TRACED = range(LAST - 7, LAST + 1)  # the second half of the window of 16 steps


class Profile(unittest.TestCase):
    def train(self, *options, command=(sys.executable,), ranks=1, prefix=(), **variables):
        self.folder = temporary_folder(self)
        done = subprocess.run([*prefix, *command, FOLDER / "profiled.py", "job.db", *map(str, options)], cwd=self.folder,
                              env=environment(**variables), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.messages = done.stderr
        return [json.loads((self.folder / f"facts-{rank}.json").read_text()) for rank in range(ranks)]

    def left(self):
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("facts"))

    def check_database(self, facts, ranks):
        db = ddpprof.open(self.folder / "job.db")
        steps = list(db.report("steps")["steps"])
        self.assertEqual([row["step"] for row in steps if row["kind"] == "measured"], list(TRACED))
        self.assertEqual([row["step"] for row in steps if row["kind"] == "untraced"], list(range(FIRST, TRACED.start - 1)))
        self.assertEqual({row["workers"] for row in steps}, {ranks})
        run = db.report("summary")["run"][0]
        self.assertEqual((run["parameters"], run["batch_per_worker_samples"]), (facts["parameter_count"], 24))

    def test_two_ranks(self):
        first, second = self.train(command=TORCHRUN, ranks=2)
        self.assertEqual((first["database"], second["database"]), (str(self.folder / "job.db"), None))
        self.assertEqual([first["warnings"], second["warnings"], first["hooks"]], [[], [], 0])
        self.check_database(first, 2)
        self.assertEqual(self.left(), ["job.db"])

    @long_test
    def test_one_process(self):
        (facts,) = self.train()
        self.assertEqual(facts["warnings"], [])
        self.check_database(facts, 1)

    @long_test
    def test_a_launcher_of_several_processes_without_a_process_group(self):
        """mpirun and srun set these variables. Their processes may be ranks, or trainings of their own."""
        for variable in ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")[:2 if LONG else 1]:
            (facts,) = self.train(**{variable: "2"})
            self.assertEqual(len(facts["warnings"]), 1)
            self.assertIn("the launcher started 2 processes", facts["warnings"][0])
            self.assertIn("after torch.distributed.init_process_group", facts["warnings"][0])
            self.check_database(facts, 1)

    def test_a_training_that_ends_before_the_window(self):
        (facts,) = self.train("--steps", 3)
        self.assertIn("made 3 optimizer steps: give earlier steps", facts["warnings"][0])
        self.assertEqual((facts["done"], facts["database"], self.left()), (3, None, []))

    @long_test
    def test_an_exception_before_the_end_of_the_window(self):
        (facts,) = self.train("--raise-at", 15)
        self.assertEqual((facts["done"], facts["hooks"], facts["database"], self.left()), (15, 0, None, []))
        self.assertEqual(len(facts["warnings"]), 1)
        self.assertIn("an exception left the block before step 21", facts["warnings"][0])

    @long_test  # of one rank of two: below
    def test_an_exception_after_the_window_keeps_the_recording(self):
        (facts,) = self.train("--raise-at", 25)
        self.assertEqual((facts["done"], facts["warnings"], self.left()), (25, [], ["job.db"]))
        self.check_database(facts, 1)

    def test_an_exception_of_one_rank_after_the_window(self):
        first, second = self.train("--raise-at", 26, "--only-rank", 1, command=TORCHRUN, ranks=2)
        self.assertEqual((first["done"], second["done"]), (30, 26))
        self.assertEqual(first["warnings"] + second["warnings"], [])
        self.check_database(first, 2)

    @long_test
    def test_one_rank_that_cannot_record(self):
        for rank in (0, 1) if LONG else (1,):
            facts = self.train("--without-tracer", "--only-rank", rank, command=TORCHRUN, ranks=2)
            for one in facts:
                self.assertEqual((one["done"], one["database"], one["hooks"]), (30, None, 0))
                self.assertIn(f"records nothing: rank {rank}: /nonexistent has no tracer", one["warnings"][0])
            self.assertEqual(self.left(), [])

    def test_a_folder_that_cannot_be_made(self):
        folder = temporary_folder(self)
        with self.assertWarnsRegex(UserWarning, "records nothing: .*file.*job.db"):
            (folder / "file").write_text("")
            with ddpprof.profile(folder / "file" / "job.db"):
                pass

    @long_test
    def test_two_blocks(self):
        (facts,) = self.train("--again", "again.db")
        self.assertEqual((facts["done"], facts["warnings"], self.left()), (60, [], ["again.db", "job.db"]))
        rows = [list(ddpprof.open(self.folder / name).report("steps")["steps"]) for name in ("job.db", "again.db")]
        self.assertEqual([row["step"] for row in rows[0]], [row["step"] for row in rows[1]])

    def test_under_ddpprof_record_the_command_records(self):
        (facts,) = self.train(prefix=[PROGRAM, "record", "--out", "recorded.db", "--steps", "4-19", "--"])
        self.assertIn("ddpprof record", facts["warnings"][0])
        self.assertEqual(self.left(), ["recorded.db"])

    @long_test
    def test_an_existing_database_is_kept(self):
        folder = temporary_folder(self)
        (folder / "job.db").write_text("kept")
        done = subprocess.run([sys.executable, FOLDER / "profiled.py", "job.db"], cwd=folder, env=environment(),
                              capture_output=True, text=True, timeout=120)
        self.assertIn("overwrite=True", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((folder / "job.db").read_text(), "kept")

    def test_a_window_that_is_too_short(self):
        for steps in (range(0, 20), range(5, 8), range(20, 40, 2)):
            with self.assertRaisesRegex(ValueError, "at least 4 steps"):
                ddpprof.profile(steps=steps)


if __name__ == "__main__":
    unittest.main()
