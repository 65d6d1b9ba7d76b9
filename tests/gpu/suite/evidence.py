"""Evidence of a hang: where the threads of a process tree wait, and a debugger's backtrace."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from suite import processes

MOST_PROCESSES = 12
MOST_FRAMES = 10
MOST_LINES = 150  # of one process
BACKTRACES = 1  # processes that the debugger attaches to
LEAST_BACKTRACE_S = 2.0


def shortened(text, most=2000):
    """The beginning and the end of a text. A recorded job writes at the beginning, ddpprof's report is the end."""
    return text if len(text) <= most else f"{text[:most // 2]}\n[…]\n{text[-most // 2:]}"


def _read(path, without):
    """A file's text, or a note that starts with "not readable"."""
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except PermissionError:
        return f"not readable {without}"
    except OSError as error:
        return f"not readable ({error.strerror})"


def threads(pid):
    """(name, thread id, state, wait channel, kernel stack) of every thread."""
    found = []
    try:
        ids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return found
    for thread in ids:
        at = f"/proc/{pid}/task/{thread}/"
        state = _read(at + "stat", "").rpartition(")")[2].split()[:1]
        found.append((_read(at + "comm", ""), thread, state[0] if state else "?", _read(at + "wchan", "") or "0",
                      _read(at + "stack", "without CAP_SYS_ADMIN")))
    return found


def of_process(one):
    """The threads of a process. Threads with equal waits and stacks share an entry."""
    groups = {}
    for name, thread, state, wait, stack in threads(one.pid):
        groups.setdefault((state, wait, stack), []).append(f"{thread} {name}")
    lines = [f"process {one.pid} {one.name}, child of {one.parent}:"]
    for (state, wait, stack), members in groups.items():
        more = f" and {len(members) - 4} more" if len(members) > 4 else ""
        lines.append(f"  thread {', '.join(members[:4])}{more}: state {state}, wchan {wait}")
        if stack.startswith("not readable"):
            lines.append(f"    stack {stack}")
        else:
            lines += [f"    {frame.removeprefix('[<0>] ')}" for frame in stack.splitlines()[:MOST_FRAMES]]
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"  and {len(lines) - MOST_LINES} more lines"]


def debugger():
    """The path of cuda-gdb, None if this machine has none."""
    usual = "/usr/local/cuda/bin/cuda-gdb"
    return shutil.which("cuda-gdb") or (usual if os.access(usual, os.X_OK) else None)


def has_device_open(pid):
    """Returns true if the process has a file /dev/nvidia* open. Does not read its memory map, which may block."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{one}").startswith("/dev/nvidia") for one in os.listdir(folder))
    except OSError:
        return False


def backtrace(program, pid, limit_s):
    """The debugger's backtraces of all threads, or what it had printed when its limit ended."""
    command = [program, "-p", str(pid), "-batch", "-nx", "-ex", "set pagination off", "-ex",
               "thread apply all backtrace 16"]
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        except OSError as error:
            return f"{program} does not start: {error}"
        late = ""
        try:
            process.wait(max(0.5, limit_s - 2))
        except subprocess.TimeoutExpired:
            late = f"[ended after its limit of {limit_s:.0f} s]"
            os.killpg(process.pid, signal.SIGTERM)  # so that the debugger detaches
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                pass
        finally:
            left = processes.end(process, process.pid, limit_s=1.0)
        return "\n".join(part for part in (
            shortened(os.pread(output.fileno(), 1 << 20, 0).decode(errors="replace").strip(), 4000), late, left)
            if part)


def of_tree(members, until):
    """Texts about these processes (suite.processes.Process), one after the other as they are found.

    Debuggers end before `until`, of time.monotonic().
    """
    if not members:
        yield "no process of its tree is left"
        return
    for one in members[:MOST_PROCESSES]:
        yield "\n".join(of_process(one))
    if len(members) > MOST_PROCESSES:
        yield f"and {len(members) - MOST_PROCESSES} more processes"
    program = debugger()
    if program is None:
        yield "no backtrace: this machine has no cuda-gdb"
        return
    chosen = ([one for one in members if has_device_open(one.pid)] or members[-1:])[:BACKTRACES]
    for number, one in enumerate(chosen):
        limit_s = (until - time.monotonic()) / (len(chosen) - number)
        text = (backtrace(program, one.pid, limit_s) if limit_s >= LEAST_BACKTRACE_S else
                "not started: the part has no time left")
        yield f"cuda-gdb on process {one.pid} {one.name}:\n{text}"
