"""One rank of a plain DistributedDataParallel job on CPUs that states its steps by its own clock.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… train_ddp.py {mlp|gpt} [STEPS]

The models are those of scenarios/mlp.yaml and scenarios/gpt.yaml: 7.45 MB in torch's usual buckets, and 10 MB in buckets of
2 MiB. Rank 0 prints a line "facts {…}" (tests/clients/own_facts.py).
"""

import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "clients"), str(TESTS / "analysis" / "import" / "sharded")]

from own_facts import StepClock, print_facts  # noqa: E402
from record_sharded import Transformer, mlp  # noqa: E402


def main():
    name, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 52
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    if name == "mlp":
        batch, bucket_mb = 64, 25
        model = mlp(784, 1024, 1024, 10)
        inputs, targets = torch.randn(batch, 784), torch.randint(0, 10, (batch,))
    else:
        batch, bucket_mb = 4, 2
        model = Transformer(192, 4, 4, 2000, 64)
        inputs, targets = torch.randint(0, 2000, (batch, 64)), torch.randint(0, 2000, (batch, 64))
    model = DistributedDataParallel(model, bucket_cap_mb=bucket_mb)
    optimizer = torch.optim.AdamW(model.parameters())
    clock = StepClock()
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten()).backward()
        optimizer.step()
        clock.step_ended()
    if dist.get_rank() == 0:
        print_facts(clock, list(model.parameters()), dist.get_world_size(), batch, ddp=model)
    dist.destroy_process_group()


main()
