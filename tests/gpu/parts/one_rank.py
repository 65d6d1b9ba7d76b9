"""One rank under DDP: our worker, and Python's own DDP as a recorded job; over NCCL on a GPU, over Gloo on a CPU."""

import collections

from suite import trace
from suite.figures import figure, nothing_in
from suite.ranks import import_runs, scenario, start, told

TITLE = "One rank under DDP"
LIMIT_S = 70
NEEDS_WORKER = True


def bytes_a_step(database, first):
    """Bytes of the gradients' all-reduces of each measured step, from our database."""
    sums = trace.rows(database, "SELECT s.step, sum(c.bytes) FROM collective c JOIN step s ON s.id = c.step_id "
                      "WHERE c.op = 'all_reduce' AND c.bucket >= 0 AND s.kind = 'measured' AND s.step >= ? "
                      "GROUP BY s.id", first)
    return sorted({total for _, total in sums})


def message_bytes(payload):
    """The size of one of NCCL's calls, whatever the field is called; None without."""
    if isinstance(payload, dict):
        for name, value in payload.items():
            if ("size" in name.lower() or "bytes" in name.lower()) and isinstance(value, int):
                return value
    return None


def nccl_figures(process, known):
    calls = [one for one in process.ranges if one.name.startswith("ncclAllReduce")]
    sizes = collections.defaultdict(int)
    steps = process.named("step ")
    for number, step in enumerate(steps):
        for call in calls:
            if step.start_ns <= call.start_ns < step.end_ns:
                sizes[number] += message_bytes(call.payload) or 0
    made = [one for one in process.ranges if one.name.startswith("ncclCommInit")]
    return [figure("NCCL communicators made", len(made), at_least=1),
            figure("bytes NCCL's all-reduces carry in a step", sorted({sizes[i] for i in range(2, len(steps))}),
                   "bytes", equals=[known["gradient_bytes"]])]


def measure(machine, folder):
    backend = "nccl" if machine.cuda else "gloo"
    path, gradient_bytes, steps = scenario(folder, machine, backend)
    start(machine, path, folder / "n1", 1)
    import_runs(machine, folder / "worker.db", folder / "n1")
    found = trace.rows(folder / "worker.db", "SELECT backend, device, world_size, status FROM measurement")
    yield from [
        figure("worker: backend, device, ranks, status", [list(row) for row in found],
               equals=[[backend, machine.device, 1, "ok"]]),
        figure("worker: measured steps", trace.rows(
            folder / "worker.db", "SELECT count(*) FROM step WHERE kind = 'measured'")[0][0], equals=steps),
        figure("worker: communicators of the gradients", trace.rows(
            folder / "worker.db", "SELECT count(DISTINCT communicator) FROM collective WHERE bucket >= 0")[0][0],
            equals=1),
        figure("worker: bytes all-reduced in a step", bytes_a_step(folder / "worker.db", 0), "bytes",
               equals=[gradient_bytes]),
    ]
    if not machine.small:
        done = machine.run([machine.program, "run", path, "--device", machine.device, "--set", "strategies=[ddp]",
                            "--set", f"output.database={folder / 'run.db'}"], ok=None)
        yield figure("ddpprof run, exit code", done.returncode, equals=0,
                     note="" if done.returncode == 0 else done.stderr.strip()[-200:])
    if machine.cuda:
        yield figure("worker: kernels recorded",
                     trace.rows(folder / "worker.db", "SELECT count(*) FROM kernel")[0][0], at_least=steps)
    job = machine.job("step.py", "--device", machine.device, "--ddp", backend, "--steps", 8, "--width",
                      1024 if machine.cuda else 64, "--told", folder / "told.json")
    machine.record(folder / "job.db", job)
    known = told(folder / "told.json")
    (process,) = trace.processes(folder / "job.db")
    yield figure("recorded job: steps", len(process.named("step ")), equals=8 + known["warmup"])
    yield nothing_in("recorded job: parts of the database that are damaged",
                     [] if trace.sound(folder / "job.db") else ["integrity_check"])
    if machine.cuda:
        yield from nccl_figures(process, known)
