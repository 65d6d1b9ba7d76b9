"""The parts of the suite, their lists, and the measurement of one part."""

import importlib
import pathlib
import time
import traceback

from suite.figures import Failed, Skip
from suite.report import FAILED, SKIPPED, status_of

WARM_UP = "warm_up"
# Each list is one command on a machine with a GPU, which may be a new machine every time. So each list begins with the
# warm-up, and the limits of its parts fit into one command (suite/limits.py). The most important parts are first.
LISTS = (
    ("ranges", "tracing_cost", "many_kernels"),
    ("profiler", "one_rank", "gradient_order", "overlap"),
    ("record_to_predict", "odd_jobs", "several_ranks", "peak_memory", "data_parallel"),
    ("batch_fit", "contention", "nccl_simulation", "step_end"),
    ("gpt",),
)
ORDER = (WARM_UP, *(name for one in LISTS for name in one))


def of_list(number):
    """The parts of list `number`, counted from 1."""
    return (WARM_UP, *LISTS[number - 1])


def load(name):
    return importlib.import_module(f"parts.{name}")


def needs_worker(name):
    """Returns true if the part starts ddpprof-worker."""
    return getattr(load(name), "NEEDS_WORKER", False)


def error_text(error):
    """An exception with all its frames as FILE:LINE, the innermost last."""
    if isinstance(error, Failed):
        return str(error)
    frames = ", ".join(f"{pathlib.Path(one.filename).name}:{one.lineno}"
                       for one in traceback.extract_tb(error.__traceback__))
    return f"{type(error).__name__}: {error} ({frames})"


def pairs_in_time(machine, count, measure):
    """Calls measure(0), measure(1), … up to `count` times, fewer if the part's time does not suffice for one more.

    Returns the results and the exception that ended the calls, or None: the results before it are kept.
    """
    found, longest_s = [], 0.0
    for pair in range(count):
        if pair and machine.left_s() < 1.3 * longest_s:
            break
        begin = time.monotonic()
        try:
            found.append(measure(pair))
        except Exception as error:
            return found, error
        longest_s = max(longest_s, time.monotonic() - begin)
    return found, None


def each(measurements):
    """Yields the figures of all measurements, pairs (name, function without arguments).

    An exception in one measurement does not prevent the others. At the end it fails the part.
    """
    failures = []
    for name, function in measurements:
        try:
            yield from function()
        except Exception as error:
            failures.append(f"{name}: {error_text(error)}")
    if failures:
        raise Failed("\n".join(failures))


def measure(name, machine, folder, save=lambda found: None):
    """The part's result, as the results file has it. Every exception becomes the part's failure.

    The part's measure() returns or yields figures. `save` is called after each figure with the result so far, whose
    status is failed until the part has ended. So the figures before an exception or a hang are kept.
    """
    part = load(name)
    found = {"name": name, "title": part.TITLE, "status": FAILED, "message": "", "figures": []}
    try:
        for one in part.measure(machine, folder):
            found["figures"].append(one.as_json())
            save(found)
        found["status"] = status_of(found["figures"])
    except Skip as skip:
        found.update(status=SKIPPED, message=str(skip))
    except Exception as error:  # an error in one part must not end the others
        found["message"] = error_text(error)
    save(found)
    return found
