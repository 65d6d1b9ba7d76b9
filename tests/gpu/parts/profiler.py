"""The same deterministic steps under our tracer and under torch.profiler, kernel by kernel."""

import json
import statistics

from judge.launches import launched_in
from judge.totals import compare, totals
from suite import trace
from suite.figures import Skip, figure
from suite.ranks import told

TITLE = "Kernels beside torch.profiler's"
LIMIT_S = 110


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
    return [
        figure("kernels a run, ours", [one.kernels for one in comparisons], note="by name, in every pair of runs",
               equals=[one.other_kernels for one in comparisons]),
        figure("names whose counts differ", [name for one in comparisons for name, *_ in one.differing][:3], equals=[]),
        # Clocks of a device differ between two runs by more than the recordings do: hence several, in turn.
        figure("total kernel time, ours over torch.profiler's, median",
               statistics.median(one.ratio for one in comparisons) if all(one.ratio for one in comparisons) else None,
               at_least=0.99, at_most=1.01, note="pairs: " + ", ".join(f"{one.ratio or 0:.4f}" for one in comparisons)),
    ]


def measure(machine, folder):
    if not machine.cuda:
        raise Skip("a CPU runs no kernels")
    comparisons = []
    # Products of 4 ms and more: what differs is the recording, not where a short kernel's edges are.
    options = ["--device", "cuda", "--steps", 10, "--warmup", 5, "--width", 4096, "--batch", 4096, "--layers", 4]
    for pair in range(1 if machine.small else 3):
        machine.record(folder / f"{pair}.db", machine.job("step.py", *options, "--told", folder / "ours.json"), 60)
        machine.run(machine.job("step.py", *options, "--profile", folder / f"{pair}.json", "--told",
                                folder / "theirs.json"), 60)
        warmup = told(folder / "ours.json")["warmup"]
        comparisons.append(compare(totals(recorded_kernels(folder / f"{pair}.db", warmup)),
                                   totals(chrome_kernels(folder / f"{pair}.json"))))
    return judged(comparisons)
