"""Hugging Face Accelerate with gradient accumulation:

    accelerate launch --cpu --mpirun_hostfile hosts --num_processes 2 accelerate_launch.py
"""
import argparse

import torch
from accelerate import Accelerator

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(128, 800), torch.nn.Tanh(), torch.nn.Linear(800, 800), torch.nn.Tanh(),
                            torch.nn.Linear(800, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
data = torch.utils.data.TensorDataset(torch.randn(8192, 128), torch.randint(5, (8192,)))
loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
clock, step = StepClock(), 0
while step < args.steps:
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if not accelerator.sync_gradients:
            continue
        clock.step_ended()
        if step % 20 == 0:
            accelerator.print(f"step {step} loss {loss.item():.4f}")
        step += 1
        if step == args.steps:
            break
if accelerator.is_main_process:
    print_facts(clock, list(model.parameters()), accelerator.num_processes, args.batch_size, args.accumulate,
                ddp=model if accelerator.num_processes > 1 else None)
accelerator.end_training()
