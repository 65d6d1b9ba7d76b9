"""learning_rate.apply: the worker trains with the scenario's schedule, as Python's optimizers do with the same rates, and
the database has the rate of every step."""

import json
import math
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import test_parity
from test_parity import STEPS
from tiers import LONG, long_test

PROGRAM = os.environ["DDPPROF_PROGRAM"]


def linear_with_steps(step, base, target, warmup, cuts, factor):
    """Goyal et al. 2017, sections 2.2 and 5.1."""
    if step < warmup:
        return base + (target - base) * step / warmup
    return target * factor ** sum(step >= cut for cut in cuts)


def cosine(step, base, target, warmup, total):
    """Loshchilov and Hutter 2017, one cycle after a linear warm-up."""
    if step < warmup:
        return base + (target - base) * step / warmup
    return target * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2


# 4096 samples, batches of 8: 256 steps an epoch at N = 2, 512 at N = 1. The warm-up has 8 steps at N = 2, the rate falls
# at step 12.
STEPPED = dict(warmup_epochs=8 / 256, epochs=1, rule="linear", decay="step", decay_epochs=[12 / 256, 18 / 256],
               decay_factor=0.1, apply=True)
# 320 samples: 20 steps an epoch at N = 2.
COSINE = dict(warmup_epochs=0.25, epochs=1, rule="sqrt", decay="cosine", apply=True)


def judge_stepped(world_size):
    epoch = 4096 // 8 // world_size
    warmup = epoch * 8 // 256 if world_size > 1 else 0
    cuts = [epoch * 12 // 256, epoch * 18 // 256]
    return {"rates": [linear_with_steps(step, 0.05, 0.05 * world_size, warmup, cuts, 0.1) for step in range(STEPS)]}


def judge_cosine(world_size):
    epoch = 320 // 8 // world_size
    warmup = epoch // 4 if world_size > 1 else 0
    kappa = world_size
    return {"rates": [cosine(step, 1e-3, math.sqrt(kappa) * 1e-3, warmup, epoch) for step in range(STEPS)],
            "optimizer": {"kind": "adam", "betas": [1 - kappa * (1 - 0.9), 1 - kappa * (1 - 0.999)],
                          "eps": 1e-8 / math.sqrt(kappa)}}


LARS = dict(warmup_epochs=0.25, epochs=1, rule="lars", trust=0.02, decay="polynomial", decay_power=2, apply=True)
LAMB = dict(warmup_epochs=0.25, epochs=1, rule="lamb", decay="polynomial", apply=True)


def polynomial(step, start, target, warmup, total, power):
    if step < warmup:
        return start + (target - start) * step / warmup
    return target * max(0.0, 1 - (step - warmup) / (total - warmup)) ** power


def judge_lars(world_size):
    epoch = 320 // 8 // world_size
    warmup = epoch // 4 if world_size > 1 else 0
    return {"rates": [polynomial(step, 0.5, 0.5 * world_size, warmup, epoch, 2) for step in range(STEPS)],
            "optimizer": {"kind": "sgd", "layerwise": "lars", "trust": 0.02, "momentum": 0.9, "weight_decay": 1e-3}}


def judge_lamb(world_size):
    epoch, warmup = 320 // 8 // world_size, 10  # a quarter of the base batch's 40 steps, whatever the batch
    target = math.sqrt(world_size) * 0.01
    return {"rates": [polynomial(step, 0.0, target, warmup, epoch, 1) for step in range(STEPS)],
            "optimizer": {"kind": "adamw", "layerwise": "lamb", "weight_decay": 0.02}}


# 1280 samples: 160 base steps of 8. The rate falls at base step 24, which the gain decides when that is.
ADASCALE = dict(rule="adascale", base_batch=8, warmup_epochs=0, epochs=1, decay="step", decay_epochs=[24 / 160],
                decay_factor=0.25, apply=True)


def judge_adascale(_):
    return {"adascale": {"base_batch": 8, "rate": 0.02, "batch": 8, "cut": 24, "factor": 0.25}}


MLP = test_parity.MODELS["mlp"]
CASES = {
    "linear, steps": {**MLP, "optimizer": dict(kind="sgd", momentum=0.9), "schedule": STEPPED, "judge": judge_stepped},
    "square root, cosine": {**MLP, "optimizer": dict(kind="adam"), "rate": 1e-3, "samples": 320, "schedule": COSINE,
                            "judge": judge_cosine},
    "LARS": {**MLP, "optimizer": dict(kind="sgd", momentum=0.9, weight_decay=1e-3), "rate": 0.5, "samples": 320,
             "schedule": LARS, "judge": judge_lars},
    "LAMB": {**MLP, "optimizer": dict(kind="adamw", weight_decay=0.02), "rate": 0.01, "samples": 320, "schedule": LAMB,
             "judge": judge_lamb},
    "AdaScale": {**MLP, "optimizer": dict(kind="sgd", momentum=0.9), "rate": 0.02, "samples": 1280, "accumulation": 2,
                 "schedule": ADASCALE, "judge": judge_adascale},
}


class Schedules(test_parity.Comparison):
    def compare_rank(self, folder, rank, result):
        super().compare_rank(folder, rank, result)
        self.assertEqual("adascale" in result["checkpoint"], folder.name == "AdaScale")
        if "adascale" in result["checkpoint"]:
            rates = json.loads((folder / f"python{rank}.json").read_text())["rates"]
            self.assertGreater(max(rates), 1.2 * 0.02, "a gain that stands at 1 shows nothing")
            self.assertLess(min(rates), 0.5 * max(rates), "the rate has fallen")

    @long_test
    def test_one_rank(self):
        self.compare(CASES, 1)

    def test_two_ranks(self):
        self.compare(CASES if LONG else {name: CASES[name] for name in ("square root, cosine", "LARS", "AdaScale")}, 2)


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-schedule-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_scenario(self, database, expected=0, **more):
        """Runs N = 1 and 2 with the stepped schedule; `more` are further keys of the file."""
        scenario = {"name": "schedule",
                    "workload": {"model": {"kind": "mlp", "widths": [64, 32, 10]}, "data": {"samples": 4096},
                                 "batch_per_worker": 8},
                    "workers": [1, 2], "measure": {"warmup_steps": 4, "steps": 16, "threads_per_rank": 1},
                    "learning_rate": {"base": 0.05, **STEPPED}, "output": {"database": str(database)}, **more}
        path = self.path / "scenario.yaml"
        path.write_text(json.dumps(scenario))  # YAML has JSON in it
        done = subprocess.run([PROGRAM, "run", str(path)], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done

    def rates(self, database, workers):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return connection.execute(
                "SELECT st.step, st.kind, st.learning_rate FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN "
                "measurement m ON m.id = sh.measurement_id WHERE m.world_size = ? ORDER BY sh.rank, st.step",
                (workers,)).fetchall()
        finally:
            connection.close()

    def trained(self, database, **environment):
        done = subprocess.run([PROGRAM, "lr", str(database), "--workers", "2", "--format", "json"], capture_output=True,
                              text=True, timeout=60, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        (table,) = [one for one in json.loads(done.stdout)["tables"] if one["name"] == "trained_rates"]
        return table["rows"]

    def expect_rates(self, database, firsts):
        """`firsts`: the training's step that each N begins with."""
        for workers, first in zip((1, 2), firsts):
            trained = 0
            for step, kind, rate in self.rates(database, workers):
                # Steps without the DDP wrapper take the base rate, as do the two that warm them up.
                if kind == "unwrapped" or step >= 20:
                    self.assertEqual(rate, 0.05, f"N = {workers}, step {step}")
                    continue
                plan = linear_with_steps(first + step, 0.05, 0.05 * workers, 8 if workers == 2 else 0,
                                         [24 // workers, 36 // workers], 0.1)
                self.assertAlmostEqual(rate / plan, 1.0, delta=1e-12, msg=f"N = {workers}, step {step}")
                trained += 1
            self.assertEqual(trained, 20 * workers)
        rows = self.trained(database)
        self.assertEqual([row["workers"] for row in rows], [1, 2])
        for row, first in zip(rows, firsts):
            self.assertEqual((row["first_step"], row["steps"], row["unlike_steps"]), (first, 20, 0))

    def test_every_step_has_its_rate_and_a_resumed_training_goes_on(self):
        self.run_scenario(self.path / "first.db", checkpoint={"folder": str(self.path / "kept")})
        self.expect_rates(self.path / "first.db", (0, 0))
        for workers in (1, 2):
            self.assertTrue((self.path / "kept" / f"ddp-{workers}.pt").exists())
        self.run_scenario(self.path / "second.db", checkpoint={"resume": str(self.path / "kept" / "ddp-2.pt")})
        # Two workers' 20 steps took as many samples as 40 of one.
        self.expect_rates(self.path / "second.db", (40, 20))

    # Two micro-batches of 8, base batch 8: at N = 1 kappa is 2, at N = 2 it is 4; 512 base steps.
    BY_ADASCALE = {"base": 0.02, "rule": "adascale", "base_batch": 8, "epochs": 1, "decay": "cosine", "apply": True}

    def run_adascale(self, database, steps, samples=4096, **more):
        return self.run_scenario(database, learning_rate=self.BY_ADASCALE,
                          workload={"model": {"kind": "mlp", "widths": [64, 32, 10]}, "data": {"samples": samples},
                                    "batch_per_worker": 8, "accumulation": 2},
                          measure={"warmup_steps": 4, "steps": steps, "threads_per_rank": 1}, **more)

    def trained_rates(self, database, workers):
        """Of the steps of the training, each rank's."""
        rows = self.rates(database, workers)
        last = max(step for step, kind, _ in rows if kind == "measured")
        return [[rate for step, kind, rate in rows if step == number and kind != "unwrapped"] for number in range(last + 1)]

    @long_test
    def test_adascale_is_one_rate_for_all_ranks_and_goes_on_from_a_checkpoint(self):
        kept = self.path / "kept"
        self.run_adascale(self.path / "whole.db", 36)
        self.run_adascale(self.path / "first.db", 16, checkpoint={"folder": str(kept)})
        for row, kappa in zip(self.trained(self.path / "first.db"), (2, 4), strict=True):
            self.assertEqual((row["steps"], row["unlike_steps"], row["unchecked_steps"]), (20, 0, 0))
            self.assertGreater(row["base_steps"], 20)
            self.assertLess(row["base_steps"], 20 * kappa)
        for workers in (1, 2):
            for rates in self.trained_rates(self.path / "whole.db", workers):
                self.assertEqual(len(rates), workers)
                self.assertEqual(len(set(rates)), 1, "the ranks agree to the bit")
        self.run_adascale(self.path / "second.db", 16, checkpoint={"resume": str(kept / "ddp-2.pt")})
        whole = self.trained_rates(self.path / "whole.db", 2)
        self.assertEqual(len(whole), 40)
        self.assertEqual(self.trained_rates(self.path / "first.db", 2), whole[:20])
        # Behind the checkpoint to rounding: the first step after a start has DDP's first bucket layout, and norms are summed
        # bucket by bucket.
        for got, want in zip(self.trained_rates(self.path / "second.db", 2), whole[20:], strict=True):
            self.assertEqual(len(set(got)), 1)
            self.assertAlmostEqual(got[0] / want[0], 1.0, delta=1e-5)
        resumed = self.trained(self.path / "second.db")[1]
        self.assertEqual((resumed["first_step"], resumed["unlike_steps"], resumed["unchecked_steps"]), (20, 0, 0))
        self.assertAlmostEqual(resumed["base_steps"] / self.trained(self.path / "whole.db")[1]["base_steps"], 1.0, delta=1e-5)

    @long_test
    def test_adascale_resumed_at_another_size_goes_on_from_its_base_steps(self):
        kept = self.path / "kept"
        self.run_adascale(self.path / "two.db", 16, checkpoint={"folder": str(kept)})
        done = self.trained(self.path / "two.db")[1]["base_steps"]
        self.run_adascale(self.path / "one.db", 16, checkpoint={"resume": str(kept / "ddp-2.pt")})
        one = self.trained(self.path / "one.db")[0]  # N = 1 goes on from N = 2
        self.assertEqual((one["steps"], one["unlike_steps"], one["unchecked_steps"]), (20, 0, 0))
        self.assertGreater(one["base_steps"], done + 20)
        self.assertLess(one["base_steps"], done + 40)

    def test_adascale_needs_ranks_of_ddp(self):
        scenario = {"name": "schedule", "workload": {"model": {"kind": "mlp", "widths": [64, 32, 10]},
                                                     "data": {"samples": 4096}, "batch_per_worker": 8, "accumulation": 2},
                    "workers": [1], "measure": {"warmup_steps": 4, "steps": 16},
                    "learning_rate": {**self.BY_ADASCALE, "warmup_epochs": 0}}
        (self.path / "scenario.yaml").write_text(json.dumps(scenario))
        done = subprocess.run([os.environ["DDPPROF_WORKER"], "--scenario", str(self.path / "scenario.yaml"), "--result",
                               str(self.path / "result.json"), "--without-ddp"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("adascale needs the gradients of DDP's ranks", done.stderr)

    @long_test
    def test_adascale_that_ends_before_it_is_measured_says_so(self):
        done = self.run_adascale(self.path / "none.db", 400, samples=32, expected=4)
        self.assertIn("the training was over before the first measured step", done.stderr)

    @long_test
    def test_adascale_ends_when_its_steps_are_worth_the_training(self):
        self.run_adascale(self.path / "short.db", 400, samples=320)
        for row, workers in zip(self.trained(self.path / "short.db"), (1, 2), strict=True):
            self.assertEqual(row["unlike_steps"], 0)
            self.assertGreaterEqual(row["base_steps"], 40)
            self.assertLess(row["base_steps"], 40 + 2 * workers, "no step after that")
            self.assertLess(row["steps"], 40)
        report = subprocess.run([PROGRAM, "report", str(self.path / "short.db"), "--report", "diagnostics"],
                                capture_output=True, text=True, timeout=60)
        self.assertIn("training_over", report.stdout)

    def test_a_changed_rate_is_found_in_a_training_by_adascale(self):
        self.run_adascale(self.path / "run.db", 16)
        connection = sqlite3.connect(self.path / "run.db")
        self.addCleanup(connection.close)
        connection.execute("UPDATE step SET learning_rate = learning_rate * 1.0000001 WHERE step = 7 AND shard_id = 1")
        connection.execute("UPDATE step SET local_gradient_sqr = NULL WHERE step = 12 AND shard_id = 3")
        connection.commit()
        connection.close()
        one, two = self.trained(self.path / "run.db", DDPPROF_SEALS="ignore")  # what Python writes has no seal
        self.assertEqual((one["unlike_steps"], one["unchecked_steps"]), (1, 0))
        self.assertEqual((two["steps"], two["unlike_steps"], two["unchecked_steps"]), (20, 0, 8))

    @long_test
    def test_without_apply_every_step_takes_the_base_rate(self):
        self.run_scenario(self.path / "base.db", learning_rate={"base": 0.05, **STEPPED, "apply": False})
        for workers in (1, 2):
            self.assertEqual({rate for _, _, rate in self.rates(self.path / "base.db", workers)}, {0.05})
        for row in self.trained(self.path / "base.db"):
            self.assertEqual((row["first_lr"], row["last_lr"], row["unlike_steps"]), (0.05, 0.05, 0))


if __name__ == "__main__":
    unittest.main()
