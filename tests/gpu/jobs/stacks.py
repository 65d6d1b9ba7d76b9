"""Prints the stacks of all Python threads to stderr shortly before the job's limit, and when the job crashes."""

import faulthandler
import os
import time


def print_before_the_limit():
    """Does nothing in a job that the suite has not started."""
    faulthandler.enable()
    at = os.environ.get("GPU_SUITE_DUMP_AT")  # seconds of time.monotonic(); set by suite/job.py
    if at:
        # Ranks share one stderr. Each waits half a second longer than the one before, launch.py does not wait.
        delay_s = 0.5 * (1 + int(os.environ["RANK"])) if "RANK" in os.environ else 0
        faulthandler.dump_traceback_later(max(0.1, float(at) + delay_s - time.monotonic()))
