"""A control group with a limit on memory, of either version, that a process may join before it starts others."""

import os
import pathlib

from hosts import remove_group


def memory_controller():
    """The controller's folder and whether it is version 2; None without one that can be written."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        place = pathlib.Path(place)
        if kind == "cgroup" and "memory" in options.split(","):
            found = place, False
        elif kind == "cgroup2" and "memory" in (place / "cgroup.subtree_control").read_text().split():
            found = place, True
        else:
            continue
        if os.access(found[0], os.W_OK):
            return found
    return None


class MemoryGroup:
    """Swap is not to be used, where the kernel lets one say so; the group is removed when the context ends."""

    def __init__(self, limit_bytes):
        top, self.unified = memory_controller()
        self.folder = top / f"ddpprof-fault-{os.getpid()}"
        self.limit_bytes = limit_bytes

    @staticmethod
    def why_not():
        if memory_controller() is None:
            return "no cgroup that can limit memory is writable"
        try:
            with MemoryGroup(1 << 30) as group:
                if not group.counts_kills():
                    return "this kernel does not count the out-of-memory killer's work by cgroup"
        except OSError as error:
            return f"a cgroup cannot be made: {error}"
        return ""

    def counts_kills(self):
        counted = self.folder / ("memory.events" if self.unified else "memory.oom_control")
        return "oom_kill " in counted.read_text()

    def __enter__(self):
        self.folder.mkdir()
        try:
            limit, swap = ("memory.max", "memory.swap.max") if self.unified else ("memory.limit_in_bytes", "memory.swappiness")
            (self.folder / limit).write_text(str(self.limit_bytes))
            if (self.folder / swap).exists():
                (self.folder / swap).write_text("0")
        except OSError:
            remove_group(self.folder)
            raise
        return self

    def __exit__(self, *_):
        remove_group(self.folder)

    def join(self):
        """For the child between fork and exec."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))
