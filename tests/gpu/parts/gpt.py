"""DDP of the GPT preset on one device: our worker, the same training in Python recorded, and its imported profile."""

import json
import statistics

from judge.launches import launched_in
from judge.totals import compare, totals
from suite import trace
from suite.figures import figure
from suite.parts import pairs_in_time
from suite.ranks import import_runs, start, told, write_scenario

TITLE = "GPT: worker, recorded Python, imported profile"
LIMIT_S = 300
NEEDS_WORKER = True
ROUNDS = 3
PRESET = {"kind": "gpt", "layers": 12, "heads": 12, "width": 768, "vocabulary": 50257, "positions": 1024,
          "sequence": 1024}  # the scenario's defaults: GPT-2's 124 million parameters
ON_A_CPU = dict(PRESET, layers=2, heads=4, width=64, vocabulary=500, positions=64, sequence=32)


def in_steps(process, first, steps):
    """(name, duration_ns) of the kernels launched in the steps from number `first` on. Raises ValueError if the process
    does not have `steps` of them."""
    ranges = [one for one in process.ranges if one.name == "step" or one.name.startswith("step ")][first:]
    if len(ranges) != steps:
        raise ValueError(f"{len(ranges)} steps were recorded, expected {steps}")
    return [(kernel.name, kernel.end_ns - kernel.start_ns)
            for held in launched_in(ranges, process.kernels, process.calls).kernels for kernel in held]


def of_imported(process):
    """The same of an imported trace. The profiler ran in the compared steps only."""
    return [(kernel.name, kernel.end_ns - kernel.start_ns) for kernel in process.kernels]


def worker(machine, folder, model, batch, steps, warmup):
    """One run of our worker. Returns (step times in ns, kernels)."""
    folder.mkdir()
    write_scenario(folder / "gpt.yaml", machine, "nccl" if machine.cuda else "gloo", model, batch=batch, steps=steps,
                   warmup=warmup, precision="bf16", optimizer="adamw")
    start(machine, folder / "gpt.yaml", folder / "n1", 1)
    import_runs(machine, folder / "worker.db", folder / "n1")
    times = [row[0] for row in trace.rows(folder / "worker.db", "SELECT duration_ns FROM step WHERE kind = 'measured' "
                                          "ORDER BY step")]
    (process,) = trace.processes(folder / "worker.db")
    return times, in_steps(process, warmup, steps)


def one_round(machine, folder, number, model, batch, steps, warmup):
    """All three, one after the other: a device's clock changes with time. Returns their step times and kernels."""
    folder = folder / str(number)
    folder.mkdir()
    found = {"worker": worker(machine, folder / "worker", model, batch, steps, warmup)}
    options = ["--device", machine.device, "--model", json.dumps(model), "--precision", "bf16", "--batch", batch,
               "--steps", steps, "--warmup", warmup, "--told", folder / "told.json"]
    machine.record(folder / "recorded.db", machine.job("gpt.py", *options), "--tracer", "native")
    (process,) = trace.processes(folder / "recorded.db")
    found["recorded"] = told(folder / "told.json")["step_ns"], in_steps(process, warmup, steps)
    machine.run(machine.job("gpt.py", *options, "--profile", folder / "profile.json"))
    machine.run([machine.program, "import", folder / "profile.json", "--out", folder / "imported.db"])
    (process,) = trace.processes(folder / "imported.db")
    found["imported"] = told(folder / "told.json")["step_ns"], of_imported(process)
    return found


def step_times(rounds, steps):
    """Figures of the step times of the worker and of recorded Python. Both are recorded by the same tracer."""
    medians_ms = {side: [statistics.median(one[side][0]) / 1e6 for one in rounds] for side in ("worker", "recorded")}
    ratios = [ours / theirs for ours, theirs in zip(medians_ms["worker"], medians_ms["recorded"])]
    return [figure("rounds", len(rounds), at_least=1),
            figure("steps of each run", sorted({len(side[0]) for one in rounds for side in one.values()}),
                   equals=[steps]),
            figure("worker: step, median", round(statistics.median(medians_ms["worker"]), 4), "ms"),
            figure("Python DDP: step, median", round(statistics.median(medians_ms["recorded"]), 4), "ms"),
            figure("step time, worker over Python DDP, median of rounds", round(statistics.median(ratios), 4),
                   note="rounds: " + ", ".join(f"{one:.4f}" for one in ratios))]


def kernel_times(rounds):
    """Figures of the kernels: the three sources must agree on their total time. `rounds` are of one_round()."""
    for side, other in (("worker", "recorded"), ("imported", "recorded"), ("worker", "imported")):
        compared = [compare(totals(one[side][1]), totals(one[other][1])) for one in rounds]
        found = [one.ratio for one in compared]
        yield figure(f"total kernel time, {side} over {other}, median of rounds",
                     round(statistics.median(found), 4) if all(found) else None, at_least=0.99, at_most=1.01,
                     note="rounds: " + ", ".join(f"{one or 0:.4f}" for one in found))
        differing = [str(name) for one in compared for name in one.differing]
        # Two processes of one training have the same kernels. Those of the worker may differ, for example in a copy.
        yield figure(f"names whose counts differ, {side} and {other}", differing[:6],
                     **({} if side == "worker" else {"equals": []}),
                     note=f"the first of {len(differing)}" if differing else "")


def measure(machine, folder):
    model, batch, steps, warmup = (PRESET, 8, 20, 10) if machine.cuda else (ON_A_CPU, 2, 8, 4)
    rounds, failure = pairs_in_time(machine, 1 if machine.small else ROUNDS, lambda number: one_round(
        machine, folder, number, model, batch, steps, warmup))
    if rounds:
        yield from step_times(rounds, steps)
        if machine.cuda:
            yield from kernel_times(rounds)
    if failure:  # the figures of the rounds before it are kept
        raise failure
