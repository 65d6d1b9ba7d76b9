"""Reads the raw events of a trace database, by docs/reference/schema.md."""

import json
import re
import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from suite.figures import figure

LOSSES = ("cupti_dropped", "cupti_incomplete")  # diagnostics about records that CUPTI lost
LEFT_OUT = (*LOSSES, "impossible_times")  # the tracer and the import leave out records without a usable time


class Kernel(NamedTuple):
    name: str
    start_ns: int
    end_ns: int
    correlation: int
    stream: int


class Copy(NamedTuple):
    kind: str
    start_ns: int
    end_ns: int
    bytes: int


class Call(NamedTuple):
    correlation: int
    start_ns: int
    tid: int


class Range(NamedTuple):
    name: str
    start_ns: int
    end_ns: int
    tid: int
    payload: object


@dataclass
class Process:
    """One shard's events, each list in the order of its starts."""

    shard: int
    rank: int
    kernels: list
    copies: list
    calls: list
    ranges: list
    marks: list

    def named(self, start):
        return [one for one in self.ranges if one.name.startswith(start)]


def rows(database, sql, *values):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def sound(database):
    """Whether SQLite itself finds nothing wrong with the file."""
    return rows(database, "PRAGMA integrity_check") == [("ok",)]


def diagnostics(database):
    """Code -> how many."""
    return dict(rows(database, "SELECT code, sum(count) FROM diagnostic GROUP BY code"))


def cupti_version(database):
    """The version number of the CUPTI that recorded the kernels, None if the database does not have it."""
    for (message,) in rows(database, "SELECT message FROM diagnostic WHERE code = 'cupti_timestamps'"):
        if found := re.search(r"\(API (\d+)\)", message):
            return int(found[1])
    return None


def left_out(database):
    """Code -> how many, of the diagnostics about events that are missing in the database. Only codes that occur."""
    return {code: count for code, count in diagnostics(database).items() if code in LEFT_OUT}


def losses(folder):
    """Records that CUPTI lost, as the databases below a part's folder report them.

    One figure for each code: the sum over all databases, 0 if none has the code. No figures without a database.
    """
    counts, notes, readable = dict.fromkeys(LOSSES, 0), {code: [] for code in LOSSES}, 0
    for database in sorted(folder.rglob("*.db")):
        name = database.relative_to(folder)
        try:
            found = diagnostics(database)
        except sqlite3.Error as error:  # the import may have been ended while it wrote
            for code in LOSSES:
                notes[code].append(f"{name} is not readable: {error}")
            continue
        readable += 1
        for code in LOSSES:
            counts[code] += found.get(code, 0)
            if code in found:
                notes[code].append(f"{name}: {found[code]}")
    if not readable and not any(notes.values()):
        return []
    return [figure(code, counts[code] if readable else None, note="; ".join(notes[code])) for code in LOSSES]


def _payload(value):
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def processes(database):
    """Every shard with raw events, by rank. Raises sqlite3.Error when the database is not to be read."""
    found = []
    for shard, rank in rows(database, "SELECT id, rank FROM shard WHERE raw_kept = 1 ORDER BY rank, id"):
        kernels = [Kernel(*row) for row in rows(
            database, "SELECT n.value, k.start_ns, k.end_ns, k.correlation, k.stream FROM kernel k "
            "JOIN string n ON n.id = k.name_id WHERE k.shard_id = ? ORDER BY k.start_ns, k.end_ns", shard)]
        copies = [Copy(*row) for row in rows(
            database, "SELECT kind, start_ns, end_ns, bytes FROM memcpy WHERE shard_id = ? ORDER BY start_ns", shard)]
        # A launch is recorded by the runtime and, inside of it, by the driver: its first begin counts.
        calls = [Call(*row) for row in rows(
            database, "SELECT correlation, min(start_ns), tid FROM api_call WHERE shard_id = ? GROUP BY correlation "
            "ORDER BY 2", shard)]
        ranges, marks = [], []
        for kind, *row, payload in rows(
                database, "SELECT r.kind, n.value, r.start_ns, r.end_ns, r.tid, r.payload FROM range r "
                "JOIN string n ON n.id = r.name_id WHERE r.shard_id = ? AND r.end_ns IS NOT NULL "
                "ORDER BY r.start_ns", shard):
            (marks if kind == 2 else ranges).append(Range(*row, _payload(payload)))
        found.append(Process(shard, rank, kernels, copies, calls, ranges, marks))
    return found
