"""Our worker's ranks, started by hand, and their database."""

import json
import os
import socket
import time

from suite.job import LimitReached, end_all, evidence_until, timeout_message

SCENARIO = """name: gpu-suite
workload:
  model: {model}
  data: {{samples: {samples}}}
  batch_per_worker: {batch}
  precision: {precision}
  optimizer: {{kind: {optimizer}}}
  loss: cross_entropy
strategies: [ddp, dp]
workers: [1]
device: {device}
backend: {backend}
ddp: {ddp}
measure: {{warmup_steps: {warmup}, steps: {steps}, unwrapped: false, timeout_s: 60, threads_per_rank: 1, sync: {sync}}}
predict: {{workers: [2, 4, 8]}}
learning_rate: {{base: 0.001}}
output: {{raw: all}}
"""


def write_scenario(path, machine, backend, model, *, batch, steps, warmup=4, precision="fp32", optimizer="sgd",
                   bucket_mb=None, sync="every_step"):
    """Writes a scenario file. `model` is the value of workload.model."""
    path.write_text(SCENARIO.format(model=json.dumps(model), samples=8 * batch * 4, batch=batch, precision=precision,
                                    optimizer=optimizer, device=machine.device, backend=backend, warmup=warmup,
                                    ddp="{}" if bucket_mb is None else f"{{bucket_cap_mb: {bucket_mb}}}", steps=steps,
                                    sync=sync))


def scenario(folder, machine, backend, *, width=None, layers=4, batch=64, steps=None, bucket_mb=1, sync="every_step"):
    """Writes the scenario file of a perceptron.

    Returns its path, the bytes of the gradients and the measured steps.
    """
    width = width or (1024 if machine.cuda else 128)
    steps = steps or (30 if machine.cuda else 12)
    path = folder / f"{backend}.yaml"
    write_scenario(path, machine, backend, {"kind": "mlp", "widths": [width] * (layers + 1)}, batch=batch, steps=steps,
                   bucket_mb=bucket_mb, sync=sync)
    return path, 4 * layers * (width * width + width), steps


def start(machine, scenario_file, out, size, *arguments, limit_s=None, one_gpu=True, environment=None):
    """Runs `ddpprof worker` as ranks 0 to size - 1 of this host.

    Raises RuntimeError if a rank fails, LimitReached if one has not ended after the limit. Ends the other ranks then.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = []
    try:
        for rank in range(size):
            place = dict(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                         # All on device 0: the machine may have one device only.
                         LOCAL_RANK="0" if machine.cuda and one_gpu else str(rank))
            place.update({name: value(rank) for name, value in (environment or {}).items()})
            own = {name: value for name, value in machine.environment(**place).items() if name != "LOCAL_WORLD_SIZE"}
            ranks.append(machine.start([machine.program, "worker", scenario_file, "--out", out, "--rendezvous-timeout",
                                        "60", *arguments], limit_s, environment=own))
        wait_for(machine, ranks)
    finally:
        end_all(ranks)


def wait_for(machine, ranks):
    """Waits until all ranks have ended, or one has failed. Raises as start() does."""
    until = time.monotonic() + min(one.limit_s for one in ranks)
    while any(one.process.poll() is None for one in ranks):
        if any(one.process.poll() for one in ranks):
            time.sleep(1)  # the other ranks may fail, too, and the first cause may be theirs
            break
        if time.monotonic() > until:
            running = [str(rank) for rank, one in enumerate(ranks) if one.process.poll() is None]
            what = f"rank {', '.join(running)} of {len(ranks)} had not ended after {ranks[0].limit_s:.0f} s"
            raise LimitReached(timeout_message(what, ranks, evidence_until(machine.deadline)))
        time.sleep(0.02)
    codes = [one.process.poll() for one in ranks]
    if any(codes):
        raise RuntimeError("\n".join(
            f"rank {rank} of {len(ranks)}: {'still running' if code is None else f'exit code {code}'}: "
            f"{one.output()[1][-1500:].strip()}" for rank, (code, one) in enumerate(zip(codes, ranks))))


def two_over_nccl():
    """Variables with which NCCL takes each rank for a host of its own, so that two may share one device."""
    return {"NCCL_HOSTID": lambda rank: f"rank-{rank}", "NCCL_SOCKET_IFNAME": lambda _: "lo",
            "NCCL_IB_DISABLE": lambda _: "1"}


def results(out):
    """Every rank's result, rank 0 first."""
    return [json.loads(path.read_text()) for path in sorted(out.glob("attempt-0/result-*.json"))]


def import_runs(machine, database, *runs):
    return machine.run([machine.program, "import", *runs, "--out", database])


def told(path):
    """What a job wrote of itself. Raises RuntimeError when it wrote nothing."""
    if not os.path.exists(path):
        raise RuntimeError(f"the job left no {os.path.basename(path)}")
    with open(path) as file:
        return json.load(file)
