"""A part in a process of its own, with a limit."""

import json
import os
import signal
import subprocess
import sys
import time

from suite import evidence, limits, processes, trace
from suite.parts import load
from suite.report import FAILED

MOST_OUTPUT = 60_000  # characters; the evidence of a hang is in the output of a part that is ended


def end_text(code):
    """An exit code of Popen as text."""
    try:
        return f"ended with code {code}" + (f" ({signal.Signals(-code).name})" if code < 0 else "")
    except ValueError:
        return f"ended with code {code}"


def failed(name, message):
    return {"name": name, "title": load(name).TITLE, "status": FAILED, "seconds": 0.0, "figures": [],
            "message": message}


def watched(command, folder, limit_s, began):
    """Runs the part's process. Returns its exit code, None if it reached its limit, and the evidence of a hang.

    Ends the processes that the part has started and that are still running, in both cases.
    """
    found = []
    processes.adopt_orphans()  # jobs of a part that is killed
    earlier = processes.children()
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen([sys.executable, "-B", *command], stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   env=dict(os.environ, **{limits.PART_DEADLINE: f"{began + limit_s:.3f}"}))
        code = None
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            found += evidence.of_tree(processes.tree(process.pid, process.pid, earlier),
                                      time.monotonic() + limits.EVIDENCE_S)
        finally:
            still = processes.end(process, process.pid, earlier)
    return code, "\n".join(filter(None, [*found, still]))


def run_apart(name, command, folder, limit_s):
    """Starts `command`, which writes folder/part.json. Ends it after `limit_s`, with everything that it started.

    Returns the part's result. A part that does not end well has the figures that it has written until then.
    Losses that the databases in the folder report are added to the figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    result = folder / "part.json"
    result.unlink(missing_ok=True)
    code, more = watched(command, folder, limit_s, begin)
    try:
        found = json.loads(result.read_text())
    except (OSError, ValueError):
        found = None
    output = evidence.shortened((folder / "output.txt").read_text(errors="replace").strip(), MOST_OUTPUT) or "(nothing)"
    message = ""
    if code is None:
        message = f"ended after its limit of {limit_s:.0f} s\noutput so far: {output}"
    elif code != 0 or found is None:
        message = f"{end_text(code)} and left no complete result: {output}"
    if message:
        found = dict(found or failed(name, ""), status=FAILED)
    found["message"] = "\n".join(filter(None, [found["message"], message, more]))
    found["figures"] += [one.as_json() for one in trace.losses(folder)]
    found["seconds"] = round(time.monotonic() - begin, 2)
    return found
