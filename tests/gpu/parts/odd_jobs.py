"""What tracers stumble over: CUDA graphs, a second context, a job that profiles itself, a job that is killed."""

import os
import signal
import subprocess
import time

from suite import trace
from suite.figures import figure, nothing_in
from suite.ranks import told

TITLE = "Odd jobs"
LIMIT_S = 120


def graphs_and_contexts(machine, folder):
    machine.record(folder / "odd.db", machine.job("odd.py", folder / "odd.json"), 60)
    known = told(folder / "odd.json")
    (process,) = trace.processes(folder / "odd.db")
    window = process.named("graph")[0]
    replayed = [kernel for kernel in process.kernels if window.start_ns <= kernel.start_ns < window.end_ns]
    sets = [copy for copy in process.copies if copy.bytes == known["bytes"]]
    return [figure("graph: what it added", known["added"], equals=known["expected"]),
            figure("graph: kernels of its replays", len(replayed), equals=known["expected"]),
            figure("second context: the driver's codes", known["context_codes"], equals=[0] * 8),
            figure("second context: its memset", len(sets), equals=1),
            figure("database is sound", trace.sound(folder / "odd.db"), equals=True)]


def profiles_itself(machine, folder):
    steps = 6
    job = machine.job("step.py", "--device", machine.device, "--steps", steps, "--width", 128, "--profile",
                      folder / "own.json", "--told", folder / "profiled.json")
    done = machine.record(folder / "profiled.db", job, 60, ok=None)
    every = steps + told(folder / "profiled.json")["warmup"]
    (process,) = trace.processes(folder / "profiled.db")
    said = trace.diagnostics(folder / "profiled.db")
    return [figure("profiling itself: exit code", done.returncode, equals=0),
            figure("profiling itself: its own trace", (folder / "own.json").stat().st_size, "bytes", at_least=1000),
            figure("profiling itself: steps recorded", len(process.named("step ")), equals=every),
            figure("profiling itself: kernels recorded", len(process.kernels),
                   note=", ".join(f"{code} {count}" for code, count in said.items())),
            figure("profiling itself: database is sound", trace.sound(folder / "profiled.db"), equals=True)]


def killed(machine, folder):
    """The job's process gets SIGKILL in the middle of its steps: what it had recorded is kept, and that is said."""
    (folder / "killed").mkdir()
    told_at = folder / "killed" / "told.json"
    job = machine.job("step.py", "--device", machine.device, "--steps", 100000, "--width", 64, "--pause-s", 0.01,
                      "--ready", folder / "killed" / "ready", "--told", told_at)
    shell = ["sh", "-c", 'echo $$ > "$0.pid"; exec "$@"', str(folder / "killed" / "job"), *job]
    process = subprocess.Popen([machine.program, "record", "--out", str(folder / "killed.db"), "--", *shell],
                               env=machine.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               errors="replace")
    until = time.monotonic() + 60
    try:
        while time.monotonic() < until and process.poll() is None and not (folder / "killed" / "ready").exists():
            time.sleep(0.05)
        os.kill(int((folder / "killed" / "job.pid").read_text()), signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    said = trace.diagnostics(folder / "killed.db") if (folder / "killed.db").exists() else {}
    process_kept = trace.processes(folder / "killed.db")[0] if said else None
    steps = len(process_kept.named("step ")) if said else None
    heard = "; ".join(line for line in errors.splitlines() if "signal" in line)
    return [figure("killed: exit code", process.returncode, equals=128 + signal.SIGKILL, note=heard),
            figure("killed: steps kept", steps, at_least=10),
            # CUPTI hands over once a second: what it still held goes with the process, which is said.
            figure("killed: kernels kept", len(process_kept.kernels) if said else None,
                   note=", ".join(f"{code} {count}" for code, count in said.items())),
            nothing_in("killed: not said", {"unclosed_shard"} - set(said)),
            figure("killed: database is sound", trace.sound(folder / "killed.db"), equals=True)]


def measure(machine, folder):
    figures = graphs_and_contexts(machine, folder) if machine.cuda else []
    return figures + profiles_itself(machine, folder) + killed(machine, folder)
