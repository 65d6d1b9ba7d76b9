"""A user's DDP job from `ddpprof record` to `ddpprof predict`, and the output of `ddpprof doctor`."""

import json

from suite import trace
from suite.figures import figure
from suite.ranks import told

TITLE = "record, report, predict, doctor"
LIMIT_S = 75


def doctor(machine, folder):
    """Exit code, and ability -> whether it can."""
    done = machine.run([machine.program, "doctor", "--format", "json", "--folder", folder], ok=None)
    found = {}

    def walk(value):  # rows are lists or objects, whatever the layout of the report
        if isinstance(value, dict):
            if "can" in value and "what" in value:
                found[value["what"]] = value["can"]
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(json.loads(done.stdout))
    return done.returncode, found


def measure(machine, folder):
    backend = "nccl" if machine.cuda else "gloo"
    steps, ranks = 12, 2
    job = machine.ranks(ranks, "step.py", "--device", machine.device, "--ddp", backend, "--one-gpu", "--steps", steps,
                        "--width", 2048 if machine.cuda else 128, *([] if machine.cuda else ["--tell"]), "--told",
                        folder / "told.json")
    machine.record(folder / "job.db", job)
    known = told(folder / "told.json")
    every = steps + known["warmup"]
    measured = trace.rows(folder / "job.db", "SELECT world_size, backend, device FROM measurement")
    yield from [
        figure("measurement: ranks, backend, device", [list(row) for row in measured],
               equals=[[ranks, backend, machine.device]]),
        figure("steps of each rank", [row[0] for row in trace.rows(
            folder / "job.db", "SELECT count(*) FROM step GROUP BY shard_id")], equals=[every] * ranks),
        figure("bytes of the gradients", trace.rows(folder / "job.db", "SELECT parameter_bytes FROM measurement")[0][0],
               "bytes", equals=known["gradient_bytes"])]
    reported = machine.run([machine.program, "report", folder / "job.db", "--report", "all"], ok=None)
    yield figure("report, exit code", reported.returncode, equals=0)
    predicted = machine.run([machine.program, "predict", folder / "job.db", "--workers", "8"], ok=None)
    yield figure("predict --workers 8, exit code", predicted.returncode, equals=0, note=predicted.stderr.strip()[:160])
    code, abilities = doctor(machine, folder)
    can = [name for name, able in abilities.items() if able]
    yield figure("doctor, exit code", code, equals=0)
    yield figure("doctor: abilities in its report", len(abilities), at_least=3, note="can: " + "; ".join(can))
    if machine.cuda:
        yield figure("doctor: kernels by CUPTI", [bool(able) for name, able in abilities.items() if "CUPTI" in name],
                     equals=[True])
        # DDP over NCCL is an ability of ddpprof-worker, which this part does not need.
        yield figure("doctor: DDP over NCCL", [bool(able) for name, able in abilities.items() if "NCCL" in name])
