"""Two recordings of the same steps, kernel by kernel name."""

import ctypes
import ctypes.util
import functools
from typing import NamedTuple


class Total(NamedTuple):
    count: int
    total_ns: int


class Comparison(NamedTuple):
    kernels: int  # of the first
    other_kernels: int
    differing: list  # (name, count, other count) wherever the counts differ
    ratio: float | None  # of the total times, first over second; None where the second has none


@functools.cache
def _runtime():
    library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    return library


@functools.cache
def demangled(name):
    """Returns the demangled name by the C++ runtime. Other names are returned unchanged."""
    if not name.startswith("_Z"):
        return name
    status = ctypes.c_int(-1)
    text = _runtime().__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not text:
        return name
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))


def totals(events):
    """(name, duration_ns) pairs to name -> Total, names as people read them."""
    out = {}
    for name, duration_ns in events:
        before = out.get(demangled(name), Total(0, 0))
        out[demangled(name)] = Total(before.count + 1, before.total_ns + duration_ns)
    return out


def compare(first, second):
    differing = [(name, first.get(name, Total(0, 0)).count, second.get(name, Total(0, 0)).count)
                 for name in sorted({*first, *second})
                 if first.get(name, Total(0, 0)).count != second.get(name, Total(0, 0)).count]
    ours, theirs = (sum(total.total_ns for total in side.values()) for side in (first, second))
    return Comparison(sum(total.count for total in first.values()), sum(total.count for total in second.values()),
                      differing, ours / theirs if theirs else None)
