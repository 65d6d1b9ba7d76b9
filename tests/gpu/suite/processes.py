"""Process trees: their members, read from /proc, and their end. Signals and parents of the calling process."""

import ctypes
import os
import signal
import time
from typing import NamedTuple

from suite.limits import END_S

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    started: int  # clock ticks after boot; with the id it identifies one process
    state: str
    name: str


def _has_threads(pid):
    """Returns true if a process whose first thread has ended still has other threads."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def read(pid):
    """The process with this id, None if it has ended. A zombie with living threads has not ended."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
    except OSError:
        return None
    fields = after.split()
    if fields[0] == "X" or (fields[0] == "Z" and not _has_threads(pid)):
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), fields[0], before.partition("(")[2])


def every():
    """All processes of the machine that have not ended."""
    return [one for one in map(read, map(int, filter(str.isdigit, os.listdir("/proc")))) if one is not None]


def children():
    """The ids of the calling process's children."""
    return {one.pid for one in every() if one.parent == os.getpid()}


def tree(root, session=None, earlier=None):
    """The process `root`, the members of `session`, and the descendants of both. Parents precede their children.

    The session has the processes whose parent has ended. With `earlier`, a result of children(), the later children of
    the calling process are members, too: orphans that it has adopted (adopt_orphans()).
    """
    now = every()
    found = [one for one in now if one.pid == root]
    found += [one for one in now if one.pid != root and (
        (session is not None and one.session == session) or
        (earlier is not None and one.parent == os.getpid() and one.pid not in earlier))]
    known = {one.pid for one in found}
    for parent in found:  # grows while it is read
        more = [one for one in now if one.parent == parent.pid and one.pid not in known]
        known.update(one.pid for one in more)
        found += more
    return found


def send(one, number):
    """Sends a signal, if the id still belongs to this process."""
    now = read(one.pid)
    if now is None or now.started != one.started:
        return
    try:
        os.kill(one.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill(process, session=None, earlier=None):
    """Sends SIGKILL to the members of tree(). Does not wait. Returns them. `process` is a Popen of the root."""
    root = process.pid if process.poll() is None else None
    found = set()
    for _ in range(20):  # a stopped process starts no new one
        known = {(one.pid, one.started) for one in found}
        new = [one for one in tree(root, session, earlier) if (one.pid, one.started) not in known]
        if not new:
            break
        for one in new:
            send(one, signal.SIGSTOP)
        found.update(new)
    for one in found:
        send(one, signal.SIGKILL)
    return found


def wait_for_end(roots, found, limit_s=END_S):
    """Waits until the Popens `roots` and the processes `found` have ended, at most `limit_s`.

    Returns "" if all have ended, otherwise a sentence about the others.
    """
    until = time.monotonic() + limit_s
    while True:
        running = [one.pid for one in roots if one.poll() is None]
        left = [now for one in found if (now := read(one.pid)) is not None and now.started == one.started]
        if not running and not left:
            return ""
        if time.monotonic() > until:
            names = [f"process {one.pid} {one.name} (state {one.state})" for one in left]
            names += [f"process {pid}" for pid in running if pid not in {one.pid for one in left}]
            return f"SIGKILL has not ended {', '.join(names)} within {limit_s:.0f} s"
        time.sleep(0.02)


def end(process, session=None, earlier=None, limit_s=END_S):
    """kill() and wait_for_end()."""
    return wait_for_end([process], kill(process, session, earlier), limit_s)


class Signalled(SystemExit):
    """SIGTERM or SIGHUP. The exit code is that of a shell. The text is the signal's name."""

    def __init__(self, number):
        super().__init__(128 + number)
        self.number = number

    def __str__(self):
        return signal.Signals(self.number).name


def exit_on_signals():
    """SIGTERM, for example from timeout(1), and SIGHUP raise Signalled, so that running jobs are ended.

    Later signals are ignored. A SIGHUP that is ignored already (nohup) stays ignored.
    """
    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]

    def leave(number, _):
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)
        raise Signalled(number)

    for one in numbers:
        signal.signal(one, leave)


def _set(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def end_with_parent():
    """The calling process gets SIGTERM when its parent ends, SIGKILL of the parent included."""
    _set(PR_SET_PDEATHSIG, signal.SIGTERM)


def adopt_orphans():
    """Descendants whose parent ends become children of the calling process."""
    _set(PR_SET_CHILD_SUBREAPER, 1)
