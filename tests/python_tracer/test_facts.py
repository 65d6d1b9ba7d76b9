"""The facts of a training that ddpprof's Python module states, in this process: learning rates, batches, evaluations."""
import importlib.util
import os
import pathlib
import unittest

import torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python" / "injected"
spec = importlib.util.spec_from_file_location("_ddpprof_facts", FOLDER / "_ddpprof_facts.py")
facts_of = importlib.util.module_from_spec(spec)
spec.loader.exec_module(facts_of)


class Rates(unittest.TestCase):
    def setUp(self):
        self.weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]

    def test_without_a_schedule(self):
        self.assertEqual(facts_of.rates(torch.optim.SGD(self.weights, lr=0.1)), {"learning_rate": 0.1})
        self.assertEqual(facts_of.rates(torch.optim.Adam(self.weights, lr=torch.tensor(0.25)))["learning_rate"], 0.25)

    def test_the_rate_of_a_schedule_is_the_one_that_it_was_given(self):
        schedulers = torch.optim.lr_scheduler
        for schedule in (lambda o: schedulers.LambdaLR(o, lambda step: min(1.0, (step + 1) / 1000)),
                         lambda o: schedulers.CosineAnnealingLR(o, 20),
                         lambda o: schedulers.StepLR(o, 2),
                         lambda o: schedulers.LinearLR(o, 0.1, total_iters=50)):
            optimizer = torch.optim.SGD(self.weights, lr=0.1)
            scheduler = schedule(optimizer)
            for _ in range(9):
                optimizer.step()
                scheduler.step()
            found = facts_of.rates(optimizer)
            self.assertEqual(found["learning_rate"], 0.1, type(scheduler))
            self.assertEqual(found["learning_rate_of_step"], optimizer.param_groups[0]["lr"])
        optimizer = torch.optim.SGD(self.weights, lr=0.1)
        schedulers.OneCycleLR(optimizer, max_lr=0.5, total_steps=100)
        self.assertEqual(facts_of.rates(optimizer)["learning_rate"], 0.5, "the largest rate")

    def test_averages_of_adaptive_optimizers(self):
        self.assertEqual(facts_of.rates(torch.optim.AdamW(self.weights, lr=1e-3, betas=(0.5, 0.95)))["betas"], [0.5, 0.95])
        self.assertEqual(facts_of.rates(torch.optim.RMSprop(self.weights, lr=1e-3))["betas"], [0.99, 0.99])
        self.assertNotIn("betas", facts_of.rates(torch.optim.SGD(self.weights, lr=1e-3)))

    def test_groups_with_different_rates(self):
        groups = [{"params": [one], "lr": rate} for one, rate in zip(self.weights, (1e-1, 1e-4))]
        self.assertEqual(facts_of.rates(torch.optim.SGD(groups)), {"learning_rate": 1e-1, "learning_rates": [1e-4, 1e-1]})


class Batches(unittest.TestCase):
    def test_the_most_frequent_one(self):
        self.assertEqual(facts_of.batches([12] + 19 * [32] + [None]), {
            "batch": 32, "batch_least": 12, "batch_most": 32, "batch_forwards": 20, "batch_others": 1})
        self.assertEqual(facts_of.batches([32, 32]), {"batch": 32})
        self.assertEqual(facts_of.batches([None]), {})

    def test_a_list_of_tensors_has_no_batch(self):
        """Models of object detection take one tensor for each image."""
        class Net(torch.nn.Linear):
            def forward(self, images):
                return super().forward(torch.stack(list(images)) if not torch.is_tensor(images) else images)

        net = Net(8, 2)
        seen = facts_of.ModelFacts(net)
        net([torch.ones(8) for _ in range(32)])
        net(torch.ones(16, 8))
        self.assertEqual(seen.batches, [None, 16])
        seen.handle.remove()
        net(torch.ones(16, 8))
        self.assertEqual(len(seen.batches), 2)


class Evaluations(unittest.TestCase):
    def count(self, optimizer_of, outside=0):
        """Returns the forwards of one step that are not evaluated again, and all of them."""
        net = torch.nn.Linear(4, 1)
        optimizer = optimizer_of(net.parameters())
        seen = facts_of.ModelFacts(net)
        inputs = torch.arange(12.0).reshape(3, 4)

        def closure():
            optimizer.zero_grad()
            loss = (net(inputs) - 1).square().mean()
            loss.backward()
            return loss

        for _ in range(outside):
            closure()
        optimizer.step(closure)
        return seen.forwards, len(seen.batches)

    def test_lbfgs_evaluates_one_batch_again(self):
        forwards, all_forwards = self.count(lambda parameters: torch.optim.LBFGS(parameters, max_iter=4, lr=1e-3))
        self.assertEqual(forwards, 1)
        self.assertGreater(all_forwards, 1)

    def test_micro_batches_before_a_closure_count(self):
        self.assertEqual(self.count(lambda parameters: torch.optim.SGD(parameters, lr=1e-3), outside=3), (4, 4))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
