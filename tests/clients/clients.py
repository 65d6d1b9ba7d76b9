"""The clients: how a user starts each one, and what ddpprof is expected to find in it."""
import dataclasses
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("DDPPROF_CLIENTS_PYTHON", sys.executable)
TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "{workers}")


@dataclasses.dataclass
class Client:
    name: str                # also the name of its script
    launcher: tuple = TORCHRUN
    options: tuple = ()      # after the script
    package: str = "torch"   # that the script imports
    strategy: str = "ddp"
    optimizer: str = "SGD"
    files: dict = dataclasses.field(default_factory=dict)        # that the job needs in its folder
    environment: dict = dataclasses.field(default_factory=dict)  # that the job needs

    def command(self):
        """Returns the command with {workers}."""
        return [*self.launcher, str(FOLDER / (self.name + ".py")), *self.options]


CLIENTS = [
    Client("ddp"),
    Client("no_sync", optimizer="AdamW"),
    Client("data_loader"),
    Client("torch_compile"),
    Client("fsdp2", strategy="fsdp", optimizer="AdamW"),
    Client("hf_trainer", package="transformers", optimizer="AdamW"),
    Client("accelerate_launch", package="accelerate", optimizer="AdamW", files={"hosts": "localhost slots=8\n"},
           launcher=(PYTHON, "-m", "accelerate.commands.launch", "--cpu", "--num_machines", "1", "--mixed_precision",
                     "no", "--dynamo_backend", "no", "--mpirun_hostfile", "hosts", "--num_processes", "{workers}"),
           environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
    Client("lightning_trainer", package="lightning", launcher=(PYTHON,), options=("--devices", "{workers}"),
           optimizer="Adam"),
    Client("deepspeed_zero", package="deepspeed", strategy="sharded", optimizer="AdamW"),
    Client("ray_train", package="ray", launcher=(PYTHON,), options=("--workers", "{workers}")),
]
