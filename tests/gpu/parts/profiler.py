"""The same deterministic steps under our tracer and under torch.profiler, kernel by kernel."""

import json
import statistics

from judge.launches import launched_in
from judge.totals import compare, totals
from suite import trace
from suite.figures import Skip, figure
from suite.parts import pairs_in_time
from suite.ranks import told

TITLE = "Kernels beside torch.profiler's"
LIMIT_S = 100


def chrome_kernels(path):
    """(name, duration_ns) of each kernel in a trace of torch.profiler."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    return [(event["name"], round(event["dur"] * 1000)) for event in events if event.get("cat") == "kernel"]


def recorded_kernels(database, warmup):
    """The same of our database: kernels launched in the steps after the warm-up."""
    (process,) = trace.processes(database)
    steps = process.named("step ")[warmup:]
    return [(kernel.name, kernel.end_ns - kernel.start_ns)
            for held in launched_in(steps, process.kernels, process.calls).kernels for kernel in held]


def judged(comparisons):
    """Figures from one comparison a pair of runs."""
    differing = [str(name) for one in comparisons for name in one.differing]
    return [
        figure("kernels a run, ours", [one.kernels for one in comparisons], note="by name, in every pair of runs",
               equals=[one.other_kernels for one in comparisons]),
        # Two demanglers may have written the names (judge/names.py).
        figure("names whose counts differ", differing[:6], equals=[],
               note=f"ours, torch.profiler's; the first of {len(differing)}" if differing else ""),
        figure("names equal only without a parameter or template list", [one.matched for one in comparisons]),
        # Clocks of a device differ between two runs by more than the recordings do: hence several, in turn.
        figure("total kernel time, ours over torch.profiler's, median",
               statistics.median(one.ratio for one in comparisons) if all(one.ratio for one in comparisons) else None,
               at_least=0.99, at_most=1.01, note="pairs: " + ", ".join(f"{one.ratio or 0:.4f}" for one in comparisons)),
    ]


def compared(machine, folder, pair, options):
    """One pair of runs."""
    machine.record(folder / f"{pair}.db", machine.job("step.py", *options, "--told", folder / "ours.json"))
    machine.run(machine.job("step.py", *options, "--profile", folder / f"{pair}.json", "--told",
                            folder / "theirs.json"))
    warmup = told(folder / "ours.json")["warmup"]
    return compare(totals(recorded_kernels(folder / f"{pair}.db", warmup)),
                   totals(chrome_kernels(folder / f"{pair}.json")))


def measure(machine, folder):
    if not machine.cuda:
        raise Skip("a CPU runs no kernels")
    # Products of 4 ms and more: what differs is the recording, not where a short kernel's edges are.
    options = ["--device", "cuda", "--steps", 10, "--warmup", 5, "--width", 4096, "--batch", 4096, "--layers", 4]
    comparisons, failure = pairs_in_time(machine, 1 if machine.small else 3,
                                         lambda pair: compared(machine, folder, pair, options))
    if comparisons:
        yield from judged(comparisons)
        counts = [trace.left_out(folder / f"{pair}.db") for pair in range(len(comparisons))]
        yield figure("records left out", sum(count for one in counts for count in one.values()), equals=0,
                     note=", ".join(f"{code} {count}" for one in counts for code, count in one.items()))
    if failure:  # the figures of the pairs before it are kept
        raise failure
