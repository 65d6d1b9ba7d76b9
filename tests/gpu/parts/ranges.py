"""CUPTI's kernels and the NVTX ranges in which they were launched, with both sources of CUPTI's timestamps."""

from judge.launches import launched_in, outside
from suite import trace
from suite.figures import figure, nothing_in, without_goal
from suite.parts import each
from suite.ranks import told

TITLE = "Kernels in NVTX ranges"
LIMIT_S = 120
ONE_S = 50  # so that a hang with one source leaves time for the other
# The tracer's sources of timestamps: cuptiActivityRegisterTimestampCallback, or pairs of readings of both clocks.
SOURCES = ("callback", "paired")
# Before this version (CUDA 13.1), CUPTI can give kernels the time 0 if a callback is registered. The tracer's default
# is then `paired` (tracer/format/cupti_versions.hpp).
FIRST_WITH_SOUND_CALLBACK = 130_100
KNOWN_DEFECT = "known defect of CUPTI before 13.1: no goal"
# CUPTI interpolates a kernel's time linearly between two clocks. A start before the launch by less is such an error.
TOLERANCE_NS = 2000


def of_kernels(process, known):
    """Figures about the kernels of the recorded job."""
    found = launched_in(process.named("step "), process.kernels, process.calls)
    adds = launched_in(process.named("adds"), process.kernels, process.calls)
    settled = found.counts[known["warmup"]:]
    range_gaps_ns = [gap for gap in (found.range_gap_ns, adds.range_gap_ns) if gap is not None]
    return [
        figure("kernels recorded", len(process.kernels), at_least=1),
        nothing_in("kernels without a recorded launch", found.without_call),
        nothing_in("kernels that start at zero or outside of the job's lifetime",
                   outside(process.kernels, known["lifetime_ns"])),
        figure("smallest gap, kernel start - launch start", found.call_gap_ns, "ns", at_least=-TOLERANCE_NS),
        figure("smallest gap, kernel start - range start", min(range_gaps_ns, default=None), "ns",
               at_least=-TOLERANCE_NS),
        figure("kernels in each range of adds", sorted(set(adds.counts)), equals=[known["adds"]]),
        figure("kernels a step, after the warm-up", sorted(set(settled)), note="equal steps launch equally many",
               equals=settled[:1]),
    ]


def of_recording(machine, folder, source, name):
    """Figures of one recording into NAME.db. `source` is None for the tracer's default."""
    steps = 20 if machine.cuda else 6
    job = machine.job("step.py", "--device", machine.device, "--steps", steps, "--width", 1024 if machine.cuda else 64,
                      "--told", folder / f"{name}.json")
    environment = machine.environment(**({"DDPPROF_CUPTI_TIMESTAMPS": source} if source else {}))
    machine.record(folder / f"{name}.db", job, limit_s=ONE_S if source else None, environment=environment)
    known = told(folder / f"{name}.json")
    all_steps = steps + known["warmup"]
    (process,) = trace.processes(folder / f"{name}.db")
    yield figure("step ranges", len(process.named("step ")), equals=all_steps)
    yield figure("ranges of forward, backward, optimizer, adds",
                 [len(process.named(kind)) for kind in ("forward", "backward", "optimizer", "adds")],
                 equals=[all_steps] * 4)
    # A range lies between the job's own two readings of the same clock.
    yield nothing_in("steps that last longer than the job's own clock says",
                     [one.name for one, took in zip(process.named("step ")[known["warmup"]:], known["step_ns"]["256"])
                      if one.end_ns - one.start_ns > took])
    if machine.cuda:
        counts = trace.left_out(folder / f"{name}.db")
        figures = [figure("records left out", sum(counts.values()), equals=0,
                          note=", ".join(f"{code} {count}" for code, count in counts.items())),
                   *of_kernels(process, known)]
        version = trace.cupti_version(folder / f"{name}.db")
        defect = source == "callback" and version is not None and version < FIRST_WITH_SOUND_CALLBACK
        yield from (without_goal(one, KNOWN_DEFECT) if defect else one for one in figures)


def recorded(machine, folder, source):
    """of_recording(). The names of the figures begin with the source, if one is given."""
    for one in of_recording(machine, folder, source, source or "default"):
        one.name = f"{source}: {one.name}" if source else one.name
        yield one


def measure(machine, folder):
    if not machine.cuda:
        return recorded(machine, folder, None)
    return each((source, lambda source=source: recorded(machine, folder, source)) for source in SOURCES)
