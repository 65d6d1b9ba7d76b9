"""What a device did in a window, by unions and intersections of lists of intervals; independent of analysis/import."""

from judge.order import COLLECTIVE_PARTS

FIELDS = ("compute_ns", "communication_ns", "memory_ns", "overlapped_ns", "busy_ns", "kernels", "collective_kernels",
          "copies")


def union(intervals):
    """Disjoint intervals in order, those of no length left out."""
    out = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def intersection(first, second):
    """Of two unions."""
    out, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < end:
            out.append([start, end])
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


def device_time(kernels, copies, start_ns, end_ns):
    """The columns of the table device_time for one window."""
    window = [[start_ns, end_ns]]
    groups = ([], [], [])
    for kernel in kernels:
        collective = any(part in kernel.name for part in COLLECTIVE_PARTS)
        groups[1 if collective else 0].append((kernel.start_ns, kernel.end_ns))
    groups[2].extend((copy.start_ns, copy.end_ns) for copy in copies)
    compute, communication, memory = (intersection(union(group), window) for group in groups)
    begin = [sum(start_ns <= start < end_ns for start, _ in group) for group in groups]
    return dict(zip(FIELDS, (
        length(compute), length(communication), length(memory), length(intersection(compute, communication)),
        length(union([*compute, *communication, *memory])), *begin)))
