"""What `ddpprof worker`'s ranks measure on hosts of hosts.py: one world size at a time, one folder each.

DDPPROF_PROGRAM names the program.
"""

import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import time

from hosts import Hosts

PROGRAM = os.environ["DDPPROF_PROGRAM"]
PORT = 29517
ROOT_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_", "OMPI_",
                  "TORCHELASTIC_")


class Failed(RuntimeError):
    pass


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ROOT_VARIABLES)}
    return {**kept, **more}


def run_ranks(hosts, world_size, arguments, folder, timeout_s=540):
    """One rank a host, rank 0 on host 0; they share `folder`. Raises Failed with the first failing rank's last words."""
    ranks, logs = [], []
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        for rank in range(world_size):
            log = open(f"{folder}.rank{rank}.log", "w+")
            logs.append(log)
            ranks.append(hosts.start(rank, [PROGRAM, "worker", *map(str, arguments), "--out", str(folder), "--overwrite"],
                                     environment(RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK="0",
                                                 MASTER_ADDR=hosts.address(0), MASTER_PORT=str(PORT)),
                                     stdout=log, stderr=log))
        end = time.monotonic() + timeout_s
        codes = [None]
        while None in codes and not any(codes) and time.monotonic() < end:
            time.sleep(0.05)
            codes = [process.poll() for process in ranks]
        if any(codes):  # the first to fail: the others fail because it is gone
            rank = next(rank for rank, code in enumerate(codes) if code)
            logs[rank].seek(0)
            raise Failed(f"rank {rank} of {world_size} ended with {codes[rank]}: {logs[rank].read()[-2000:]}")
        if None in codes:
            raise Failed(f"rank {codes.index(None)} of {world_size} did not end within {timeout_s} s")
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
            process.wait(30)
        for log in logs:
            log.close()


def ddpprof(*arguments, codes=(0,), timeout_s=300):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_s,
                            env=environment())
    if result.returncode not in codes:
        raise Failed(f"ddpprof {' '.join(map(str, arguments))} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def measure_bench(folder, mbit, share, scenario, world_size=2, timeout_s=540):
    with Hosts(world_size, mbit, share) as hosts:
        run_ranks(hosts, world_size, [scenario, "--bench-comm"], folder, timeout_s)


def measure_training(folder, mbit, share, scenario, world_size, overrides=(), timeout_s=540):
    arguments = [scenario]
    for override in overrides:
        arguments += ["--set", override]
    with Hosts(world_size, mbit, share) as hosts:
        run_ranks(hosts, world_size, arguments, folder, timeout_s)


def database_of(folders, database):
    ddpprof("import", *folders, "--out", database, "--overwrite", "-q", codes=(0, 5))
    return pathlib.Path(database)


def ddp_steps(database, columns, rest=""):
    """Rows over the measured steps of ddp: m is the measurement, sh the rank's shard, st the step."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(
            f"SELECT {columns} FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m "
            f"ON m.id = sh.measurement_id WHERE st.kind = 'measured' AND m.strategy = 'ddp' {rest}").fetchall()
    finally:
        connection.close()


def repeats_s(database):
    """Each measurement's steps, every one the mean of its ranks'."""
    runs = {}
    for measurement, duration_ns in ddp_steps(database, "m.id, avg(st.duration_ns)",
                                              "GROUP BY m.id, st.step ORDER BY m.id, st.step"):
        runs.setdefault(measurement, []).append(duration_ns * 1e-9)
    return list(runs.values())


def forward_s(database):
    """By world size, how long a rank's forward takes: no communication runs beside it, so a host shows what it costs."""
    found = {}
    for workers, forward_ns in ddp_steps(database, "m.world_size, st.forward_ns"):
        found.setdefault(workers, []).append(forward_ns * 1e-9)
    return {workers: statistics.mean(times) for workers, times in found.items()}


def exposed_share(database):
    """Of a step, its exposed communication, waiting for other ranks included: median over steps of the ranks' mean."""
    return statistics.median(share for share, in ddp_steps(
        database, "sum(st.exposed_ns) * 1.0 / sum(st.duration_ns)", "GROUP BY m.id, st.step"))


def predictions(database, workers, *more):
    """By world size, the rows of `ddpprof predict` for ddp."""
    text = ddpprof("predict", database, "--workers", ",".join(map(str, workers)), "--format", "json", *more)
    for table in json.loads(text)["tables"]:
        if table["name"] == "predictions":
            return {row["workers"]: row for row in table["rows"] if row["strategy"] == "ddp"}
    raise Failed("ddpprof predict printed no table of predictions")
