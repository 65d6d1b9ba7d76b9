"""Step times with a wait at the end of each step (measure.sync: every_step) and without (never)."""

import statistics

from suite import trace
from suite.figures import figure
from suite.parts import pairs_in_time
from suite.ranks import import_runs, scenario, start

TITLE = "Steps that wait for the GPU, and steps that do not"
LIMIT_S = 65
NEEDS_WORKER = True
SYNCS = ("every_step", "never")
# (name, width, batch): a step of launches that take as long as their kernels, and one of long kernels.
ON_A_DEVICE = (("short step", 256, 64), ("long step", 4096, 512))
ON_A_CPU = (("short step", 32, 8), ("long step", 128, 32))


def settled_ms(durations_ns):
    """The median of the second half, in ms.

    Without a wait the first steps have only their launch times, until the driver's queue is full.
    """
    return statistics.median(durations_ns[len(durations_ns) // 2:]) / 1e6


def recorded(machine, folder, width, batch, sync):
    """One run. Returns its database and its number of measured steps."""
    folder.mkdir()
    path, _, steps = scenario(folder, machine, "nccl" if machine.cuda else "gloo", width=width, batch=batch,
                              steps=300 if machine.cuda else 20, sync=sync)
    start(machine, path, folder / "n1", 1)
    import_runs(machine, folder / "job.db", folder / "n1")
    return folder / "job.db", steps


def judged(name, runs, cuda):
    """`runs`: for every sync (database, steps)."""
    found = {}
    for sync, (database, steps) in runs.items():
        durations_ns, losses = zip(*trace.rows(
            database, "SELECT duration_ns, loss IS NOT NULL FROM step WHERE kind = 'measured' ORDER BY step"))
        found[sync] = settled_ms(durations_ns)
        yield figure(f"{name}, {sync}: measured steps", len(durations_ns), equals=steps)
        yield figure(f"{name}, {sync}: steps with a loss in the database", sum(losses),
                     equals=steps if sync == "every_step" else 0)
        yield figure(f"{name}, {sync}: reported as steps that do not wait",
                     "steps_do_not_wait" in trace.diagnostics(database), equals=cuda and sync == "never")
        yield figure(f"{name}, {sync}: step, median of the second half", round(found[sync], 4), "ms")
    yield figure(f"{name}: every_step over never", round(found["every_step"] / found["never"], 4))


def measure(machine, folder):
    sizes = ON_A_DEVICE if machine.cuda else ON_A_CPU

    def both(number):
        name, width, batch = sizes[number]
        return {sync: recorded(machine, folder / f"{number}-{sync}", width, batch, sync) for sync in SYNCS}

    found, failure = pairs_in_time(machine, len(sizes), both)
    for (name, *_), runs in zip(sizes, found):
        yield from judged(name, runs, machine.cuda)
    yield figure("models measured", len(found), at_least=1, note=f"of {len(sizes)}; fewer if time is short")
    if failure:  # the figures of the models before it are kept
        raise failure
