"""A table of a report: rows with the columns' names and units."""
from __future__ import annotations

import html
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence


class Column(NamedTuple):
    name: str  # with the unit, as in step_s
    unit: str  # "" for text and numbers without a unit; ratios are fractions of 1
    kind: str  # text, integer, real, ratio or flag


class Table(Sequence[Dict[str, Any]]):
    """One table. A sequence of rows; a row maps a column's name to its value, None if it is not known."""

    def __init__(self, made: Dict[str, Any]) -> None:
        self.name: str = made["name"]
        self.title: str = made["title"]
        self.note: str = made["note"]  # the rule that the numbers follow
        self.columns: List[Column] = [Column(one["name"], one["unit"], one["kind"]) for one in made["columns"]]
        self.rows: List[Dict[str, Any]] = made["rows"]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self.rows)} rows, columns {', '.join(one.name for one in self.columns)}>"

    def _repr_html_(self) -> str:
        heading = "".join(f"<th>{html.escape(one.name)}</th>" for one in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{'–' if row[one.name] is None else html.escape(str(row[one.name]))}</td>"
                                        for one in self.columns) + "</tr>" for row in self.rows[:60])
        more = f"<p>{len(self.rows) - 60} more rows</p>" if len(self.rows) > 60 else ""
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{heading}</tr>{body}</table>{more}"

    def frame(self) -> Any:
        """Returns a pandas.DataFrame; its attrs have the units, the title and the note. Raises ImportError without pandas."""
        import pandas

        frame = pandas.DataFrame(self.rows, columns=[one.name for one in self.columns])
        frame.attrs.update(title=self.title, note=self.note, units={one.name: one.unit for one in self.columns})
        return frame

    def frame_or_rows(self) -> Any:
        """Returns frame() if pandas is installed, otherwise the rows as a list of dicts."""
        try:
            return self.frame()
        except ImportError:
            return list(self.rows)
