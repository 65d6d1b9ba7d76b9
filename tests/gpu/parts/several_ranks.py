"""Several ranks on one device over Gloo, tensors on the device."""

from parts.one_rank import bytes_a_step
from suite import trace
from suite.figures import figure, nothing_in
from suite.ranks import import_runs, scenario, start

TITLE = "Several ranks on one device, Gloo"
LIMIT_S = 80
NEEDS_WORKER = True


def measure(machine, folder):
    path, gradient_bytes, steps = scenario(folder, machine, "gloo")
    sizes = [1, 2] if machine.small else [1, 2, 4]
    for size in sizes:
        start(machine, path, folder / f"n{size}", size)
    database = folder / "job.db"
    import_runs(machine, database, *(folder / f"n{size}" for size in sizes))
    times = trace.rows(database, "SELECT m.world_size, m.backend, m.device, m.status, count(DISTINCT sh.rank) FROM "
                       "measurement m JOIN shard sh ON sh.measurement_id = m.id GROUP BY m.id ORDER BY 1")
    unordered = trace.rows(database, "SELECT c.sequence FROM collective c JOIN step s ON s.id = c.step_id WHERE "
                           "c.bucket >= 0 AND s.kind = 'measured' AND NOT (c.ready_ns <= c.launch_ns AND "
                           "c.launch_ns <= c.start_ns AND c.start_ns < c.end_ns)")
    predicted = machine.run([machine.program, "predict", database, "--workers", "8", "--format", "csv"], ok=None)
    figures = [
        figure("measurements: ranks, backend, device, status, shards", [list(row) for row in times],
               equals=[[size, "gloo", machine.device, "ok", size] for size in sizes]),
        figure("bytes all-reduced in a step", bytes_a_step(database, 0), "bytes", equals=[gradient_bytes]),
        nothing_in("all-reduces out of order (ready, launched, started, ended)", unordered),
        figure("measured steps of each rank", sorted({row[0] for row in trace.rows(
            database, "SELECT count(*) FROM step WHERE kind = 'measured' GROUP BY shard_id")}), equals=[steps]),
        figure("predict --workers 8, exit code", predicted.returncode, equals=0, note=predicted.stderr[-200:]),
    ]
    if machine.cuda:
        kernels = [row[0] for row in trace.rows(database, "SELECT count(*) FROM kernel GROUP BY shard_id")]
        figures.append(figure("ranks with kernels", len(kernels), equals=sum(sizes)))
    return figures
