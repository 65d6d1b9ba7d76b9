"""One rank of an FSDP2, FSDP1 or DeepSpeed ZeRO-3 job on CPUs under torch.profiler, and the sizes that follow from the model's shapes.

    RANK=… WORLD_SIZE=… MASTER_ADDR=… MASTER_PORT=… record_sharded.py CASE.json

CASE.json: {"folder", "wrapper" (fsdp2, fsdp1, ddp, or zero3, which needs deepspeed), "model" (mlp, transformer or convolutions), "reshard_after_forward", "precision" (fp32 or bf16),
"accumulation", "warmup", "steps", "batch", "replicas" (of the shards; optional), "sizes" (of the mlp or the transformer, in the order
of the arguments; optional)}. Writes rank<R>.json.gz and, on rank 0, facts.json.
"""

import datetime
import gzip
import json
import math
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, ShardingStrategy, fully_shard
from torch.profiler import ProfilerActivity, profile, schedule


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads = heads
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.attention(self.first_norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.second_norm(x))))


class Transformer(nn.Module):
    def __init__(self, width=64, layers=2, heads=4, words=211, length=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def mlp(*widths):
    return nn.Sequential(*(nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in zip(widths, widths[1:])))


def convolutions(channels=(3, 12, 25, 32)):
    stages = [nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(1, b), nn.ReLU())
              for a, b in zip(channels, channels[1:])]
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(channels[-1] * 4 * 4, 10))


def made(case):
    """Returns the model, the modules that become units, inputs and targets."""
    batch = case["batch"]
    if case["model"] == "mlp":
        # Odd widths: with 2 ranks each rank's part of such a parameter is padded.
        widths = case.get("sizes", (96, 257, 255, 130, 10))
        model = mlp(*widths)
        return model, list(model), torch.randn(batch, widths[0]), torch.randint(0, widths[-1], (batch,))
    if case["model"] == "transformer":
        model = Transformer(*case.get("sizes", ()))
        (words, _), (length, _) = model.words.weight.shape, model.positions.shape
        return model, list(model.blocks), torch.randint(0, words, (batch, length)), torch.randint(0, words, (batch, length))
    model = convolutions()
    return model, list(model[:3]), torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))


def padded_elements(parameters, ranks, wrapper):
    """FSDP2 cuts each parameter along its first dimension into parts, which are padded to the same size. FSDP1 cuts all
    parameters of a unit, one after the other, as one flat vector."""
    if wrapper == "fsdp1":
        return ranks * math.ceil(sum(one.numel() for one in parameters) / ranks)
    return sum(ranks * math.ceil(one.shape[0] / ranks) * math.prod(one.shape[1:]) for one in parameters)


def unit_facts(model, units, ranks, case):
    half, fsdp1 = case["precision"] == "bf16", case["wrapper"] == "fsdp1"
    owned = set()
    facts = []
    named = [(name, module) for name, module in model.named_modules() if module in units]
    for number, (name, unit) in enumerate(named + [("", model)], 1):
        parameters = [one for one in unit.parameters() if one not in owned]
        owned.update(parameters)
        padded = padded_elements(parameters, ranks, case["wrapper"])
        if parameters:
            facts.append({"name": f"unit {number}" if fsdp1 and name else name,  # FSDP1's annotations have no names
                          "parameters": None if fsdp1 else sum(one.numel() for one in parameters),
                          "gathered_bytes": padded * (2 if half else 4), "scattered_bytes": padded * 4,
                          # The root's parameters are kept between forward and backward unless told otherwise.
                          "gathers_again": case["reshard_after_forward"] and name != ""})
    return facts


def zero_facts(model, inputs, ranks):
    """ZeRO-3 gathers the parameters of each module before its forward, each cut as a flat vector into equal parts. It
    reduces all gradients in one bucket, which does not belong to a unit."""
    order = []
    for name, module in model.named_modules():
        if list(module.parameters(recurse=False)):
            module.register_forward_pre_hook(lambda module, _: order.append(module))
    hooked = [module for _, module in model.named_modules() if module._forward_pre_hooks]
    model(inputs)
    for module in hooked:
        module._forward_pre_hooks.clear()
    padded = [sum(ranks * math.ceil(one.numel() / ranks) for one in module.parameters(recurse=False)) for module in order]
    return [{"name": f"unit {number}", "gathered_bytes": 4 * elements} for number, elements in enumerate(padded, 1)] + [
        {"name": "", "scattered_bytes": 4 * sum(padded)}]


def zero_step(model, case):
    """Returns the wrapped model, and a function that trains one step."""
    import deepspeed  # not installed where the other jobs are recorded

    zero = {"stage": 3, "stage3_param_persistence_threshold": 0, "stage3_prefetch_bucket_size": 0}
    if case["reshard_after_forward"]:
        zero["stage3_max_reuse_distance"] = 0
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.Adam(model.parameters(), lr=0.001),
        config={"train_micro_batch_size_per_gpu": case["batch"], "gradient_accumulation_steps": case["accumulation"],
                "zero_optimization": zero, "zero_allow_untested_optimizer": True})

    def step(inputs, targets):
        engine.backward(nn.functional.cross_entropy(engine(inputs).flatten(0, -2), targets.flatten()))
        engine.step()

    return engine, step


def sharded(model, units, ranks, case):
    reshard = case["reshard_after_forward"]
    if case["wrapper"] == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if case["wrapper"] == "fsdp1":
        strategy = ShardingStrategy.FULL_SHARD if reshard else ShardingStrategy.SHARD_GRAD_OP
        return FullyShardedDataParallel(model, auto_wrap_policy=lambda module, recurse, **_: recurse or module in units,
                                        sharding_strategy=strategy, device_id=torch.device("cpu"))
    policy = MixedPrecisionPolicy()
    if case["precision"] == "bf16":
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    replicas = case.get("replicas", 1)
    mesh = init_device_mesh("cpu", (ranks,))
    if replicas > 1:
        mesh = init_device_mesh("cpu", (replicas, ranks // replicas), mesh_dim_names=("replicate", "shard"))
    for unit in units:
        fully_shard(unit, mesh=mesh, reshard_after_forward=reshard, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def main():
    case, rank = json.loads(pathlib.Path(sys.argv[1]).read_text()), int(os.environ["RANK"])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    ranks = dist.get_world_size()
    shards = ranks // case.get("replicas", 1)
    model, units, inputs, targets = made(case)
    zero = case["wrapper"] == "zero3"
    facts = zero_facts(model, inputs, shards) if zero else unit_facts(model, units, shards, case)
    if zero:
        model, zero_train = zero_step(model, case)
    else:
        model = sharded(model, units, ranks, case)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    folder = pathlib.Path(case["folder"])

    def write(profiler):
        profiler.export_chrome_trace(str(folder / f"rank{rank}.json"))
        text = (folder / f"rank{rank}.json").read_bytes().replace(f"{folder}/".encode(), b"")
        (folder / f"rank{rank}.json").unlink()
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, on_trace_ready=write,
                 schedule=schedule(wait=case["warmup"] - 1, warmup=1, active=case["steps"], repeat=1)) as profiler:
        for _ in range(case["warmup"] + case["steps"]):
            for micro_batch in range(case["accumulation"]):
                if zero:
                    zero_train(inputs, targets)
                    continue
                if case["accumulation"] > 1:
                    model.set_requires_gradient_sync(micro_batch + 1 == case["accumulation"])
                outputs = model(inputs).float()
                nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten()).backward()
            if not zero:
                optimizer.step()
                optimizer.zero_grad()
            profiler.step()
    if rank == 0:
        (folder / "facts.json").write_text(json.dumps({"case": dict(case, folder=""), "ranks": shards, "units": facts},
                                                      indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
