"""Times collectives over message sizes in the user's own Python environment, as one rank of the user's own launcher.

`ddpprof bench-comm -- LAUNCHER` appends this file to the launcher's command. Its variables:

    DDPPROF_COMM_FILE        the file for the results: JSON that rank 0 writes. FILE.error has the reasons of failures
    DDPPROF_COMM_BACKEND     gloo or nccl; default: nccl if torch sees a GPU
    DDPPROF_COMM_DEVICE      cpu or cuda; default: cuda with nccl
    DDPPROF_COMM_TIMEOUT_S   limit of one wait for another rank
    DDPPROF_COMM_SECONDS     time for all collectives: sizes and calls are left out that do not fit

Each size is timed as by ddpprof's own worker: two calls to warm up, then calls back to back, without barriers. Sizes are
those of the whole vector, as in nccl-tests.
"""
import datetime
import json
import os
import socket
import sys
import time

FIRST_BYTES, LAST_BYTES, FACTOR = 1024, 256 << 20, 4
NAMES = ("all_reduce", "all_gather", "reduce_scatter")
SIZES = 10  # from FIRST_BYTES to LAST_BYTES
SECONDS_PER_SIZE, LEAST, MOST = 1.5, 5, 400  # most target time, and number of calls of one size
LONGEST_S = 2.0  # larger sizes are left out if one call would take longer
ITEM_BYTES = 4
# The variables of torchrun, srun and Open MPI's mpirun.
RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
WORLD_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
LOCAL_RANK = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")


def keep_reason(text):
    """Launchers print many lines about a rank that failed: the reason is also beside the results."""
    try:
        with open(os.environ["DDPPROF_COMM_FILE"] + ".error", "a") as file:
            file.write(text.replace("\n", " ") + "\n")
    except (OSError, KeyError):
        pass


def fail(text):
    keep_reason(text)
    print("ddpprof bench-comm: " + text, file=sys.stderr, flush=True)
    sys.exit(1)


def number(names, default=None):
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    if default is None:
        fail("none of %s is set: ranks must be started by torchrun, srun or mpirun" % ", ".join(names))
    return default


def boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return socket.gethostname()


def network():
    """Returns the id of the network namespace. Containers of one machine usually have different ones."""
    try:
        return os.readlink("/proc/self/ns/net")
    except OSError:
        return ""


class Bench:
    def __init__(self, torch, dist, device, seconds):
        self.torch, self.dist, self.device = torch, dist, device
        self.begin, self.seconds = time.monotonic(), seconds
        self.per_size_s = min(SECONDS_PER_SIZE, seconds / len(NAMES) / SIZES)
        self.samples, self.warnings = {}, []

    def call(self, name, elements):
        """Returns a function that makes one call and waits for its end. Sums of zeros are zeros: no overflow."""
        torch, dist, ranks = self.torch, self.dist, self.dist.get_world_size()
        whole = torch.zeros(elements, dtype=torch.float32, device=self.device)
        part = torch.zeros(elements // ranks, dtype=torch.float32, device=self.device)
        calls = {"all_reduce": lambda: dist.all_reduce(whole),
                 "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
                 "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole)}

        def once():
            used_ns, begin_ns = time.process_time_ns(), time.monotonic_ns()
            calls[name]()
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            return max(1, time.monotonic_ns() - begin_ns), time.process_time_ns() - used_ns

        return once

    def from_rank_0(self, value):
        told = self.torch.tensor([value], dtype=self.torch.int64, device=self.device)
        self.dist.broadcast(told, 0)
        return int(told.item())

    def next_s(self, taken, size):
        """Returns the expected time of a call, on the line through the last two sizes. With one size there is no line."""
        if len(taken) < 2:
            return 0.0
        (before, before_s), (last, last_s) = taken[-2:]
        return last_s + max(0.0, (last_s - before_s) / (last - before)) * (size - last)

    def repeated(self, once):
        """Returns the times of calls for about per_size_s. Each block of calls has at most as many as were made before:
        a count from one lucky call could take many times longer where other processes use the cores."""
        times, begin, count = [], time.monotonic(), LEAST
        while count > 0:
            times += [once() for _ in range(count)]
            spent_s = time.monotonic() - begin
            fit = int((self.per_size_s - spent_s) / spent_s * len(times))
            count = self.from_rank_0(max(0, min(len(times), MOST - len(times), fit)))
        return times

    def sizes(self, name):
        end = self.begin + self.seconds * (NAMES.index(name) + 1) / len(NAMES)
        ranks = self.dist.get_world_size()
        samples, taken, size = self.samples.setdefault(name, []), [], FIRST_BYTES
        while size <= LAST_BYTES:
            elements = max(1, size // ITEM_BYTES // ranks) * ranks
            try:
                once = self.call(name, elements)
                once()
            except (NotImplementedError, AttributeError) as error:
                return self.leave_out(name, "not supported here: %s" % error)
            except RuntimeError as error:
                if taken or "not supported" not in str(error) and "not implemented" not in str(error):
                    raise
                return self.leave_out(name, "not supported here: %s" % str(error).splitlines()[0])
            once()
            times = self.repeated(once)
            samples += [[elements * ITEM_BYTES, i, *one] for i, one in enumerate(times)]
            taken.append((elements * ITEM_BYTES, sorted(one[0] for one in times)[len(times) // 2] * 1e-9))
            size *= FACTOR
            late = time.monotonic() > end
            if self.from_rank_0(late or self.next_s(taken, size) > LONGEST_S) and size <= LAST_BYTES:
                return self.leave_out(name, "sizes of more than %d bytes were left out: the time was over, or one call would "
                                            "take more than %g s" % (taken[-1][0], LONGEST_S))

    def leave_out(self, name, why):
        self.warnings.append("%s: %s" % (name, why))


def main():
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        fail("torch cannot be imported by %s: %s. Give a launcher that starts the Python of your training" % (sys.executable, error))
    rank, ranks, local_rank = number(RANK), number(WORLD_SIZE), number(LOCAL_RANK, 0)
    if ranks < 2:
        fail("a collective needs 2 ranks or more, and the launcher starts %d" % ranks)
    backend = os.environ.get("DDPPROF_COMM_BACKEND") or ("nccl" if torch.cuda.is_available() else "gloo")
    kind = os.environ.get("DDPPROF_COMM_DEVICE") or ("cuda" if backend == "nccl" else "cpu")
    if kind == "cuda" and torch.cuda.device_count() <= local_rank:
        fail("rank %d needs GPU %d, and torch sees %d" % (rank, local_rank, torch.cuda.device_count()))
    device = torch.device("cuda", local_rank) if kind == "cuda" else torch.device("cpu")
    if kind == "cuda":
        torch.cuda.set_device(device)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks))
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            fail("the variable %s is not set: torchrun sets it, for other launchers set it as for your training" % name)
    timeout = datetime.timedelta(seconds=float(os.environ.get("DDPPROF_COMM_TIMEOUT_S", "120")))
    dist.init_process_group(backend, timeout=timeout)
    bench = Bench(torch, dist, device, float(os.environ.get("DDPPROF_COMM_SECONDS", "120")))
    begin_ns = time.monotonic_ns()
    for name in NAMES:
        bench.sizes(name)
    own = {"rank": rank, "host": socket.gethostname(), "boot_id": boot_id(), "network": network(), "pid": os.getpid(),
           "cores": len(os.sched_getaffinity(0)), "threads": torch.get_num_threads(),
           "gpu": torch.cuda.get_device_name(device) if kind == "cuda" else "", "samples": bench.samples}
    everyone = [None] * ranks
    dist.all_gather_object(everyone, own)
    if rank == 0:
        result = {"format": 1, "backend": backend, "device": kind, "torch": str(torch.__version__),
                  "cuda": str(torch.version.cuda or ""), "python": sys.version.split()[0], "warnings": bench.warnings,
                  "wall_ns": time.monotonic_ns() - begin_ns, "ranks": everyone}
        path = os.environ["DDPPROF_COMM_FILE"]
        try:
            with open(path + ".part", "w") as file:
                json.dump(result, file)
            os.replace(path + ".part", path)
        except OSError as error:
            fail("rank 0 cannot write %s: %s. On several hosts, the folder of the database must be shared" % (path, error))
    dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        keep_reason("rank %s: %s: %s" % (os.environ.get("RANK", "?"), type(error).__name__, error))
        raise
