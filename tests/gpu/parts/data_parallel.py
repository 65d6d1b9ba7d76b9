"""DataParallel: one process, a replica a device; with one device the degenerate case."""

from suite import trace
from suite.figures import figure
from suite.ranks import import_runs, scenario, start
from suite.machine import gpus

TITLE = "DataParallel"
LIMIT_S = 50
NEEDS_WORKER = True


def measure(machine, folder):
    path, _, steps = scenario(folder, machine, "auto" if machine.cuda else "gloo")
    most = gpus() if machine.cuda else 2
    sizes = [1, 2] if most >= 2 else [1]
    for size in sizes:
        start(machine, path, folder / f"n{size}", 1, "--strategy", "dp", "--replicas", str(size))
    database = folder / "job.db"
    import_runs(machine, database, *(folder / f"n{size}" for size in sizes))
    found = trace.rows(database, "SELECT strategy, world_size, device, status FROM measurement ORDER BY world_size")
    phases = {row[0] for row in trace.rows(database, "SELECT DISTINCT name FROM phase")}
    lanes = trace.rows(database, "SELECT m.world_size, count(DISTINCT p.lane) FROM phase p JOIN step st ON st.id = "
                       "p.step_id JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
                       "WHERE p.lane > 0 AND p.name = 'replica_forward' GROUP BY 1 ORDER BY 1")
    return [
        figure("measurements: strategy, replicas, device, status", [list(row) for row in found],
               equals=[["dp", size, machine.device, "ok"] for size in sizes]),
        figure("measured steps of each", sorted({row[0] for row in trace.rows(
            database, "SELECT count(*) FROM step WHERE kind = 'measured' GROUP BY shard_id")}), equals=[steps]),
        figure("copies that are missing", sorted({"replicate", "scatter", "gather"} - phases), equals=[]),
        figure("replicas' lanes", [list(row) for row in lanes if row[0] > 1], note="one replica has the step's own",
               equals=[[size, size] for size in sizes if size > 1]),
    ]
