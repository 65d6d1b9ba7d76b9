"""Several hosts on one machine: a network namespace each, joined by a bridge, with links and cores as one says.

Needs CAP_NET_ADMIN and CAP_SYS_ADMIN, and for a share of the cores a writable cgroup (v1 or v2); `why_not` says what
lacks. Every name carries this process's id; what is made is removed when the context ends (an end by SIGTERM counts when
the program turns it into SystemExit), and so is what a process that is gone has left. Nothing else is touched.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

NETWORK = "10.213.7"
QUOTA_US = 1000  # the least a kernel grants: so that a share feels like a slower core and not like one that stops


def quiet(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr.strip() or result.returncode}")


def capabilities():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def cpu_controller():
    """The folder of the cgroup controller, and whether it is version 2; None without one that can be written."""
    found = {}
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            found[1] = pathlib.Path(place)
        if kind == "cgroup2" and "cpu" in (pathlib.Path(place) / "cgroup.controllers").read_text().split():
            found[2] = pathlib.Path(place)
    for version, place in found.items():
        if os.access(place, os.W_OK):
            return place, version == 2
    return None


def why_not(share=True):
    """What keeps this machine from making hosts; empty when nothing does."""
    CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21
    have = capabilities()
    for number, name in ((CAP_NET_ADMIN, "CAP_NET_ADMIN"), (CAP_SYS_ADMIN, "CAP_SYS_ADMIN")):
        if not have >> number & 1:
            return f"no {name}"
    for program in ("hostname", "ip", "nsenter", "setpriv", "taskset", "tc", "unshare"):
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            return f"no program '{program}' (packages hostname, iproute2, util-linux)"
    if share and cpu_controller() is None:
        return "no cgroup that can limit processors is writable"
    # A kernel may lack namespaces or tbf though the capability is there.
    try:
        with Hosts(1, mbit=100, share=0.5 if share else None):
            pass
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def attempt(action, *arguments):
    """Whether it could be done: while cleaning up, one thing that resists must not keep the others."""
    try:
        action(*arguments)
        return True
    except (OSError, subprocess.SubprocessError):
        return False


def end_processes(namespace):
    for _ in range(100):
        pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, timeout=30).stdout.split()
        if not pids:
            return
        for pid in pids:
            attempt(os.kill, int(pid), 9)
        time.sleep(0.05)


def remove_namespace(namespace):
    attempt(end_processes, namespace)
    attempt(lambda: subprocess.run(["ip", "netns", "del", namespace], capture_output=True, timeout=30))


def remove_group(group):
    end = time.monotonic() + 10
    while group.exists() and time.monotonic() < end and not attempt(group.rmdir):
        time.sleep(0.05)  # a process that has ended is not gone yet
    if group.exists():
        print(f"cannot remove the cgroup {group}", file=sys.stderr)


def remove_leftovers():
    """What a process that is gone has left: its namespaces and cgroups carry its id."""
    def gone(name):
        match = re.match(r"dq(\d+)", name)
        return match is not None and not pathlib.Path(f"/proc/{match[1]}").exists()
    for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, timeout=30).stdout.splitlines():
        if line.split() and gone(line.split()[0]):
            remove_namespace(line.split()[0])
    found = cpu_controller()
    for top in found[0].glob("dq*") if found else []:
        if gone(top.name):
            for group in (*top.glob("h*/"), top):
                remove_group(group)


class Hosts:
    """`count` hosts; each link carries `mbit` Mbit/s in each direction, each host has `share` of one core."""

    def __init__(self, count, mbit, share=None):
        self.count, self.mbit, self.share = count, mbit, share
        self.name = f"dq{os.getpid()}"
        self.switch = f"{self.name}sw"
        self.made, self.groups = [], []

    def namespace(self, host):
        return f"{self.name}h{host}"

    def address(self, host):
        return f"{NETWORK}.{host + 1}"

    def __enter__(self):
        if "/usr/sbin" not in os.environ["PATH"].split(":"):
            os.environ["PATH"] += ":/usr/sbin:/sbin"
        remove_leftovers()
        cores = len(os.sched_getaffinity(0))
        if self.share is not None and self.count * self.share > cores:
            raise RuntimeError(f"{self.count} hosts with {self.share} of a core each do not fit on {cores} cores")
        try:
            self.make_namespace(self.switch)
            quiet("ip", "-n", self.switch, "link", "add", "bridge0", "type", "bridge")
            quiet("ip", "-n", self.switch, "link", "set", "bridge0", "up")
            for host in range(self.count):
                self.join(host)
            if self.share is not None:
                self.limit_cores()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for namespace in reversed(self.made):
            remove_namespace(namespace)
        for group in reversed(self.groups):
            remove_group(group)
        self.made, self.groups = [], []

    def make_namespace(self, name):
        quiet("ip", "netns", "add", name)
        self.made.append(name)
        quiet("ip", "-n", name, "link", "set", "lo", "up")

    def join(self, host):
        namespace, port = self.namespace(host), f"port{host}"
        self.make_namespace(namespace)
        quiet("ip", "-n", namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        quiet("ip", "-n", namespace, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        quiet("ip", "-n", self.switch, "link", "set", port, "master", "bridge0")
        for place, device in ((namespace, "eth0"), (self.switch, port)):
            quiet("ip", "-n", place, "link", "set", device, "up")
            # The bucket holds a few packets as the network stack makes them (64 KiB), so that what passes is the rate.
            quiet("tc", "-n", place, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{self.mbit}mbit",
                  "burst", "192kb", "latency", "400ms")

    def limit_cores(self):
        found = cpu_controller()
        if found is None:
            raise RuntimeError("no cgroup that can limit processors is writable")
        top, second = found
        self.make_group(top / self.name)
        if second:
            (top / self.name / "cgroup.subtree_control").write_text("+cpu")
        period_us = round(QUOTA_US / self.share)
        for host in range(self.count):
            group = top / self.name / f"h{host}"
            self.make_group(group)
            if second:
                (group / "cpu.max").write_text(f"{QUOTA_US} {period_us}")
            else:
                (group / "cpu.cfs_period_us").write_text(str(period_us))
                (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))

    def make_group(self, group):
        group.mkdir()
        self.groups.append(group)

    def start(self, host, command, environment, **popen):
        """One process on `host`, with the host's own name, network and share of the cores."""
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command(host, command)], env=environment, **popen)

    def command(self, host, command):
        """The words that run `command` on `host`."""
        enter = 'hostname "$1" && shift && exec "$@"'
        line = ["nsenter", f"--net=/run/netns/{self.namespace(host)}", "unshare", "--uts", "sh", "-c", enter, "sh",
                f"host{host}", *map(str, command)]
        if self.share is not None:
            procs = self.groups[1 + host] / "cgroup.procs"
            # On one processor, always the same: a share that is drawn from two in turn varies from run to run.
            cores = sorted(os.sched_getaffinity(0))
            line = ["taskset", "--cpu-list", str(cores[host % len(cores)]), *line]
            line = ["sh", "-c", 'echo $$ > "$1"; shift; exec "$@"', "sh", str(procs), *line]
        return line
