"""What a part of the suite found: figures with their goals, and whether they were met."""

from dataclasses import asdict, dataclass


@dataclass
class Figure:
    """One number or word. `passed` is None if the figure has no goal: it is only reported."""

    name: str
    value: object
    unit: str = ""
    goal: str = ""
    passed: bool | None = None
    note: str = ""

    def as_json(self):
        return asdict(self)


def shown(value):
    """A value as people read it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not found"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)


def figure(name, value, unit="", *, equals=None, at_most=None, at_least=None, note=""):
    """A figure judged by the goals that are given. A value of None (it could not be found) meets no goal."""
    goals, met = [], []
    for word, limit, holds in (("=", equals, lambda v: v == equals), ("<=", at_most, lambda v: v <= at_most),
                               (">=", at_least, lambda v: v >= at_least)):
        if limit is not None:
            goals.append(f"{word} {shown(limit)}")
            met.append(value is not None and holds(value))
    return Figure(name, value, unit, " and ".join(goals), all(met) if goals else None, note)


def without_goal(one, note):
    """The figure without its goal, with a note about the reason."""
    return Figure(one.name, one.value, one.unit, note="; ".join(part for part in (one.note, note) if part))


def nothing_in(name, found, note=""):
    """A figure of how many violations there are, none expected; the first ones are told."""
    found = list(found)
    told = "; ".join(map(str, found[:3])) + (" …" if len(found) > 3 else "")
    return figure(name, len(found), equals=0, note="; ".join(part for part in (note, told) if part))


class Skip(Exception):
    """A part that cannot be done on this machine or device. The text is the reason."""


class Failed(Exception):
    """A part whose measurement has failed. The text is the whole message."""
