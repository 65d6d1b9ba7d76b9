"""Two-rank trainings over Gloo, unmodified, under `ddpprof record`: what it found is what the scripts say of themselves."""
import json
import statistics
import unittest

from recorded import Job, TORCHRUN, TRAIN
from tiers import long_test

FIRST, START, LAST = 10, 30, 49  # the default window: steps without the profiler from 10, with it from 30 to 49


class TwoRanks(unittest.TestCase):
    def train(self, *options, batch=24, accumulate=1, optimizer="SGD"):
        job = Job(self, *TORCHRUN, TRAIN, "--facts", "--batch", batch, "--accumulate", accumulate, *options)
        self.assertEqual(job.code, 0, job.messages)
        facts = [json.loads((job.folder / f"facts-{rank}.json").read_text()) for rank in range(2)]
        self.assertEqual(
            job.one("SELECT world_size, backend, device, batch_per_worker, accumulation, parameter_count, "
                    "parameter_bytes, threads_per_rank, nodes, status, strategy FROM measurement"),
            (2, "gloo", "cpu", batch, accumulate, facts[0]["parameter_count"], facts[0]["parameter_bytes"],
             facts[0]["threads"], 1, "ok", "ddp"), job.messages)
        self.assertEqual(job.one("SELECT cores FROM measurement"), facts[0]["cores"])
        versions, stated = (json.loads(text) for text in job.one("SELECT versions, options FROM measurement"))
        self.assertEqual(versions["torch"], facts[0]["torch"])
        self.assertEqual(stated["bucket_cap_mb"], facts[0]["bucket_cap_mb"])
        self.assertEqual(stated["optimizer"], optimizer)
        self.check_steps(job, facts, batch * accumulate)
        self.check_buckets(job, facts)
        self.assertIn("Steps, measured and predicted", job.messages)
        self.assertEqual(job.left(), ["facts-0.json", "facts-1.json", "job.db"], "nothing else is left")
        return job

    def check_steps(self, job, facts, samples):
        for rank in range(2):
            rows = job.rows(f"SELECT st.step, st.kind, st.duration_ns, st.samples FROM step st JOIN shard s ON s.id = "
                            f"st.shard_id WHERE s.rank = {rank} ORDER BY st.step")
            kinds = [(step, kind) for step, kind, _, _ in rows]
            self.assertEqual(kinds, [(step, "untraced") for step in range(FIRST, START - 1)] +
                             [(step, "measured") for step in range(START, LAST + 1)])
            self.assertEqual({row[3] for row in rows}, {samples})
            # The same steps by the script's own clock. A step of ddpprof begins and ends with the optimizer's step, so
            # single steps differ, but not their sum. The script's last one contains the start of the profiler.
            ours = sum(row[2] for row in rows if row[1] == "untraced" and row[0] < START - 2)
            own = sum(facts[rank]["durations_ns"][FIRST:START - 2])
            self.assertAlmostEqual(ours / own, 1, delta=0.05)

    def check_buckets(self, job, facts):
        sent = job.rows("SELECT s.rank, st.step, c.bytes FROM collective c JOIN step st ON st.id = c.step_id JOIN shard "
                        "s ON s.id = st.shard_id WHERE c.bucket >= 0 AND st.kind = 'measured'")
        steps = {}
        for rank, step, size in sent:
            steps.setdefault((rank, step), []).append(size)
        self.assertEqual(len(steps), 2 * (LAST - START + 1))
        for place, sizes in steps.items():
            self.assertEqual(sorted(sizes), sorted(facts[0]["buckets"]), place)

    def test_plain(self):
        job = self.train()
        plain = Job(self, *TORCHRUN, TRAIN, "--facts", plain=True)
        self.assertEqual(job.out, plain.out, "the job prints what it prints without ddpprof")
        self.assertEqual(plain.code, 0)
        self.assertNotIn("ERROR:", job.messages, "kineto is silent")
        untraced = statistics.median(
            seconds for (seconds,) in job.rows("SELECT AVG(duration_ns) * 1e-9 FROM step WHERE kind = 'untraced' "
                                               "GROUP BY step"))
        predicted = job.one("SELECT step_s FROM prediction WHERE world_size = 2")
        self.assertAlmostEqual(predicted / untraced, 1, delta=1e-6,
                               msg="the measured N has the time of the steps without the profiler")
        self.assertEqual(job.one("SELECT count FROM diagnostic WHERE code = 'profiler_cost'"), START - 1 - FIRST)
        self.assertEqual(job.rows("SELECT code FROM diagnostic WHERE code = 'cores_unknown'"), [])

    @long_test
    def test_gradient_accumulation(self):
        self.train(batch=6, accumulate=4)

    @long_test
    def test_forked_loader_workers(self):
        self.train("--loader-workers", "2")

    @long_test
    def test_compiled(self):
        self.train("--compile")

    @long_test
    def test_two_optimizers_in_a_step(self):
        self.train("--adversary", optimizer="Adam")  # Adam steps first, so it counts the steps

    @long_test
    def test_a_window_of_the_users_choice(self):
        job = Job(self, *TORCHRUN, TRAIN, "--steps", "30", options=["--steps", "4-15"])
        self.assertEqual(job.rows("SELECT st.kind, MIN(st.step), MAX(st.step), COUNT(*) FROM step st GROUP BY 1"),
                         [("measured", 10, 15, 12), ("untraced", 4, 8, 10)], job.messages)

    @long_test
    def test_the_job_ends_inside_the_window(self):
        job = Job(self, *TORCHRUN, TRAIN, "--steps", "40")
        self.assertEqual(job.code, 0)
        self.assertEqual(job.rows("SELECT st.kind, MIN(st.step), MAX(st.step), COUNT(*) FROM step st GROUP BY 1"),
                         [("measured", 30, 39, 20), ("untraced", 10, 28, 38)], job.messages)

    @long_test
    def test_ranks_of_spawn(self):
        job = Job(self, TORCHRUN[0], "spawned.py", files={"spawned.py": SPAWNED})
        self.assertEqual(job.code, 0, job.messages)
        self.assertEqual(job.rows("SELECT rank, host <> '' FROM shard ORDER BY rank"), [(0, 1), (1, 1)], job.messages)
        self.assertEqual(job.one("SELECT world_size, batch_per_worker FROM measurement"), (2, 8))

    def test_groups_of_parameters_stepped_one_after_the_other(self):
        """As DeepSpeed does: the optimizer's step() is called once per group, and the model is not in DDP. Its layers
        compute with another first dimension than the batch."""
        job = Job(self, TORCHRUN[0], "groups.py", files={"groups.py": GROUPS})
        self.assertEqual(job.code, 0, job.messages)
        self.assertEqual(job.one("SELECT world_size, batch_per_worker, accumulation, parameter_count, "
                                 "json_extract(options, '$.optimizer') FROM measurement"), (1, 8, 2, 520, "AdamW"))
        self.assertEqual(job.rows("SELECT kind, MIN(step), MAX(step), COUNT(*), MIN(samples) FROM step GROUP BY 1"),
                         [("measured", START, LAST, 20, 16), ("untraced", FIRST, START - 2, 19, 16)], job.messages)

    @long_test
    def test_native_and_torch(self):
        for tracer, kinds in (("native", 0), ("torch", 1), ("both", 1)):
            with self.subTest(tracer):
                job = Job(self, *TORCHRUN, TRAIN, options=["--tracer", tracer])
                self.assertEqual(job.code, 0, job.messages)
                self.assertEqual(job.database.exists(), kinds == 1, job.messages)
                if kinds == 0:
                    self.assertIn("--tracer torch", job.messages)


GROUPS = """
import torch

class Rows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(20, 20), torch.nn.Linear(20, 5, bias=False)

    def forward(self, inputs):
        return self.second(torch.relu(self.first(inputs.flatten(0, 1)))).reshape(len(inputs), -1)

model = Rows()
groups = [{"params": [model.first.weight, model.second.weight]}, {"params": [model.first.bias], "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=0.01)
for step in range(60):
    for _ in range(2):
        model(torch.randn(8, 3, 20)).sum().backward()
    groups = optimizer.param_groups
    for group in groups:
        optimizer.param_groups = [group]
        optimizer.step()
    optimizer.param_groups = groups
    optimizer.zero_grad()
"""

SPAWNED = """
import os
import torch
import torch.distributed as dist

def rank(number):
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=number, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(50, 50))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(60):
        model(torch.randn(8, 50)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, nprocs=2)
"""

if __name__ == "__main__":
    unittest.main()
