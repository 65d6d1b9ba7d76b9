"""A bucket's all-reduce begins after the kernel that made its last gradient, on the device's clock."""

from judge.order import check, is_all_reduce
from suite import trace
from suite.figures import figure, nothing_in
from suite.ranks import import_runs, scenario, start, told, two_over_nccl

TITLE = "All-reduces after their gradients"
LIMIT_S = 85
NEEDS_WORKER = True


def judged(process, known, label):
    marks = sorted(((int(one.name.split()[1]), one.start_ns) for one in process.marks
                    if one.name.startswith("gradient ")), key=lambda one: one[1])
    steps = process.named("step ")[known["warmup"]:]
    found = check(steps, known["buckets"], marks, process.kernels, process.calls)
    return [figure(f"{label}: buckets judged", found.pairs, equals=len(steps) * len(known["buckets"]),
                   note="; ".join(map(str, found.missing[:3]))),
            nothing_in(f"{label}: all-reduces before their gradient", found.early)]


def stored_figures(database, label):
    """The table's own times, and that they are the kernels' where there are kernels."""
    wrong = trace.rows(database, "SELECT sequence, ready_ns, start_ns FROM collective WHERE ready_ns IS NOT NULL AND "
                       "start_ns IS NOT NULL AND ready_ns > start_ns")
    figures = [nothing_in(f"{label}: stored collectives that start before they are ready", wrong)]
    begins = {kernel.start_ns for process in trace.processes(database) for kernel in process.kernels
              if is_all_reduce(kernel.name)}
    starts = [row[0] for row in trace.rows(database, "SELECT start_ns FROM collective WHERE start_ns IS NOT NULL")]
    if begins and starts:
        figures.append(nothing_in(f"{label}: stored starts without a kernel", set(starts) - begins))
    return figures


def of_worker(database, process):
    """Of our worker's rank: measured steps, buckets, and (parameter, time_ns) of its marks, for judge.order.check."""
    rows = trace.rows(database, "SELECT step, start_ns, duration_ns FROM step WHERE shard_id = ? AND "
                      "kind = 'measured' ORDER BY start_ns", process.shard)
    steps = [trace.Range(f"step {step}", start_ns, start_ns + duration_ns, 0, None)
             for step, start_ns, duration_ns in rows]
    buckets = {}
    for bucket, parameter in trace.rows(
            database, "SELECT bucket, parameter FROM bucket WHERE generation = 1 AND measurement_id = (SELECT "
            "measurement_id FROM shard WHERE id = ?) ORDER BY bucket, position", process.shard):
        buckets.setdefault(bucket, []).append(parameter)
    marks = [(int(one.payload), one.start_ns) for one in process.marks if one.name == "grad_ready"]
    return steps, [buckets[bucket] for bucket in sorted(buckets)], marks


def judged_worker(database):
    """Every rank of a database of our worker over NCCL."""
    figures = []
    for process in trace.processes(database):
        steps, buckets, marks = of_worker(database, process)
        found = check(steps, buckets, marks, process.kernels, process.calls)
        label = f"worker's rank {process.rank} of two"
        figures += [figure(f"{label}: buckets judged", found.pairs, equals=len(steps) * len(buckets),
                           note="; ".join(map(str, found.missing[:3]))),
                    nothing_in(f"{label}: all-reduces before their gradient", found.early)]
    return figures


def on_cpu(machine, folder):
    path, _, steps = scenario(folder, machine, "gloo", bucket_mb=0.1)
    start(machine, path, folder / "n2", 2)
    import_runs(machine, folder / "job.db", folder / "n2")
    judged_rows = trace.rows(folder / "job.db", "SELECT count(*) FROM collective WHERE ready_ns IS NOT NULL "
                             "AND bucket >= 0")
    # The members of a bucket and the times of their gradients are in separate tables.
    apart = trace.rows(folder / "job.db", """
        SELECT c.sequence, c.ready_ns, max(st.start_ns + g.ready_ns) latest FROM collective c
        JOIN step st ON st.id = c.step_id JOIN shard sh ON sh.id = c.shard_id
        JOIN bucket b ON b.measurement_id = sh.measurement_id AND b.generation = 1 AND b.bucket = c.bucket
        JOIN grad_ready g ON g.step_id = st.id AND g.parameter = b.parameter
        WHERE c.bucket >= 0 AND st.kind = 'measured' GROUP BY c.rowid HAVING c.ready_ns <> latest""")
    ready = []  # ready times as the marks tell them, a kernel or none
    for process in trace.processes(folder / "job.db"):
        all_steps, buckets, marks = of_worker(folder / "job.db", process)
        ready += [max(at for parameter, at in marks if parameter in bucket and step.start_ns <= at < step.end_ns)
                  for step in all_steps for bucket in buckets]
    stored = [row[0] for row in trace.rows(folder / "job.db", "SELECT c.ready_ns FROM collective c JOIN step s ON "
                                           "s.id = c.step_id WHERE s.kind = 'measured' AND c.bucket >= 0")]
    return [nothing_in("ready times of marks and stored ones that differ", set(ready) ^ set(stored)),
            figure("buckets with a ready time", judged_rows[0][0], at_least=2 * 2 * steps),
            nothing_in("ready times that are not the last gradient's", apart),
            *stored_figures(folder / "job.db", "worker")]


def measure(machine, folder):
    if not machine.cuda:
        yield from on_cpu(machine, folder)
        return
    common = ["--device", "cuda", "--ddp", "nccl", "--one-gpu", "--steps", 10, "--warmup", 4, "--width", 2048,
              "--layers", 6, "--bucket-mb", 20, "--marks"]
    alone = machine.job("step.py", *common, "--average", "--told", folder / "one.json")
    machine.record(folder / "one.db", alone)
    yield from judged(trace.processes(folder / "one.db")[0], told(folder / "one.json"), "one rank")
    yield from stored_figures(folder / "one.db", "one rank")
    machine.record(folder / "two.db", machine.ranks(2, "step.py", *common, "--told", folder / "two.json"))
    for process in trace.processes(folder / "two.db"):
        name = "two.json" if process.rank == 0 else f"two-rank{process.rank}.json"
        yield from judged(process, told(folder / name), f"rank {process.rank} of two")
    yield from stored_figures(folder / "two.db", "two ranks")
    if machine.device == "cuda":
        path, *_ = scenario(folder, machine, "nccl")
        start(machine, path, folder / "n2", 2, environment=two_over_nccl())
        import_runs(machine, folder / "worker.db", folder / "n2")
        yield from judged_worker(folder / "worker.db")
