"""A million kernels: each is recorded, or counted as lost."""

import os
import resource
import time

from suite import trace
from suite.figures import figure
from suite.ranks import told

TITLE = "A million kernels (on a CPU 100,000 ranges)"
LIMIT_S = 95
LOSSES = ("cupti_dropped", "shard_full", "dropped_records")


def judged(launched, recorded, diagnostics):
    """What is not in the database must be in the diagnostics, one by one."""
    lost = sum(diagnostics.get(code, 0) for code in LOSSES)
    return [figure("launched", launched),
            figure("recorded", recorded, at_most=launched, at_least=launched - lost),
            figure("neither recorded nor counted as lost", max(0, launched - recorded - lost), equals=0),
            figure("counted as lost", lost, note=", ".join(
                f"{code} {count}" for code, count in diagnostics.items()
                if code in LOSSES or code.startswith("cupti")))]


def kernels_launched_in(database, range_name):
    """Number of kernels that were launched within the range. A kernel without a recorded launch counts by its start.

    Counted in SQL: the part's process does not hold a million events.
    """
    return trace.rows(
        database, "SELECT count(*) FROM kernel k LEFT JOIN (SELECT shard_id, correlation, min(start_ns) AS start_ns "
        "FROM api_call GROUP BY shard_id, correlation) c ON c.shard_id = k.shard_id AND c.correlation = k.correlation "
        "JOIN (SELECT r.shard_id, r.start_ns, r.end_ns FROM range r JOIN string n ON n.id = r.name_id "
        "WHERE n.value = ? AND r.kind <> 2) w ON w.shard_id = k.shard_id "
        "WHERE coalesce(c.start_ns, k.start_ns) >= w.start_ns AND coalesce(c.start_ns, k.start_ns) < w.end_ns",
        range_name)[0][0]


def measure(machine, folder):
    count = 1_000_000 if machine.cuda and not machine.small else 100_000
    plain = machine.job("many.py", machine.device, count, folder / "plain.json")
    machine.run(plain)
    free = told(folder / "plain.json")
    what = "kernel" if machine.cuda else "range"
    yield figure(f"a {what} not recorded", round(free["took_ns"] / count), "ns")
    begin = time.monotonic()
    machine.record(folder / "job.db", machine.job("many.py", machine.device, count, folder / "recorded.json"),
                   "--max-mb", 8192)
    took_s = time.monotonic() - begin
    database = folder / "job.db"
    own = told(folder / "recorded.json")
    yield figure(f"a {what} recorded", round(own["took_ns"] / count), "ns")
    if machine.cuda:
        recorded = kernels_launched_in(database, "many")
    else:
        recorded = trace.rows(database, "SELECT count(*) FROM range r JOIN string n ON n.id = r.name_id "
                              "WHERE n.value = 'one' AND r.end_ns IS NOT NULL")[0][0]
    yield from judged(count, recorded, trace.diagnostics(database))
    yield from [
        figure("job and database together", round(took_s, 1), "s"),
        figure("job's resident memory, recorded less not",
               (own["peak_rss_bytes"] - free["peak_rss_bytes"]) >> 20, "MiB"),
        figure("largest resident memory of any process of this part",
               resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, "MiB"),
        figure("database", os.path.getsize(database) >> 20, "MiB")]
