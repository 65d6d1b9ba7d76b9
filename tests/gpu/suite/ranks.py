"""Our worker's ranks, started by hand, and their database."""

import json
import os
import socket
import subprocess
import time

SCENARIO = """name: gpu-suite
workload:
  model: {{kind: mlp, widths: {widths}}}
  data: {{samples: {samples}}}
  batch_per_worker: {batch}
  optimizer: {{kind: sgd}}
  loss: {loss}
strategies: [ddp, dp]
workers: [1]
device: {device}
backend: {backend}
ddp: {{bucket_cap_mb: {bucket_mb}}}
measure: {{warmup_steps: 4, steps: {steps}, unwrapped: false, timeout_s: 60, threads_per_rank: 1}}
predict: {{workers: [2, 4, 8]}}
learning_rate: {{base: 0.001}}
output: {{raw: all}}
"""


def scenario(folder, machine, backend, *, width=None, layers=4, batch=64, steps=None, bucket_mb=1):
    """Writes the scenario file; returns its path, the bytes of the gradients and the measured steps."""
    width = width or (1024 if machine.cuda else 128)
    steps = steps or (30 if machine.cuda else 12)
    path = folder / f"{backend}.yaml"
    path.write_text(SCENARIO.format(widths=[width] * (layers + 1), samples=8 * batch * 4, batch=batch,
                                    loss="cross_entropy", device=machine.device, backend=backend, steps=steps,
                                    bucket_mb=bucket_mb))
    return path, 4 * layers * (width * width + width), steps


def start(machine, scenario_file, out, size, limit_s, *arguments, one_gpu=True, environment=None):
    """Runs `ddpprof worker` as ranks 0 to size - 1 of this host. Raises RuntimeError when one fails or is late."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = []
    for rank in range(size):
        place = dict(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                     # All on device 0: there may be one only.
                     LOCAL_RANK="0" if machine.cuda and one_gpu else str(rank))
        place.update({name: value(rank) for name, value in (environment or {}).items()})
        command = [machine.program, "worker", str(scenario_file), "--out", str(out), "--rendezvous-timeout", "60",
                   *arguments]
        own = {name: value for name, value in machine.environment(**place).items() if name != "LOCAL_WORLD_SIZE"}
        ranks.append(subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      errors="replace", stdin=subprocess.DEVNULL))
    until = time.monotonic() + limit_s
    try:
        for rank, process in enumerate(ranks):
            _, errors = process.communicate(timeout=max(0.1, until - time.monotonic()))
            if process.returncode != 0:
                raise RuntimeError(f"rank {rank} of {size}: exit code {process.returncode}: {errors[-1500:]}")
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"rank {rank} of {size} has not ended after {limit_s} s") from late
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
            process.wait()


def two_over_nccl():
    """Variables with which NCCL takes each rank for a host of its own, so that two may share one device."""
    return {"NCCL_HOSTID": lambda rank: f"rank-{rank}", "NCCL_SOCKET_IFNAME": lambda _: "lo",
            "NCCL_IB_DISABLE": lambda _: "1"}


def results(out):
    """Every rank's result, rank 0 first."""
    return [json.loads(path.read_text()) for path in sorted(out.glob("attempt-0/result-*.json"))]


def import_runs(machine, database, *runs, limit_s=60):
    return machine.run([machine.program, "import", *runs, "--out", database], limit_s)


def told(path):
    """What a job wrote of itself. Raises RuntimeError when it wrote nothing."""
    if not os.path.exists(path):
        raise RuntimeError(f"the job left no {os.path.basename(path)}")
    with open(path) as file:
        return json.load(file)
