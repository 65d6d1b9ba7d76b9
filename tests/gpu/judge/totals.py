"""Two recordings of the same steps, kernel by kernel name."""

import difflib
from typing import NamedTuple

from judge.names import demangled, matched, normalised


class Total(NamedTuple):
    count: int
    total_ns: int
    name: str  # as the source has it, demangled


class Difference(NamedTuple):
    name: str | None  # None if the first has no such name
    count: int
    other_name: str | None
    other_count: int

    def __str__(self):
        if self.name == self.other_name:
            return f"{self.name}: {self.count}, {self.other_count}"
        return f"{self.name or 'no such name'}: {self.count}, {self.other_name or 'no such name'}: {self.other_count}"


class Comparison(NamedTuple):
    kernels: int  # of the first
    other_kernels: int
    differing: list  # a Difference for each name whose counts differ
    ratio: float | None  # of the total times, first over second; None where the second has none
    matched: int  # names that are equal only without their parameter or template list


def totals(events):
    """(name, duration_ns) pairs to normalised name -> Total."""
    out = {}
    for name, duration_ns in events:
        key = normalised(name)
        before = out.get(key, Total(0, 0, demangled(name)))
        out[key] = Total(before.count + 1, before.total_ns + duration_ns, before.name)
    return out


def _differences(first, second):
    """Differences of names that one side does not have, next to the most similar one of the other side."""
    found, others = [], dict(second)
    for key, total in sorted(first.items()):
        near = difflib.get_close_matches(key, others, n=1)
        other = others.pop(near[0]) if near else None
        found.append(Difference(total.name, total.count, other and other.name, other.count if other else 0))
    return found + [Difference(None, 0, total.name, total.count) for _, total in sorted(others.items())]


def compare(first, second):
    pairs = matched(first.keys() - second.keys(), second.keys() - first.keys())
    same = [(key, key) for key in sorted(first.keys() & second.keys())] + pairs
    differing = [Difference(first[one].name, first[one].count, second[other].name, second[other].count)
                 for one, other in same if first[one].count != second[other].count]
    differing += _differences({key: first[key] for key in first.keys() - {one for one, _ in same}},
                              {key: second[key] for key in second.keys() - {other for _, other in same}})
    ours, theirs = (sum(total.total_ns for total in side.values()) for side in (first, second))
    return Comparison(sum(total.count for total in first.values()), sum(total.count for total in second.values()),
                      differing, ours / theirs if theirs else None, len(pairs))
