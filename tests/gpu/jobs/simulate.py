"""What ncclGroupSimulateEnd says all-reduces will take, beside what they take; one rank of N.    simulate.py TOLD

Through NCCL's C interface: ncclSimInfo_t is {size_t size; unsigned magic, version; float estimatedTime}, its magic
number 0x74685283, the time in microseconds (nccl.h and the documentation of NCCL 2.28).
"""

import ctypes
import glob
import json
import os
import sys
import time

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402

FLOAT, SUM = 7, 0  # ncclFloat32, ncclSum
SIZES = [1 << power for power in range(10, 27, 2)]


class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class SimInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                ("estimated_us", ctypes.c_float)]


def library():
    folder = os.path.dirname(os.path.dirname(torch.__file__))
    for path in [*sorted(glob.glob(f"{folder}/nvidia/nccl/lib/libnccl.so*")), "libnccl.so.2"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise OSError("libnccl.so.2 is neither beside torch nor in the library path")


class Nccl:
    def __init__(self):
        self.library = library()
        self.library.ncclGetErrorString.restype = ctypes.c_char_p
        version = ctypes.c_int()
        self.check("ncclGetVersion", ctypes.byref(version))
        self.version = version.value

    def check(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {code}, {self.library.ncclGetErrorString(code).decode()}")

    def communicator(self, rank, size, folder):
        identity = Id()
        path = os.path.join(folder, "nccl-id")
        if rank == 0:
            self.check("ncclGetUniqueId", ctypes.byref(identity))
            with open(path + ".partial", "wb") as file:
                file.write(bytes(identity))
            os.rename(path + ".partial", path)
        else:
            until = time.monotonic() + 60
            while not os.path.exists(path):
                if time.monotonic() > until:
                    raise TimeoutError("rank 0 left no id within 60 s")
                time.sleep(0.02)
            with open(path, "rb") as file:
                identity = Id.from_buffer_copy(file.read())
        communicator = ctypes.c_void_p()
        self.check("ncclCommInitRank", ctypes.byref(communicator), size, identity, rank)
        return communicator

    def all_reduce(self, communicator, data, count):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        pointer = ctypes.c_void_p(data.data_ptr())
        self.check("ncclAllReduce", pointer, pointer, ctypes.c_size_t(count), FLOAT, SUM, communicator, stream)

    def estimate_s(self, communicator, data, count):
        info = SimInfo(ctypes.sizeof(SimInfo), 0x74685283, self.version, -1.0)
        self.check("ncclGroupStart")
        self.all_reduce(communicator, data, count)
        self.check("ncclGroupSimulateEnd", ctypes.byref(info))
        return info.estimated_us * 1e-6


def measured_s(nccl, communicator, data, count):
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        begin = time.monotonic_ns()
        nccl.all_reduce(communicator, data, count)
        torch.cuda.synchronize()
        times.append(time.monotonic_ns() - begin)
    return sorted(times[3:])[2] * 1e-9


def main():
    told = sys.argv[1]
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    os.environ.update(NCCL_HOSTID=f"rank-{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
    nccl = Nccl()
    found = {"nccl": nccl.version, "world_size": size, "has_simulation": hasattr(nccl.library, "ncclGroupSimulateEnd"),
             "points": []}
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
        data = torch.zeros(SIZES[-1] // 4, device="cuda")
        communicator = nccl.communicator(rank, size, os.path.dirname(os.path.abspath(told)))
        for size_bytes in SIZES:
            estimate = nccl.estimate_s(communicator, data, size_bytes // 4)
            found["points"].append([size_bytes, estimate, measured_s(nccl, communicator, data, size_bytes // 4)])
    if rank == 0:
        with open(told, "w") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
