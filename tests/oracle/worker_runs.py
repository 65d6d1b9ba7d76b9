"""Runs ddpprof-worker's ranks as processes and reads what they leave, for the oracle tests."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import torch

WORKER = os.environ["DDPPROF_WORKER"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ranks(scenario, world_size, folder, arguments=(), environment=None, **popen):
    """Starts one process a rank; `scenario` is YAML text. Returns the Popen objects, rank 0 first."""
    folder = pathlib.Path(folder)
    path = folder / "scenario.yaml"
    path.write_text(scenario)
    port = free_port()
    ranks = []
    for rank in range(world_size):
        variables = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **(environment or {}))
        command = [WORKER, "--scenario", str(path), "--result", str(folder / f"result{rank}.json"), *arguments]
        ranks.append(subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True, **popen))
    return ranks


def run_ranks(scenario, world_size, folder, arguments=()):
    """Runs all ranks to their end and returns their results; fails the test when one fails."""
    ranks = start_ranks(scenario, world_size, folder, arguments)
    try:
        for rank, process in enumerate(ranks):
            _, errors = process.communicate(timeout=240)
            assert process.returncode == 0, f"rank {rank} exited {process.returncode}: {errors}"
    finally:
        for process in ranks:
            process.kill()
    return [json.loads((pathlib.Path(folder) / f"result{rank}.json").read_text()) for rank in range(world_size)]


def read_floats(path, count=None):
    assert sys.byteorder == "little"
    raw = bytearray(pathlib.Path(path).read_bytes())
    values = torch.frombuffer(raw, dtype=torch.float32) if raw else torch.empty(0)
    if count is not None:
        assert len(values) == count, f"{path}: {len(values)} values, expected {count}"
    return values


class RankDump:
    """One rank's --dump: parameters, the first steps' batches and gradients, buckets."""

    def __init__(self, folder, rank):
        self.folder = pathlib.Path(folder)
        self.index = json.loads((self.folder / f"rank{rank}.json").read_text())
        self.shapes = [entry["shape"] for entry in self.index["parameters"]]

    def split(self, file):
        flat = read_floats(self.folder / file, sum(torch.Size(shape).numel() for shape in self.shapes))
        pieces, start = [], 0
        for shape in self.shapes:
            size = torch.Size(shape).numel()
            pieces.append(flat[start:start + size].view(shape))
            start += size
        return pieces

    def initial(self):
        return self.split(self.index["initial"])

    def gradients(self, step):
        return self.split(self.index["gradients"][step])

    def tensor(self, entry):
        kind = {"float32": torch.float32, "int64": torch.int64}[entry["type"]]
        raw = bytearray((self.folder / entry["file"]).read_bytes())
        return torch.frombuffer(raw, dtype=kind).view(entry["shape"])

    def batches(self, step):
        """The step's micro-batches: ([input, ...], targets)."""
        return [([self.tensor(one) for one in entry["inputs"]], self.tensor(entry["targets"]))
                for entry in self.index["batches"] if entry["step"] == step]
