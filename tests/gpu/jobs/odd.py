"""What tracers stumble over, each kind in a range of its own: CUDA graphs, a second context.    odd.py TOLD"""

import ctypes
import json
import sys

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402
from torch.cuda import nvtx  # noqa: E402

REPLAYS, ADDS, BYTES = 5, 3, 12_345_678  # no other memset of this job has this size


def graph():
    value = torch.zeros(1024, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        value.add_(1)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(ADDS):
            value.add_(1)
    before = value[0].item()
    with nvtx.range("graph"):
        for _ in range(REPLAYS):
            captured.replay()
        torch.cuda.synchronize()
    return value[0].item() - before


def second_context():
    """Sets memory in a context beside torch's; the driver's own codes, 0 where all is well."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, device, memory = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
    codes = [driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0)]
    codes.append(driver.cuCtxCreate_v2(ctypes.byref(context), 0, device))
    codes.append(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(BYTES)))
    codes.append(driver.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(BYTES)))
    codes.append(driver.cuCtxSynchronize())
    codes.append(driver.cuMemFree_v2(memory))
    codes.append(driver.cuCtxDestroy_v2(context))
    return codes


def main():
    added = graph()
    with nvtx.range("second context"):
        codes = second_context()
    with open(sys.argv[1], "w") as file:
        json.dump({"added": added, "expected": REPLAYS * ADDS, "context_codes": codes, "bytes": BYTES}, file)


if __name__ == "__main__":
    main()
