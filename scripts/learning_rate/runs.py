"""Runs scenarios/digits.yaml with changes, each in a folder of its own, and reads what a run left."""

import gzip
import json
import math
import os
import pathlib
import sqlite3
import struct
import subprocess

import torch

BATCH, BASE_BATCH, EPOCHS, WARMUP_STEPS = 8, 16, 30, 3
RUN_LIMIT_S = 600


class Tools:
    def __init__(self, program, scenario, digits, work):
        self.program, self.scenario = pathlib.Path(program), pathlib.Path(scenario)
        self.digits, self.work = pathlib.Path(digits), pathlib.Path(work)
        self.work.mkdir(parents=True, exist_ok=True)
        # Another data set in MNIST's format, MNIST itself say: the same perceptron on images of that size.
        height, width = read_idx(self.digits / "train-images-idx3-ubyte").shape[1:]
        self.of_images = {} if (height, width) == (8, 8) else {
            "workload.model": f"{{kind: mlp, widths: [{height * width}, 64, 10]}}",
            "workload.data.image": f"[1, {height}, {width}]"}

    def run(self, name, changes):
        """Runs it unless its database is there already. None where the training diverged; else the database."""
        folder = self.work / name
        database = folder / "run.db"
        if (folder / "diverged").exists():
            return None
        if (folder / "done").exists():
            return database
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"workload.data.path": self.digits, "output.database": database, "output.raw": "none",
                    "checkpoint.folder": folder / "kept", **self.of_images, **changes}
        command = [str(self.program), "run", str(self.scenario), "--overwrite"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        if done.returncode != 0 and ("the loss is nan" in done.stderr or "the loss is inf" in done.stderr or
                                     "the loss is -nan" in done.stderr):
            (folder / "diverged").touch()
            return None
        if done.returncode not in (0, 5):  # 5: measured, but no prediction can be made of one configuration
            raise SystemExit(f"{name}: ddpprof exited {done.returncode}:\n{done.stderr}")
        (folder / "done").touch()
        return database

    def answer(self, database, *arguments):
        """The rows of `ddpprof lr`'s tables, by the table's name, each row by the column's."""
        done = subprocess.run([str(self.program), "lr", str(database), *map(str, arguments), "--format", "json"],
                              capture_output=True, text=True, timeout=RUN_LIMIT_S)
        if done.returncode != 0:
            raise SystemExit(f"ddpprof lr {database}: {done.stderr}")
        return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def query(database, sql, *values):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def read_idx(path):
    """An IDX file, plain or packed beside its plain name."""
    path = pathlib.Path(path)
    packed = path.with_name(path.name + ".gz")
    raw = path.read_bytes() if path.exists() or not packed.exists() else gzip.decompress(packed.read_bytes())
    dimensions = raw[3]
    shape = struct.unpack(f">{dimensions}I", raw[4:4 + 4 * dimensions])
    return torch.frombuffer(bytearray(raw[4 + 4 * dimensions:]), dtype=torch.uint8).view(shape)


def four_digits(value):
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return round(value / unit) * unit


def samples(folder, split):
    """Images as the worker normalises them (by the training images' own statistics), and classes."""
    train = read_idx(folder / "train-images-idx3-ubyte").double() / 255
    mean, deviation = four_digits(train.mean().item()), four_digits(train.std(correction=0).item())
    if train.shape[1:] == (28, 28):
        mean, deviation = 0.1307, 0.3081  # MNIST's, as PyTorch's examples have them
    images = read_idx(folder / f"{split}-images-idx3-ubyte").flatten(1).float() / 255
    return (images - mean) / deviation, read_idx(folder / f"{split}-labels-idx1-ubyte").long()


def network(checkpoint):
    """The perceptron with a checkpoint's weights: a matrix and its bias a layer."""
    saved = list(torch.load(checkpoint)["model"].values())
    layers = []
    for weight, bias in zip(saved[::2], saved[1::2], strict=True):
        layers += ([torch.nn.ReLU()] if layers else []) + [torch.nn.Linear(weight.shape[1], weight.shape[0])]
        with torch.no_grad():
            layers[-1].weight.copy_(weight)
            layers[-1].bias.copy_(bias)
    return torch.nn.Sequential(*layers)


def accuracy(folder, checkpoint):
    images, classes = samples(folder, "t10k")
    with torch.no_grad():
        return (network(checkpoint)(images).argmax(1) == classes).double().mean().item()


def steps_of(workers, accumulation, count, epochs=EPOCHS):
    """Optimizer steps of the training: DistributedSampler shares the samples out, batches go on from one epoch into the
    next."""
    return round(epochs * math.ceil(count / workers) / (BATCH * accumulation))


def losses(database):
    """The mean loss over the ranks at each step of the training."""
    return [row[0] for row in query(database, "SELECT AVG(loss) FROM step WHERE kind <> 'unwrapped' GROUP BY step ORDER "
                                              "BY step")]


def default_program():
    return os.environ.get("DDPPROF_PROGRAM",
                          pathlib.Path(__file__).resolve().parents[2] / "build/dev/bin/ddpprof")
