"""Loads an exported Chrome trace with Holistic Trace Analysis, an independent reader, and compares with the database.

second_reader.py TRACE.json FILE.db: exit code 0 if everything in the database is found, 1 if not, 77 (a skipped
test) if the package is not installed in this interpreter. With DDPPROF_COMPLETE=1, as scripts/test sets it after
installing the package, this is a failure.
"""

import json
import os
import sqlite3
import sys

try:
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig
except ImportError as error:
    print(f"skipped: {error}; install HolisticTraceAnalysis==0.5.0 in this interpreter's environment")
    sys.exit(1 if os.environ.get("DDPPROF_COMPLETE") == "1" else 77)

trace, database = sys.argv[1:]
_, frame, symbols = parse_trace_dataframe(trace, ParserConfig.get_default_cfg())
names = symbols.get_sym_table()
frame["category"] = [names[i] for i in frame["cat"]]
frame["label"] = [names[i] for i in frame["name"]]
db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
failures = 0


def check(what, found, expected):
    global failures
    verdict = "ok" if found == expected else "WRONG"
    failures += found != expected
    print(f"{verdict}: {what}: found {found}, the database has {expected}")


def scalar(query, *values):
    return db.execute(query, values).fetchone()[0]


# The reader rounds times down to whole microseconds, so a slice may lose up to 1 µs at either end.
def check_total(what, found_us, expected_ns, slices):
    global failures
    good = abs(found_us - expected_ns / 1000) <= slices
    failures += not good
    print(f"{'ok' if good else 'WRONG'}: {what}: {found_us} µs, the database has {expected_ns / 1000} µs")


shards = [row[0] for row in db.execute("SELECT id FROM shard ORDER BY id")]
for shard in shards:
    here = frame[frame["pid"] == shard]
    for kind in ("warmup", "measured", "unwrapped"):
        steps = here[here["category"] == kind]
        count = scalar("SELECT COUNT(*) FROM step WHERE shard_id = ? AND kind = ?", shard, kind)
        check(f"process {shard}: {kind} steps", len(steps), count)
        total = scalar("SELECT COALESCE(SUM(duration_ns), 0) FROM step WHERE shard_id = ? AND kind = ?", shard, kind)
        check_total(f"process {shard}: time of {kind} steps", int(steps["dur"].sum()), total, len(steps) + 1)
    phases = here[here["category"] == "phase"]
    count = scalar("SELECT COUNT(*) FROM phase p JOIN step s ON s.id = p.step_id WHERE s.shard_id = ?", shard)
    check(f"process {shard}: phases", len(phases), count)
    collectives = here[here["category"] == "collective"]
    count = scalar("SELECT COUNT(*) FROM collective WHERE shard_id = ? AND end_ns IS NOT NULL", shard)
    check(f"process {shard}: collectives", len(collectives), count)
    total = scalar("SELECT COALESCE(SUM(end_ns - start_ns), 0) FROM collective WHERE shard_id = ?", shard)
    check_total(f"process {shard}: time of collectives", int(collectives["dur"].sum()), total, len(collectives) + 1)


# Arrows, checked by the format's rules with an independent parser. Each id has one start, one end, and points whose times
# lie between these. All are bound to a slice of their track. There is one id per collective of several ranks.
with open(trace, encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]


def ns(microseconds):
    return round(microseconds * 1000)


slices, arrows = {}, {}
for event in events:
    if event["ph"] == "X":
        slices.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
    elif event["ph"] in "stf":
        arrows.setdefault(event["id"], []).append(event)
unpaired = [i for i, ends in arrows.items() if sorted(e["ph"] for e in ends if e["ph"] != "t") != ["f", "s"]]
check("arrows without a start or an end", unpaired, [])
backward = [i for i, ends in arrows.items()
            if [e["ph"] for e in sorted(ends, key=lambda e: (ns(e["ts"]), "stf".index(e["ph"])))] !=
            ["s"] + ["t"] * (len(ends) - 2) + ["f"]]
check("arrows that do not go forward in time", backward, [])
loose = [e["id"] for ends in arrows.values() for e in ends
         if not any(a <= ns(e["ts"]) <= b for a, b in slices.get((e["pid"], e["tid"]), []))
         or (e["ph"] == "f" and e.get("bp") != "e")]
check("ends of arrows that lie in no slice", loose, [])
joined = scalar("SELECT COUNT(*) FROM (SELECT 1 FROM collective c JOIN shard s ON s.id = c.shard_id WHERE end_ns IS NOT NULL "
                "GROUP BY s.measurement_id, communicator, sequence HAVING COUNT(*) > 1)")
check("arrows", len(arrows), joined)

# Counters: levels 0 and 1, at most one of them 1, changing each time, 0 at the end.
counters = {}
for event in events:
    if event["ph"] == "C":
        counters.setdefault(event["pid"], []).append((ns(event["ts"]), tuple(event["args"].values())))
for shard, levels in sorted(counters.items()):
    sound = all(sorted(level) in ([0, 0, 0], [0, 0, 1]) for _, level in levels)
    changing = all(a[0] < b[0] and a[1] != b[1] for a, b in zip(levels, levels[1:]))
    check(f"process {shard}: counter's levels sound, changing, 0 at the end", (sound, changing, sum(levels[-1][1])), (True, True, 0))
check("processes with a counter", bool(counters), True)

if not shards:
    print("WRONG: the database has no process at all")
    failures += 1
sys.exit(1 if failures else 0)
