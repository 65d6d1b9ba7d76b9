#!/usr/bin/env python3
"""Checks that each profiler schedule in the documents ends after one cycle.

    profiler_schedules.py ROOT        exit code 1 and a line per schedule without repeat=1

Without repeat=1, an unfinished second cycle overwrites the trace of the complete first one.
"""
import re
import sys
from pathlib import Path

SCHEDULE = re.compile(r"(?<![\w-])schedule\(([^()]*)\)")
NAMES_SCHEDULES = ("docs/guide/import.md", "docs/guide/run-your-job.md", "docs/guide/sharded-jobs.md")


def main(arguments):
    if len(arguments) != 1:
        print("usage: profiler_schedules.py ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[0])
    problems, count = [], 0
    for path in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("docs/**/*.py")]:
        name = path.relative_to(root).as_posix()
        found = [text for text in SCHEDULE.findall(path.read_text()) if "active=" in text]
        count += len(found)
        problems += [f"{name}: schedule({text}) has no repeat=1" for text in found if not re.search(r"\brepeat=1\b", text)]
        if name in NAMES_SCHEDULES and not found:
            problems.append(f"{name}: no schedule was found")
    print("\n".join(problems) if problems else f"{count} schedules end after one cycle")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
