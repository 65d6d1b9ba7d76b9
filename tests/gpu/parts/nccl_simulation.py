"""ncclGroupSimulateEnd as a baseline: its estimate, what all-reduces took, and our fitted model of them."""

import statistics

from suite import trace
from suite.figures import figure
from suite.ranks import import_runs, scenario, start, told, two_over_nccl

TITLE = "NCCL's own estimate beside our model"
LIMIT_S = 140
NEEDS_WORKER = True


def median_error(pairs):
    """Median of |said / measured - 1| over (said, measured), those without a measurement left out; None without any."""
    errors = [abs(said / measured - 1) for said, measured in pairs if said is not None and measured and said > 0]
    return round(statistics.median(errors), 4) if errors else None


def our_fit(database):
    """The usable fit of all-reduces over its own points: (form, points, median relative error), or None."""
    found = trace.rows(database, "SELECT form, points, median_relative_error FROM fit WHERE name = 'all_reduce' "
                       "AND usable = 1")
    return (found[0][0], found[0][1], round(found[0][2], 4)) if found else None


def judged(ours, cuda):
    """The figure of a fit as our_fit() returns it."""
    # On a GPU no goal: both ranks share one device, and the model does not describe such a machine. On a CPU that
    # other programs use, only a fit is expected.
    return figure("two ranks: our fit, median error", ours[2] if ours else None, **({} if cuda else {"at_least": 0}),
                  note=f"{ours[0]}, {ours[1]} points" if ours else "no usable fit of all-reduces")


def sweep(machine, folder, backend):
    """Two ranks' all-reduces of every size, and the short trainings that a fit of them goes with: our fit's figure."""
    path, *_ = scenario(folder, machine, backend)
    more = {"environment": two_over_nccl()} if backend == "nccl" else {}
    start(machine, path, folder / "n1", 1, **more)
    start(machine, path, folder / "n2", 2, **more)
    start(machine, path, folder / "sweep", 2, "--bench-comm", **more)
    import_runs(machine, folder / "sweep.db", folder / "n1", folder / "n2", folder / "sweep")
    return judged(our_fit(folder / "sweep.db"), machine.cuda)


def measure(machine, folder):
    machine.run(machine.job("simulate.py", folder / "one.json"))
    one = told(folder / "one.json")
    yield figure("NCCL that was asked", one["nccl"], at_least=22200)
    yield figure("ncclGroupSimulateEnd is there", one["has_simulation"], equals=True)
    if machine.small:
        return
    if not machine.cuda:
        yield sweep(machine, folder, "gloo")
        return
    yield figure("one rank: estimates, median", statistics.median(
        estimate for _, estimate, _ in one["points"]) * 1e6, "us", note="alone in its world NCCL communicates nothing")
    (folder / "pair").mkdir()
    machine.run(machine.ranks(2, "simulate.py", folder / "pair" / "two.json"))
    two = told(folder / "pair" / "two.json")
    yield figure("two ranks: sizes", len(two["points"]), equals=len(one["points"]))
    yield figure("two ranks: NCCL's estimate, median error", median_error(
        (estimate, measured) for _, estimate, measured in two["points"]),
        note="; ".join(f"{size} B: {estimate * 1e6:.1f} of {measured * 1e6:.1f} us"
                       for size, estimate, measured in two["points"][::3]))
    yield sweep(machine, folder, "nccl")
