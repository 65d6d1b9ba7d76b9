"""The folder of the programs under test, and the commit that they were built from.

    build.py folder FILE…    prints the first folder that has all of these files; exit code 1 if none has
    build.py commit FOLDER   prints the commit of the programs in this folder
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]  # the unpacked folder, or the repository
PRESETS = ("dev", "check", "quickstart", "release")
TARGETS = ("ddpprof", "ddpprof-worker", "ddpprof_tracer")
LIMIT_S = 20


def folders():
    """Candidates for the folder that has bin/ddpprof, best first."""
    named = os.environ.get("DDPPROF_PROGRAM")
    if named:
        yield pathlib.Path(named).resolve().parents[1]
    yield ROOT
    for preset in PRESETS:
        yield ROOT / "build" / preset


def folder_with(*files):
    """The first candidate that has all of these files, None if none has."""
    for folder in folders():
        if all((folder / file).is_file() for file in files):
            return folder
    return None


def _output(*command):
    """What a command prints, None if it fails or does not end in time."""
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def doubt(folder):
    """Why the programs in this folder may not be those of the sources: "" if they are up to date.

    Asks the build system which commands a build would run. It runs none of them.
    """
    try:
        cache = (folder / "CMakeCache.txt").read_text()
    except OSError:
        return "programs not compared with the sources: no build folder"
    program = re.search(r"^CMAKE_MAKE_PROGRAM:\w+=(.*ninja\S*)$", cache, re.MULTILINE)
    if not program:
        return "programs not compared with the sources: not built with Ninja"
    known = _output(program[1], "-C", folder, "-t", "targets", "all")
    if known is None:
        return "programs not compared with the sources: Ninja fails"
    names = {line.partition(":")[0] for line in known.splitlines()}
    planned = _output(program[1], "-C", folder, "-n", *(one for one in TARGETS if one in names))
    if planned is None:
        return "programs not compared with the sources: Ninja fails"
    return "" if "no work to do" in planned else "programs older than the sources"


def commit(folder):
    """The commit of the programs in `folder`, with doubt() in brackets. Beside packed programs it is in a file."""
    if folder is not None and (folder / "commit").is_file():
        return (folder / "commit").read_text().strip()
    head = (_output("git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12") or "").strip() or "unknown"
    reason = doubt(folder) if folder is not None else "no programs"
    return f"{head} ({reason})" if reason else head


def main(what, *values):
    if what == "commit":
        print(commit(pathlib.Path(values[0])))
        return 0
    found = folder_with(*values)
    if found is None:
        print("none of these folders has all of " + ", ".join(values) + ": " + ", ".join(map(str, folders())),
              file=sys.stderr)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
