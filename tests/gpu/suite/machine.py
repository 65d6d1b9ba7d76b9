"""Where the programs under test are, what they need to start, and which device there is."""

import ctypes
import importlib.util
import os
import pathlib
import sys
import time

from suite import build, job, limits
from suite.build import ROOT
from suite.evidence import shortened

JOBS = ROOT / "tests" / "gpu" / "jobs"


class NotFound(Exception):
    pass


def torch_libraries():
    """Folders with LibTorch's and NVIDIA's shared libraries beside the installed torch; empty without one."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return []
    torch = pathlib.Path(found.submodule_search_locations[0])
    return [str(folder) for folder in [torch / "lib", *sorted((torch.parent / "nvidia").glob("*/lib"))]
            if folder.is_dir()]


def gpus():
    """Number of CUDA devices that the driver shows, 0 without a driver; starts no context."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


class Machine:
    """`device` is cuda or cpu. `small` shortens the runs, for continuous integration.

    `deadline` is the moment (time.monotonic()) at which the part's limit ends, None without a limit.
    """

    def __init__(self, device, small, deadline=None):
        self.device, self.small, self.deadline = device, small, deadline
        folder = build.folder_with("bin/ddpprof")
        if folder is None:
            raise NotFound(f"bin/ddpprof is neither in {ROOT} nor below {ROOT / 'build'}: build it, unpack the archive "
                           "that tests/gpu/pack makes, or name the program in DDPPROF_PROGRAM")
        self.program = str(folder / "bin" / "ddpprof")
        needed = ROOT / "lib" / "needed"
        # A packed program finds its libraries here; one of a build tree has their paths in itself.
        self.libraries = [*torch_libraries(), str(needed)] if needed.is_dir() else []
        self.cuda = device == "cuda"

    def worker(self):
        """The path of ddpprof-worker, which may not exist."""
        return pathlib.Path(self.program).parent / "ddpprof-worker"

    def left_s(self):
        """Time that is left for jobs of this part; infinite without a deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic() - limits.RESERVE_S

    def limit_s(self, wanted_s=None):
        """The limit for one job: left_s(), and if `wanted_s` is given, never more than that on a GPU, on a CPU longer.

        The job's limit thus ends before the part's limit, and the part can report the hang. Raises LimitReached if
        no time is left.
        """
        left_s = self.left_s()
        if left_s <= 0:
            raise job.LimitReached("a job was not started: the part's limit ends in "
                                   f"{max(0, left_s + limits.RESERVE_S):.0f} s")
        return left_s if wanted_s is None else min(limits.for_device(self.device, wanted_s), left_s)

    def environment(self, **more):
        """For our own programs."""
        own = dict(os.environ, **more)
        if self.libraries:
            before = os.environ.get("LD_LIBRARY_PATH")
            own["LD_LIBRARY_PATH"] = os.pathsep.join(self.libraries + ([before] if before else []))
        return own

    def job(self, script, *arguments):
        """The command of a Python job that our program starts: it runs with the libraries that it had without us."""
        command = [sys.executable, "-B", str(JOBS / script), *map(str, arguments)]
        if not self.libraries:
            return command
        before = os.environ.get("LD_LIBRARY_PATH")
        return ["env", *([f"LD_LIBRARY_PATH={before}"] if before else ["-u", "LD_LIBRARY_PATH"]), *command]

    def ranks(self, count, script, *arguments):
        """The same as that many ranks of this host."""
        return self.job("launch.py", count, JOBS / script, *arguments)

    def start(self, command, limit_s=None, environment=None):
        """Starts a job. The caller waits for it, not longer than the limit in its `limit_s`. See limit_s()."""
        return job.Started(command, environment or self.environment(), self.limit_s(limit_s))

    def run(self, command, limit_s=None, *, ok=(0,), environment=None):
        """Runs a job to its end. `ok` are the expected exit codes, None for any. See limit_s().

        Raises RuntimeError with the job's output on another exit code, LimitReached if it has not ended in time.
        """
        done = job.run(command, environment or self.environment(), self.limit_s(limit_s), self.deadline)
        if ok is not None and done.returncode not in ok:
            raise RuntimeError(f"{' '.join(done.args)}: exit code {done.returncode}, expected "
                               f"{' or '.join(map(str, ok))}: {shortened(done.stderr)}{shortened(done.stdout)}")
        return done

    def record(self, database, job, *options, limit_s=None, ok=(0,), environment=None):
        """`ddpprof record` on a job, into `database`. See limit_s()."""
        return self.run([self.program, "record", "--out", database, *options, "--", *job], limit_s, ok=ok,
                        environment=environment)
