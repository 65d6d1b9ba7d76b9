"""Prints the device's and the libraries' names and versions as JSON; what cannot be read is null."""

import ctypes
import glob
import json
import os

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402


def cupti():
    folder = os.path.dirname(os.path.dirname(torch.__file__))
    for path in [*sorted(glob.glob(f"{folder}/nvidia/*/lib/libcupti.so*")), "libcupti.so.13", "libcupti.so.12"]:
        version = ctypes.c_uint32(0)
        try:
            if ctypes.CDLL(path).cuptiGetVersion(ctypes.byref(version)) == 0:
                return version.value
        except OSError:
            continue
    return None


def driver():
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        pass
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(128)
        if nvml.nvmlInit_v2() == 0 and nvml.nvmlSystemGetDriverVersion(text, 128) == 0:
            return text.value.decode()
    except OSError:
        pass
    return None


def main():
    cuda = torch.cuda.is_available()
    properties = torch.cuda.get_device_properties(0) if cuda else None
    version = torch.cuda.nccl.version() if torch.version.cuda else None
    print(json.dumps({
        "device": properties.name if cuda else None,
        "devices": torch.cuda.device_count() if cuda else 0,
        "memory_bytes": properties.total_memory if cuda else None,
        "compute_capability": f"{properties.major}.{properties.minor}" if cuda else None,
        "driver": driver(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "nccl": ".".join(map(str, version)) if version else None,
        "cupti": cupti(),
    }))


if __name__ == "__main__":
    main()
