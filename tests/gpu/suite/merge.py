"""Puts the measurements of several databases of one version into the first, without raw events.

The tables are those of docs/reference/schema.md.

`ddpprof import` keeps one batch size to a database; the fit over several reads them from one. What Python writes has
no seal: our program reads it with DDPPROF_SEALS=ignore.
"""

import sqlite3

TABLES = ("measurement", "shard", "host_condition", "memory", "parameter", "bucket", "step", "phase", "grad_ready",
          "collective")
NUMBERED = {"measurement": ("id",), "shard": ("id", "measurement_id"), "step": ("id", "shard_id"),
            "phase": ("step_id",), "grad_ready": ("step_id",), "collective": ("shard_id", "step_id")}
APART = 1_000_000_000  # ids of the n-th database are moved by n times this


def merge(first, others):
    """Raises ValueError if the versions differ, sqlite3.Error if a file is not a database of this suite."""
    connection = sqlite3.connect(first)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()
        for number, other in enumerate(others, 1):
            connection.execute("ATTACH ? AS other", (str(other),))
            if connection.execute("PRAGMA other.user_version").fetchone() != version:
                raise ValueError(f"{other} is of another version than {first}")
            for table in TABLES:
                columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
                moved = NUMBERED.get(table, ("measurement_id",))
                values = [f'"{name}" + {number * APART}' if name in moved else f'"{name}"' for name in columns]
                names = ", ".join(f'"{name}"' for name in columns)
                connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {', '.join(values)} FROM other.{table}")
            connection.commit()
            connection.execute("DETACH other")
        connection.execute("UPDATE shard SET raw_kept = 0")
        for table in ("range", "kernel", "memcpy", "api_call"):
            connection.execute(f"DELETE FROM {table}")
        connection.commit()
    finally:
        connection.close()
