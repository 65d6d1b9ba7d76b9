"""Compute by batch: some batches measured by our worker, our fit asked about one that was held out."""

import csv
import io
import statistics

from suite import trace
from suite.figures import figure
from suite.merge import merge
from suite.ranks import import_runs, scenario, start

TITLE = "Compute fitted by batch"
LIMIT_S = 90
NEEDS_WORKER = True


def predicted_step(text):
    """(step, low, high) in s of the table what_if in `ddpprof predict --format csv`'s output."""
    for table in text.strip().split("\n\n"):
        for row in csv.DictReader(io.StringIO(table)):
            if row["table"] == "what_if":
                return tuple(float(row[f"changed_step{end}_s"]) for end in ("", "_low", "_high"))
    raise RuntimeError("ddpprof predict printed no row of the table what_if: " + text[:300])


def judged(predicted_s, measured_s, goal_percent):
    """The relative error; without a goal it judges nothing."""
    error = round(100 * (predicted_s / measured_s - 1), 2)
    return figure("error at the batch held out", error, "%",
                  **({"at_least": -goal_percent, "at_most": goal_percent} if goal_percent else {}))


def measure(machine, folder):
    held_out = 1536 if machine.cuda else 192
    batches = [512, 1024, 2048, 4096] if machine.cuda else [64, 128, 256]
    databases, steps_s = {}, {}
    for batch in [*batches, held_out]:
        own = folder / str(batch)
        own.mkdir()
        path, *_ = scenario(own, machine, "nccl" if machine.cuda else "gloo", batch=batch,
                            width=2048 if machine.cuda else 256, steps=40 if machine.cuda else 20)
        start(machine, path, own / "n1", 1)
        databases[batch] = folder / f"{batch}.db"
        import_runs(machine, databases[batch], own / "n1")
        steps_s[batch] = statistics.median(row[0] for row in trace.rows(
            databases[batch], "SELECT duration_ns FROM step WHERE kind = 'measured'")) * 1e-9
        yield figure(f"step at batch {batch}, measured", round(steps_s[batch] * 1e3, 4), "ms",
                     note="held out" if batch == held_out else "fitted")
    merge(databases[batches[0]], [databases[batch] for batch in batches[1:]])
    done = machine.run([machine.program, "predict", databases[batches[0]], "--workers", "1", "--what-if",
                        f"batch_per_worker={held_out}", "--format", "csv"],
                       environment=machine.environment(DDPPROF_SEALS="ignore"))  # merge() writes pages without them
    step_s, low_s, high_s = predicted_step(done.stdout)
    yield figure(f"step at batch {held_out}, predicted", round(step_s * 1e3, 4), "ms",
                 note=f"90 % interval {low_s * 1e3:.4g} to {high_s * 1e3:.4g} ms")
    # A CPU of a test machine is shared: its error judges nothing.
    yield judged(step_s, steps_s[held_out], 5 if machine.cuda else None)
