"""DeepSpeed ZeRO: torchrun --nproc-per-node 2 deepspeed_zero.py --stage 1"""
import argparse
import time

import deepspeed
import torch
import torch.distributed as dist

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--stage", type=int, default=1)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()

deepspeed.init_distributed(dist_backend="gloo")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(128, 700), torch.nn.ReLU(), torch.nn.Linear(700, 700), torch.nn.ReLU(),
                          torch.nn.Linear(700, 10))
engine, optimizer, _, _ = deepspeed.initialize(
    model=net, optimizer=torch.optim.AdamW([
        {"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in net.parameters() if p.dim() == 1], "weight_decay": 0.0}], lr=0.001),
    config={"train_micro_batch_size_per_gpu": args.batch_size, "gradient_accumulation_steps": args.accumulate,
            "zero_optimization": {"stage": args.stage}, "zero_allow_untested_optimizer": True})
clock = StepClock()
for step in range(args.steps):
    for micro in range(args.accumulate):
        inputs, labels = torch.randn(args.batch_size, 128), torch.randint(10, (args.batch_size,))
        loss = torch.nn.functional.cross_entropy(engine(inputs), labels)
        engine.backward(loss)
        engine.step()
    clock.step_ended()
    if engine.global_rank == 0 and step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
if engine.global_rank == 0:
    print_facts(clock, list(net.parameters()), dist.get_world_size(), args.batch_size, args.accumulate)
dist.barrier()
time.sleep(1)  # a thread of Gloo may still use Python: https://github.com/python/cpython/issues/87135
dist.destroy_process_group()
