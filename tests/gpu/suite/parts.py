"""The suite's parts in their order, and one of them run in a process of its own with a limit."""

import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

from suite.figures import Skip
from suite.report import FAILED, SKIPPED, status_of

ORDER = ("ranges", "profiler", "one_rank", "several_ranks", "data_parallel", "gradient_order", "overlap",
         "record_to_predict", "odd_jobs", "peak_memory", "batch_fit", "contention", "nccl_simulation", "many_kernels",
         "tracing_cost")


def load(name):
    return importlib.import_module(f"parts.{name}")


def measure(name, machine, folder):
    """What the part found, as the results file has it. Never raises: what goes wrong is the part's failure."""
    part = load(name)
    found = {"name": name, "title": part.TITLE, "status": FAILED, "message": "", "figures": []}
    try:
        found["figures"] = [one.as_json() for one in part.measure(machine, folder)]
        found["status"] = status_of(found["figures"])
    except Skip as skip:
        found.update(status=SKIPPED, message=str(skip))
    except subprocess.TimeoutExpired as late:
        found["message"] = f"{' '.join(map(str, late.cmd))[:300]} had not ended after {late.timeout:.0f} s"
    except Exception as error:  # an error in one part must not end the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        found["message"] = f"{type(error).__name__}: {error} ({pathlib.Path(where.filename).name}:{where.lineno})"
    return found


def end_group(process):
    """Ends the part and everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_apart(name, command, folder, limit_s):
    """Starts `command`, which writes folder/part.json, and ends it with all it started after `limit_s`."""
    folder.mkdir(parents=True, exist_ok=True)
    begin, failed = time.monotonic(), None
    result = folder / "part.json"
    result.unlink(missing_ok=True)
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen([sys.executable, "-B", *command], stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            failed = f"ended after its limit of {limit_s:.0f} s"
        finally:
            end_group(process)  # also what a part that has ended left running
    if failed is None and not result.exists():
        failed = f"ended with code {process.returncode} and left no result: " + (folder / "output.txt").read_text()[-500:]
    if failed is None:
        found = json.loads(result.read_text())
    else:
        found = {"name": name, "title": load(name).TITLE, "status": FAILED, "message": failed, "figures": []}
    found["seconds"] = round(time.monotonic() - begin, 2)
    return found
