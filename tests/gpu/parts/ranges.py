"""CUPTI's kernels beside the NVTX ranges that they were launched in."""

from judge.launches import launched_in
from suite import trace
from suite.figures import figure, nothing_in
from suite.ranks import told

TITLE = "Kernels in NVTX ranges"
LIMIT_S = 60


def measure(machine, folder):
    steps = 20 if machine.cuda else 6
    job = machine.job("step.py", "--device", machine.device, "--steps", steps, "--width", 1024 if machine.cuda else 64,
                      "--told", folder / "told.json")
    machine.record(folder / "job.db", job, LIMIT_S)
    known = told(folder / "told.json")
    all_steps = steps + known["warmup"]
    (process,) = trace.processes(folder / "job.db")
    figures = [figure("step ranges", len(process.named("step ")), equals=all_steps),
               figure("ranges of forward, backward, optimizer, adds",
                      [len(process.named(name)) for name in ("forward", "backward", "optimizer", "adds")],
                      equals=[all_steps] * 4),
               # A range lies inside of the job's own two readings of the same clock.
               nothing_in("steps that last longer than the job's own clock says",
                          [one.name for one, took in zip(process.named("step ")[known["warmup"]:],
                                                         known["step_ns"]["256"])
                           if one.end_ns - one.start_ns > took])]
    if not machine.cuda:
        return figures
    found = launched_in(process.named("step "), process.kernels, process.calls)
    adds = launched_in(process.named("adds"), process.kernels, process.calls)
    settled = found.counts[known["warmup"]:]
    return figures + [
        figure("kernels recorded", len(process.kernels), at_least=1),
        nothing_in("kernels without a recorded launch", found.without_call),
        nothing_in("kernels that begin before their launch", found.before_call),
        nothing_in("kernels that begin before their range", found.before_range + adds.before_range),
        figure("kernels in each range of adds", sorted(set(adds.counts)), equals=[known["adds"]]),
        figure("kernels a step, after the warm-up", sorted(set(settled)), note="equal steps launch equally many",
               equals=settled[:1]),
    ]
