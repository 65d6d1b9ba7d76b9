"""docs/guide/record.md as its reader follows it: the page's own training and commands, from nothing to a prediction."""

import pathlib
import sqlite3
import tempfile
import unittest

import torch
import torch.distributed as dist

import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS, STEPS, BATCH = 2, 40, 32


class RecordPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        page = (ROOT / "docs" / "guide" / "record.md").read_text()
        page = page[page.index("## From a Python job to a prediction"):]
        cls.commands, cls.done = pages.follow(page, "train.py", cls.folder)

    def rows(self, sql):
        with sqlite3.connect(self.folder / "two.db") as database:
            return database.execute(sql).fetchall()

    def test_the_commands_end_in_a_prediction(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn("ddpprof predict", self.commands)
        self.assertRegex(self.done.stdout, r"Predictions\n=+")
        for workers in (4, 16, 64):
            self.assertRegex(self.done.stdout, rf"(?m)^ddp +{workers} +\d")

    def test_every_step_of_every_rank_is_there(self):
        self.assertEqual(self.rows("SELECT world_size, backend, batch_per_worker FROM measurement"), [(RANKS, "gloo", BATCH)])
        self.assertEqual(self.rows("SELECT s.rank, count(*) FROM step st JOIN shard s ON s.id = st.shard_id GROUP BY 1"),
                         [(rank, STEPS) for rank in range(RANKS)])

    def test_messages_are_the_buckets_that_torch_makes(self):
        shapes = [(1000, 784), (1000,), (1000, 1000), (1000,), (10, 1000), (10,)]
        parameters = [torch.zeros(shape) for shape in shapes]
        parameters.reverse()  # as a backward makes their gradients ready
        mib = 1 << 20
        indices, _ = dist._compute_bucket_assignment_by_size(parameters, [mib, 25 * mib])
        buckets = sorted(sum(parameters[i].nbytes for i in bucket) for bucket in indices)
        for rank in range(RANKS):
            sent = self.rows(f"""SELECT st.step, c.bytes FROM collective c JOIN step st ON st.id = c.step_id JOIN shard s
                ON s.id = c.shard_id WHERE s.rank = {rank} AND st.kind = 'measured' AND c.op = 'all_reduce'""")
            by_step = {}
            for step, size in sent:
                by_step.setdefault(step, []).append(size)
            self.assertGreaterEqual(len(by_step), STEPS // 2)
            for step, sizes in by_step.items():
                self.assertEqual(sorted(sizes), buckets, (rank, step))
        self.assertEqual(self.rows("SELECT DISTINCT kind FROM step WHERE step = 0"), [("warmup",)],
                         "DDP reduces everything at once in its first step")

    def test_a_message_lies_between_the_first_launch_and_the_last_end(self):
        late = self.rows("""SELECT count(*) FROM collective a JOIN collective b ON b.communicator = a.communicator AND
            b.sequence = a.sequence AND b.shard_id <> a.shard_id WHERE a.end_ns < b.start_ns""")
        self.assertEqual(late, [(0,)], "no rank is done before another one has begun")


if __name__ == "__main__":
    unittest.main()
