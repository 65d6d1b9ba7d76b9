"""A database of ddpprof: its tables, reports and predictions, all made by the program."""
from __future__ import annotations

import html
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._program import ProgramError, run
from .tables import Table

Value = Union[str, int, float]


def _tables(text: str) -> Dict[str, Table]:
    made = json.loads(text)
    if made.get("format") != "ddpprof-report" or made.get("version") != 1:
        raise ProgramError("the program writes reports of another version: install package and program together", 3)
    return {one["name"]: Table(one) for one in made["tables"]}


class Report(Mapping[str, Table]):
    """A report: its tables by name. In Jupyter it is a page with figures; str() is its text."""

    def __init__(self, arguments: List[str]) -> None:
        self._arguments = arguments
        self._made = _tables(self._output("json"))

    def _output(self, form: str) -> str:
        return run([*self._arguments, "--format", form])

    @property
    def tables(self) -> Dict[str, Table]:
        return dict(self._made)

    def __getitem__(self, name: str) -> Table:
        try:
            return self._made[name]
        except KeyError:
            raise KeyError(f"no table {name!r}; this report has {', '.join(self._made)}") from None

    def __iter__(self) -> Any:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"<Report with the tables {', '.join(self._made)}>"

    def __str__(self) -> str:
        return self._output("table")

    def html(self) -> str:
        """Returns the report as a self-contained page, without a script and without an external address."""
        return self._output("html")

    def _repr_html_(self) -> str:
        # In a frame: the page's styles must not change the notebook's.
        return (f'<iframe srcdoc="{html.escape(self.html())}" width="100%" height="640" '
                'style="border: 1px solid #8888; background: white"></iframe>')


class Database:
    """A database that ddpprof run, record or import wrote. It is only read."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.report("diagnostics")  # raises if the program cannot read the file

    def __repr__(self) -> str:
        return f"ddpprof.open({self.path!r})"

    def report(self, name: str = "summary") -> Report:
        """Returns a report; `ddpprof report --help` lists the names. Raises ProgramError for an unknown name."""
        return Report(["report", self.path, "--report", name])

    def _repr_html_(self) -> str:
        return self.report("summary")._repr_html_()

    @property
    def steps(self) -> Any:
        """Every step of every measurement. Times in s: step_s, forward_s, backward_s, optimizer_s, compute_s,
        communication_s, exposed_s, …; samples; kind is warmup, measured, unwrapped or untraced."""
        return self.report("steps")["steps"].frame_or_rows()

    @property
    def collectives(self) -> Any:
        """Each gradient bucket's all-reduce and the other collectives, per configuration: bytes; medians in s of
        duration_s, transfer_s, skew_s, queue_s; bandwidths in bytes/s."""
        return self.report("collectives")["collectives"].frame_or_rows()

    @property
    def ranks(self) -> Any:
        """Ranks compared with each other: medians in s of step and compute, how often a rank was last (a fraction of 1),
        and the time kept_waiting_s that it made the other ranks wait."""
        return self.report("skew")["skew"].frame_or_rows()

    def predict(self, workers: Union[int, Iterable[int], None] = None, *, gpus_per_node: Optional[int] = None,
                what_if: Optional[Mapping[str, Value]] = None, inter_node: Optional[str] = None,
                global_batch: Optional[int] = None, confidence: Optional[float] = None, sharing: Optional[str] = None,
                all_reduce: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]] = ()) -> Report:
        """Predicts the step at other worker counts, with intervals: tables predictions, what_if, why, knee, notes.

        The arguments are the options of `ddpprof predict`, which explains them. Times are in s.
        """
        arguments = ["predict", self.path]
        if workers is not None:
            arguments += ["--workers", ",".join(str(int(one)) for one in ([workers] if isinstance(workers, int) else workers))]
        for name, value in (("gpus-per-node", gpus_per_node), ("inter-node", inter_node), ("global-batch", global_batch),
                            ("confidence", confidence), ("sharing", sharing)):
            if value is not None:
                arguments += [f"--{name}", str(value)]
        for key, change in (what_if or {}).items():
            arguments += ["--what-if", f"{key}={change}"]
        for log in [all_reduce] if isinstance(all_reduce, (str, os.PathLike)) else all_reduce:
            arguments += ["--all-reduce", os.fspath(log)]
        return Report(arguments)

    def summary_dict(self) -> Dict[str, float]:
        """Returns flat numbers for W&B, MLflow or TensorBoard, with units in the names:
        "measured/ddp/N=4/batch=128/step_median_s", "predicted/ddp/N=64/gpus_per_node=8/throughput_samples_per_s".

        batch is the global batch in samples. A second row with the same name has "/2" before the column. Numbers that are
        not known are left out.
        """
        report = self.report("summary")
        flat: Dict[str, float] = {}
        for source, table, label, column in (("measured", "step", "batch", "global_batch_samples"),
                                             ("predicted", "predictions", "gpus_per_node", "gpus_per_node")):
            rows: Dict[str, int] = {}
            for row in report.tables.get(table, ()):
                name = f"{source}/{row['strategy']}/N={row['workers']}"
                if row[column] is not None:
                    name += f"/{label}={row[column]}"
                rows[name] = rows.get(name, 0) + 1
                numbered = name if rows[name] == 1 else f"{name}/{rows[name]}"
                flat.update({f"{numbered}/{one.name}": float(row[one.name]) for one in report[table].columns
                             if one.kind in ("real", "ratio") and row[one.name] is not None})
        return flat


def open(path: Union[str, "os.PathLike[str]"]) -> Database:
    """Opens a database for reading. Raises ProgramError if it does not exist or is not a database of ddpprof."""
    return Database(path)
