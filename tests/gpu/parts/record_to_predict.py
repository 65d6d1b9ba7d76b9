"""A user's DDP job from `ddpprof record` to `ddpprof predict`, and the output of `ddpprof doctor`."""

import json

from suite import trace
from suite.figures import figure
from suite.ranks import told

TITLE = "record, report, predict, doctor"
LIMIT_S = 100


def doctor(machine, folder):
    """Exit code, and ability -> whether it can."""
    done = machine.run([machine.program, "doctor", "--format", "json", "--folder", folder], 60, ok=None)
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
    machine.record(folder / "job.db", job, 80)
    known = told(folder / "told.json")
    every = steps + known["warmup"]
    measured = trace.rows(folder / "job.db", "SELECT world_size, backend, device FROM measurement")
    predicted = machine.run([machine.program, "predict", folder / "job.db", "--workers", "8"], 60, ok=None)
    figures = [
        figure("measurement: ranks, backend, device", [list(row) for row in measured],
               equals=[[ranks, backend, machine.device]]),
        figure("steps of each rank", [row[0] for row in trace.rows(
            folder / "job.db", "SELECT count(*) FROM step GROUP BY shard_id")], equals=[every] * ranks),
        figure("report, exit code", machine.run([machine.program, "report", folder / "job.db", "--report", "all"], 60,
                                                ok=None).returncode, equals=0),
        figure("bytes of the gradients", trace.rows(folder / "job.db", "SELECT parameter_bytes FROM measurement")[0][0],
               "bytes", equals=known["gradient_bytes"]),
        figure("predict --workers 8, exit code", predicted.returncode, equals=0, note=predicted.stderr.strip()[:160])]
    code, abilities = doctor(machine, folder)
    can = [name for name, able in abilities.items() if able]
    figures += [figure("doctor, exit code", code, equals=0),
                figure("doctor: abilities it knows", len(abilities), at_least=3, note="can: " + "; ".join(can))]
    if machine.cuda:
        figures.append(figure("doctor: DDP over NCCL, kernels by CUPTI", [bool(able) for name, able in abilities.items()
                                                                          if "NCCL" in name or "CUPTI" in name],
                              equals=[True, True]))
    return figures
