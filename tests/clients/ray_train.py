"""Ray Train, whose workers are processes of Ray: python ray_train.py --workers 2"""
import argparse
import os
import sys

import ray
import ray.train
import torch
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model


def train(config):
    sys.path.insert(0, config["folder"])
    from own_facts import StepClock, print_facts

    torch.manual_seed(0)
    model = prepare_model(torch.nn.Sequential(torch.nn.Linear(256, 1000), torch.nn.ReLU(), torch.nn.Linear(1000, 1000),
                                              torch.nn.ReLU(), torch.nn.Linear(1000, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    clock = StepClock()
    for _ in range(config["steps"]):
        inputs, labels = torch.randn(config["batch"], 256), torch.randint(10, (config["batch"],))
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.step_ended()
    context = ray.train.get_context()
    if context.get_world_rank() == 0:
        ddp = model if context.get_world_size() > 1 else None
        print_facts(clock, list(model.parameters()), context.get_world_size(), config["batch"], ddp=ddp)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    ray.init(num_cpus=max(2, args.workers), include_dashboard=False)
    TorchTrainer(
        train, train_loop_config={"steps": args.steps, "batch": args.batch_size,
                                  "folder": os.path.dirname(os.path.abspath(__file__))},
        torch_config=TorchConfig(backend="gloo"), scaling_config=ray.train.ScalingConfig(num_workers=args.workers),
        run_config=ray.train.RunConfig(storage_path=os.path.abspath("ray_results"))).fit()
    ray.shutdown()
