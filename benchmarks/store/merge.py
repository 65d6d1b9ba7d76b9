#!/usr/bin/env python3
"""Memory and time to merge simulated ranks into one database, indexes included, and what reports on it take.

    merge.py [--build build/dev] [--ranks 64,250,1000] [--steps 20,400] [--folder FOLDER]

Shards are made first, by tests/analysis/ingest/simulated_ranks.hpp: 10 buckets, 20 gradients and 4 phases a step, hosts of
8 ranks whose clocks differ. Needs about 1.5 GB of disk for 1,000 ranks of 400 steps. Prints a table in Markdown.
"""
import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
    parser.add_argument("--ranks", type=numbers, default=[64, 250, 1000])
    parser.add_argument("--steps", type=numbers, default=[20, 400])
    parser.add_argument("--folder", type=Path, help="where the shards go (default: a temporary folder)")
    parser.add_argument("--report", action="append", default=[], help="also time this report (repeat it for more)")
    options = parser.parse_args()
    program = options.build / "bin" / "merge_shards"
    reports = "".join(f" report {name} |" for name in options.report)
    print(f"| ranks | steps | shards | database | merged in | resident |{reports}")
    print("|---" * (6 + len(options.report)) + "|")
    for steps in options.steps:
        for ranks in options.ranks:
            with tempfile.TemporaryDirectory(dir=options.folder) as name:
                shards, file = Path(name) / "shards", Path(name) / "merged.db"
                shards.mkdir()
                subprocess.run([program, "make", shards, str(ranks), str(steps)], check=True)
                shard_bytes = sum(path.stat().st_size for path in shards.iterdir())
                merged = subprocess.run([program, "merge", shards, file], check=True, capture_output=True, text=True)
                rows, seconds, peak_kib = merged.stdout.split()
                assert int(rows) == ranks * steps, f"{rows} steps of {ranks * steps} are in the database"
                shutil.rmtree(shards)
                cells = [f"{ranks:,}", str(steps), f"{shard_bytes / 1e6:,.0f} MB", f"{file.stat().st_size / 1e6:,.0f} MB",
                         f"{float(seconds):.1f} s", f"{int(peak_kib) / 1024:.0f} MiB"]
                for report in options.report:
                    begin = time.monotonic()
                    subprocess.run([options.build / "bin" / "ddpprof", "report", file, "--report", report], check=True,
                                   stdout=subprocess.DEVNULL)
                    cells.append(f"{time.monotonic() - begin:.1f} s")
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
