"""Our worker's recorded peak of device memory and torch.cuda.max_memory_allocated of the same training in Python."""

from suite import trace
from suite.figures import Skip, figure
from suite.ranks import import_runs, scenario, start, told

TITLE = "Peak memory"
LIMIT_S = 55
NEEDS_WORKER = True
WIDTH, LAYERS, BATCH = 4096, 6, 64


def measure(machine, folder):
    if not machine.cuda:
        raise Skip("torch counts no peak on a CPU; tests/oracle judges ours there")
    path, gradient_bytes, _ = scenario(folder, machine, "nccl", width=WIDTH, layers=LAYERS, batch=BATCH, steps=6,
                                       bucket_mb=25)
    start(machine, path, folder / "n1", 1)
    import_runs(machine, folder / "job.db", folder / "n1")
    ours, = trace.rows(folder / "job.db", "SELECT peak_bytes, held_bytes FROM memory WHERE device = 0")
    yield figure("peak, ours", ours[0], "bytes")
    machine.run(machine.job("step.py", "--device", "cuda", "--ddp", "nccl", "--width", WIDTH, "--layers", LAYERS,
                            "--batch", BATCH, "--bucket-mb", 25, "--told", folder / "told.json"))
    theirs = told(folder / "told.json")
    yield figure("parameters", theirs["gradient_bytes"], "bytes", equals=gradient_bytes)
    yield figure("peak, torch's", theirs["peak_bytes"], "bytes")
    # Loss, batch and workspaces differ; parameters, gradients and buckets are 1.2 GB of it.
    yield figure("ours over torch's", round(ours[0] / theirs["peak_bytes"], 4), at_least=0.97, at_most=1.03)
