"""A million kernels: none is lost, or how many were is said."""

import os
import resource
import time

from suite import trace
from suite.figures import figure
from suite.ranks import told

TITLE = "A million kernels (on a CPU 100,000 ranges)"
LIMIT_S = 150
LOSSES = ("cupti_dropped", "shard_full", "dropped_records")


def judged(launched, recorded, diagnostics):
    """What is not in the database must be in the diagnostics, one by one."""
    said = sum(diagnostics.get(code, 0) for code in LOSSES)
    return [figure("launched", launched),
            figure("recorded", recorded, at_most=launched, at_least=launched - said),
            figure("neither recorded nor counted as lost", max(0, launched - recorded - said), equals=0),
            figure("counted as lost", said, note=", ".join(
                f"{code} {count}" for code, count in diagnostics.items() if code in LOSSES or code.startswith("cupti")))]


def measure(machine, folder):
    count = 1_000_000 if machine.cuda and not machine.small else 100_000
    plain = machine.job("many.py", machine.device, count, folder / "plain.json")
    machine.run(plain, 60)
    begin = time.monotonic()
    machine.record(folder / "job.db", machine.job("many.py", machine.device, count, folder / "recorded.json"), 120,
                   "--max-mb", 8192)
    took_s = time.monotonic() - begin
    database = folder / "job.db"
    if machine.cuda:
        (process,) = trace.processes(database)
        window = process.named("many")[0]
        begin_ns = {call.correlation: call.start_ns for call in process.calls}
        recorded = sum(window.start_ns <= begin_ns.get(kernel.correlation, kernel.start_ns) < window.end_ns
                       for kernel in process.kernels)
    else:
        recorded = trace.rows(database, "SELECT count(*) FROM range r JOIN string n ON n.id = r.name_id "
                              "WHERE n.value = 'one' AND r.end_ns IS NOT NULL")[0][0]
    own, free = told(folder / "recorded.json"), told(folder / "plain.json")
    what = "kernel" if machine.cuda else "range"
    return judged(count, recorded, trace.diagnostics(database)) + [
        figure(f"a {what} not recorded", round(free["took_ns"] / count), "ns"),
        figure(f"a {what} recorded", round(own["took_ns"] / count), "ns"),
        figure("job and database together", round(took_s, 1), "s"),
        figure("job's resident memory, recorded less not",
               (own["peak_rss_bytes"] - free["peak_rss_bytes"]) >> 20, "MiB"),
        figure("largest resident memory of any process of this part",
               resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, "MiB"),
        figure("database", os.path.getsize(database) >> 20, "MiB")]
