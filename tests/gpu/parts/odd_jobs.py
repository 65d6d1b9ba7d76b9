"""What tracers stumble over: CUDA graphs, a second context, a job that profiles itself, a job that is killed."""

import os
import signal
import subprocess
import time

from suite import trace
from suite.figures import figure, nothing_in
from suite.job import LimitReached, evidence_until, timeout_message
from suite.parts import each
from suite.ranks import told

TITLE = "Odd jobs"
LIMIT_S = 75


def graphs_and_contexts(machine, folder):
    done = machine.record(folder / "odd.db", machine.job("odd.py", folder / "odd.json"), ok=None)
    yield figure("graph and second context: exit code", done.returncode, equals=0,
                 note="" if done.returncode == 0 else done.stderr.strip()[-300:])
    known = told(folder / "odd.json")
    (process,) = trace.processes(folder / "odd.db")
    window = process.named("graph")[0]
    replayed = [kernel for kernel in process.kernels if window.start_ns <= kernel.start_ns < window.end_ns]
    sets = [copy for copy in process.copies if copy.bytes == known["bytes"]]
    yield from [
        figure("graph: what it added", known["added"], equals=known["expected"]),
        figure("graph: kernels of its replays", len(replayed), equals=known["expected"]),
        figure("second context: the driver's codes", known["context_codes"], equals=[0] * 8),
        figure("second context: its memset", len(sets), equals=1),
        figure("database is sound", trace.sound(folder / "odd.db"), equals=True)]


def profiles_itself(machine, folder):
    steps = 6
    job = machine.job("step.py", "--device", machine.device, "--steps", steps, "--width", 128, "--profile",
                      folder / "own.json", "--told", folder / "profiled.json")
    done = machine.record(folder / "profiled.db", job, ok=None)
    yield figure("profiling itself: exit code", done.returncode, equals=0,
                 note="" if done.returncode == 0 else done.stderr.strip()[-300:])
    every = steps + told(folder / "profiled.json")["warmup"]
    (process,) = trace.processes(folder / "profiled.db")
    counts = trace.diagnostics(folder / "profiled.db")
    yield from [
        figure("profiling itself: its own trace", (folder / "own.json").stat().st_size, "bytes", at_least=1000),
        figure("profiling itself: steps recorded", len(process.named("step ")), equals=every),
        figure("profiling itself: kernels recorded", len(process.kernels),
               note=", ".join(f"{code} {count}" for code, count in counts.items())),
        figure("profiling itself: database is sound", trace.sound(folder / "profiled.db"), equals=True)]


def killed(machine, folder):
    """The job's process gets SIGKILL in the middle of its steps: what it had recorded is kept, and that is said."""
    (folder / "killed").mkdir()
    told_at = folder / "killed" / "told.json"
    job = machine.job("step.py", "--device", machine.device, "--steps", 100000, "--width", 64, "--pause-s", 0.01,
                      "--ready", folder / "killed" / "ready", "--told", told_at)
    shell = ["sh", "-c", 'echo $$ > "$0.pid"; exec "$@"', str(folder / "killed" / "job"), *job]
    recorder = machine.start([machine.program, "record", "--out", folder / "killed.db", "--", *shell])
    until = time.monotonic() + recorder.limit_s
    try:
        ready = folder / "killed" / "ready"
        while time.monotonic() < until and recorder.process.poll() is None and not ready.exists():
            time.sleep(0.05)
        if not ready.exists() and recorder.process.poll() is not None:
            raise RuntimeError(f"killed: ddpprof record ended before the job had done ten steps: exit code "
                               f"{recorder.process.returncode}: {recorder.output()[1][-1500:].strip()}")
        if not ready.exists():
            what = f"killed: the job did not do ten steps within {recorder.limit_s:.0f} s"
            raise LimitReached(timeout_message(what, [recorder], evidence_until(machine.deadline)))
        os.kill(int((folder / "killed" / "job.pid").read_text()), signal.SIGKILL)
        try:
            recorder.process.wait(max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            what = "killed: ddpprof record had not ended after its job was killed"
            raise LimitReached(timeout_message(what, [recorder], evidence_until(machine.deadline))) from None
    finally:
        recorder.end()
    process, errors = recorder.process, recorder.output()[1]
    heard = "; ".join(line for line in errors.splitlines() if "signal" in line)
    yield figure("killed: exit code", process.returncode, equals=128 + signal.SIGKILL, note=heard)
    counts = trace.diagnostics(folder / "killed.db") if (folder / "killed.db").exists() else {}
    process_kept = trace.processes(folder / "killed.db")[0] if counts else None
    yield figure("killed: steps kept", len(process_kept.named("step ")) if counts else None, at_least=10)
    # CUPTI is flushed every 0.25 s. The last ones are lost with the process: unclosed_shard reports it.
    yield figure("killed: kernels kept", len(process_kept.kernels) if counts else None,
                 note=", ".join(f"{code} {count}" for code, count in counts.items()))
    yield nothing_in("killed: diagnostics that are missing", {"unclosed_shard"} - set(counts))
    yield figure("killed: database is sound", trace.sound(folder / "killed.db"), equals=True)


def measure(machine, folder):
    jobs = [graphs_and_contexts, profiles_itself, killed] if machine.cuda else [profiles_itself, killed]
    yield from each((job.__name__, lambda job=job: job(machine, folder)) for job in jobs)
