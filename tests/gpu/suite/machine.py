"""Where the programs under test are, what they need to start, and which device there is."""

import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]  # the unpacked folder, or the repository
JOBS = ROOT / "tests" / "gpu" / "jobs"


class NotFound(Exception):
    pass


def _programs():
    """Candidates for the folder that holds bin/ddpprof, best first."""
    named = os.environ.get("DDPPROF_PROGRAM")
    if named:
        yield pathlib.Path(named).resolve().parents[1]
    yield ROOT
    for preset in ("dev", "check", "quickstart", "release"):
        yield ROOT / "build" / preset


def torch_libraries():
    """Folders with LibTorch's and NVIDIA's shared libraries beside the installed torch; empty without one."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return []
    torch = pathlib.Path(found.submodule_search_locations[0])
    return [str(folder) for folder in [torch / "lib", *sorted((torch.parent / "nvidia").glob("*/lib"))]
            if folder.is_dir()]


def shortened(text, most=2000):
    """Text's beginning and end: of a job that is recorded the first lines are its own, the last are the report's."""
    return text if len(text) <= most else f"{text[:most // 2]}\n[…]\n{text[-most // 2:]}"


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
    """`device` is cuda or cpu; `small` shortens everything, for continuous integration."""

    def __init__(self, device, small):
        self.device, self.small = device, small
        for folder in _programs():
            if (folder / "bin" / "ddpprof").is_file():
                self.program = str(folder / "bin" / "ddpprof")
                break
        else:
            raise NotFound(f"bin/ddpprof is neither in {ROOT} nor below {ROOT / 'build'}: build it, unpack the archive "
                           "that tests/gpu/pack makes, or name the program in DDPPROF_PROGRAM")
        needed = ROOT / "lib" / "needed"
        # A packed program finds its libraries here; one of a build tree has their paths in itself.
        self.libraries = [*torch_libraries(), str(needed)] if needed.is_dir() else []
        self.cuda = device == "cuda"

    def has_worker(self):
        return (pathlib.Path(self.program).parent / "ddpprof-worker").is_file()

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

    def run(self, command, limit_s, *, ok=(0,), environment=None):
        """Runs to the end within the limit. Raises RuntimeError with the output where the exit code is not `ok`."""
        command = [str(part) for part in command]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s,
                              stdin=subprocess.DEVNULL, env=environment or self.environment())
        if ok is not None and done.returncode not in ok:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}, expected "
                               f"{' or '.join(map(str, ok))}: {shortened(done.stderr)}{shortened(done.stdout)}")
        return done

    def record(self, database, job, limit_s, *options, ok=(0,), environment=None):
        """`ddpprof record` on a job, into `database`."""
        return self.run([self.program, "record", "--out", database, *options, "--", *job], limit_s, ok=ok,
                        environment=environment)
