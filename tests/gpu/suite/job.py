"""A job of a part: a process whose output goes to files, with a limit, and with evidence if it reaches the limit."""

import math
import os
import subprocess
import sys
import tempfile
import time

from suite import evidence, limits, processes


class LimitReached(Exception):
    """A job had not ended at its limit. The text has its output until then and the evidence of the hang."""


class Started:
    """Output goes to files: it is readable while the job runs, and no descendant of an ended job holds a pipe open.

    Each job has a session of its own. A descendant belongs to the job even if the job's first process has ended.
    """

    def __init__(self, command, environment, limit_s):
        self.command, self.limit_s = [str(part) for part in command], limit_s
        own = dict(environment)
        if math.isfinite(limit_s):  # a job prints its stacks before its limit
            own[limits.DUMP_AT] = f"{time.monotonic() + limit_s - min(limits.DUMP_S, limit_s / 4):.3f}"
        own.setdefault("PYTHONUNBUFFERED", "1")  # buffered output would be lost with a job that is ended
        own.setdefault("NCCL_DEBUG", "WARN")
        self.files, self.kept = (tempfile.TemporaryFile(), tempfile.TemporaryFile()), None
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.files[0],
                                        stderr=self.files[1], env=own, start_new_session=True)

    def output(self):
        """What the job has written to stdout and stderr, with the line ends of Python."""
        # The job writes at the file's position, which pread() does not move.
        return self.kept or [
            os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace").replace("\r\n", "\n")
            for file in self.files]

    def tree(self):
        """The job's processes that have not ended."""
        return processes.tree(self.process.pid if self.process.poll() is None else None, self.process.pid)

    def end(self):
        """Ends the job's processes. Returns a sentence if that fails, otherwise "". A second call does nothing."""
        return end_all([self])

    def close(self):
        self.kept = self.output()
        for file in self.files:
            file.close()

    def done(self):
        return subprocess.CompletedProcess(self.command, self.process.returncode, *self.output())


def end_all(jobs):
    """Ends jobs that have not been ended: SIGKILL to all of them, then one wait.

    Returns a sentence if that fails, otherwise "".
    """
    jobs = [one for one in jobs if one.kept is None]
    found = [member for one in jobs for member in processes.kill(one.process, one.process.pid)]
    try:
        return processes.wait_for_end([one.process for one in jobs], found) if jobs else ""
    finally:
        for one in jobs:
            one.close()


def timeout_message(what, jobs, until):
    """The message about jobs that have reached their limit. Collects the evidence, then ends the jobs.

    `until` (time.monotonic()) limits the time for debuggers. Each piece also goes to stderr at once: the part may be
    ended before its message is complete.
    """
    lines = []

    def add(text):
        lines.append(text)
        print(text, file=sys.stderr, flush=True)

    add(what)
    for one in jobs:
        for name, text in zip(("stdout", "stderr"), one.output()):
            add(f"{name} so far: {evidence.shortened(text.strip(), 4000) or '(nothing)'}")
    for text in evidence.of_tree([member for one in jobs for member in one.tree()], until):
        add(text)
    if left := end_all(jobs):
        add(left)
    return "\n".join(lines)


def evidence_until(deadline):
    """The moment at which the evidence must be complete: before the part's deadline, if it has one.

    After that moment the part ends the job's processes and writes its result.
    """
    until = time.monotonic() + limits.EVIDENCE_S
    return until if deadline is None else min(until, deadline - limits.END_S - 4)


def run(command, environment, limit_s, deadline=None):
    """Runs to the end. Raises LimitReached if the job has not ended after `limit_s`."""
    one = Started(command, environment, limit_s)
    try:
        one.process.wait(limit_s if math.isfinite(limit_s) else None)
        return one.done()
    except subprocess.TimeoutExpired:
        raise LimitReached(timeout_message(f"{' '.join(one.command)[:300]} had not ended after {limit_s:.0f} s", [one],
                                           evidence_until(deadline))) from None
    finally:
        one.end()
