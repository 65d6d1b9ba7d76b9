"""What identifies the host of a process, for the facts of a trace. Loaded by _ddpprof_torch.py."""
import os
import socket


def facts():
    return {
        "cores": len(os.sched_getaffinity(0)),
        "host": socket.gethostname(),
        "boot_id": _boot_id(),
        "network": _network(),
    }


def _boot_id():
    """Returns the id of the kernel's start. All containers of a machine have the same one."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _network():
    """Returns the id of the network namespace. Containers of one machine usually have different ones."""
    try:
        return os.readlink("/proc/self/ns/net")
    except OSError:
        return ""
