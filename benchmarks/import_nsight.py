#!/usr/bin/env python3
"""How long an Nsight Systems export takes to import, as whole processes.

    benchmarks/import_nsight.py EXPORT.sqlite [--program PROGRAM] [--runs 20] [--times 200]

First the file as it is, with and without its events; then a file of --times as many rows, made of it by repeating them
later and later (needs as many times its size below the temporary folder), with events a second and memory at its peak.
"""
import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

EVENTS = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
          "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"]


def multiply(source: Path, target: Path, times: int) -> int:
    """Writes `target` with every event `times` times, each copy after the last one's end; returns the events."""
    shutil.copyfile(source, target)
    db = sqlite3.connect(target)
    db.execute("PRAGMA synchronous = OFF")
    present = [t for t in EVENTS if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (t,)).fetchone()]
    bounds = [db.execute(f'SELECT min(start), max("end") FROM {t}').fetchone() for t in present]
    span = max(b[1] for b in bounds if b[1]) - min(b[0] for b in bounds if b[0]) + 1_000_000
    events = 0
    for table in present:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        rows = db.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
        shifts = {"start": span, "end": span, "correlationId": 10_000_000}
        select = ", ".join(f'"{c}" + {shifts[c]} * :k' if c in shifts else f'"{c}"' for c in columns)
        for k in range(1, times):
            db.execute(f"INSERT INTO {table} SELECT {select} FROM {table} WHERE rowid <= {rows}", {"k": k})
        events += db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        db.commit()
    db.close()
    return events


def run(program: Path, export: Path, folder: Path, raw: bool) -> tuple[float, float, int]:
    """Seconds, those of the processor, and the peak of memory in KiB of one import into an empty folder."""
    out = Path(tempfile.mkdtemp(dir=folder))
    command = [program, "import", export, "--out", out / "imported.db", "-q"] + ([] if raw else ["--no-raw"])
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"{export}: the import failed with status {status}")
    shutil.rmtree(out)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path)
    parser.add_argument("--program", type=Path,
                        default=Path(__file__).resolve().parent.parent / "build/dev/bin/ddpprof")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--times", type=int, default=200, help="0: the file as it is only")
    options = parser.parse_args()
    print("| file | events kept | seconds: median (slowest) | of the processor | events/s | peak memory |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for raw in (True, False):
            runs = [run(options.program, options.export, folder, raw) for _ in range(options.runs + 1)][1:]
            seconds = sorted(r[0] for r in runs)
            print(f"| {options.export.name} | {'yes' if raw else 'no'} | {statistics.median(seconds):.3f} "
                  f"({seconds[-1]:.3f}) | {statistics.median(r[1] for r in runs):.3f} | | "
                  f"{max(r[2] for r in runs) / 1024:.0f} MiB |", flush=True)
        if options.times > 1:
            large = folder / "large.sqlite"
            events = multiply(options.export, large, options.times)
            for raw in (True, False):
                seconds, processor, memory = min(run(options.program, large, folder, raw) for _ in range(3))
                print(f"| {options.times} times as long, {large.stat().st_size / 1e6:.0f} MB | "
                      f"{'yes' if raw else 'no'} | {seconds:.2f} | {processor:.2f} | {events / seconds / 1e6:.2f} M | "
                      f"{memory / 1024:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
