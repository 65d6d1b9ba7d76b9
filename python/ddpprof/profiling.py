"""Records steps of a training from inside its script: torch.profiler in a window of optimizer steps, then a database."""
from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import time
import uuid
import warnings
from types import TracebackType
from typing import Any, Dict, List, Optional, Tuple, Type, Union

from ._program import ProgramError, python_module, run
from .database import Database

_OUTCOMES = ("traced", "problem", "ended")


class profile:
    """Records optimizer steps of the training inside the block into the database `out`.

        with ddpprof.profile(out="job.db", steps=range(20, 40)) as recording:
            train()
        recording.database            # rank 0: a Database; None on other ranks, and if nothing was recorded

    Steps are counted from 0 at the start of the block. The first half of `steps` is timed without torch.profiler, the second
    half, at most 20 steps, is traced. With several ranks, enter the block after torch.distributed.init_process_group on all
    ranks; `out` must be on a file system that all ranks share. Leaving the block, rank 0 waits up to `timeout_s` for the
    traces of all ranks. A problem of the recording is a warning: it never ends the training. If the script runs under
    `ddpprof record` or `ddpprof run`, that command records, and the block does nothing.

    Raises ValueError for a window of steps that is too short, and ProgramError if `out` exists and not `overwrite`.
    """

    def __init__(self, out: Union[str, "os.PathLike[str]"] = "job.db", steps: range = range(20, 40), *,
                 overwrite: bool = False, timeout_s: float = 120.0) -> None:
        if steps.step != 1 or steps.start < 1 or len(steps) < 4:
            raise ValueError(f"ddpprof.profile: steps is {steps}; give a range of at least 4 steps that starts at step 1 or "
                             "later, for example range(20, 40)")
        self.out = os.path.abspath(os.fspath(out))
        self.database: Optional[Database] = None
        self._steps = steps
        self._overwrite = overwrite
        self._timeout_s = timeout_s
        self._tracer: Any = None
        self._hook: Any = None
        self._rank, self._ranks = 0, 1
        self._folder = ""

    def __enter__(self) -> "profile":
        if os.environ.get("DDPPROF_PYTHON_DIR"):
            warnings.warn("ddpprof.profile does nothing: ddpprof record, or run, records this job", stacklevel=2)
            return self
        from torch.optim import optimizer

        module = python_module()
        token = self._meet()
        self._folder = f"{self.out}.recording-{token}"
        os.makedirs(self._folder, exist_ok=True)
        self._tracer = self._make_tracer(module)
        self._hook = optimizer.register_optimizer_step_post_hook(self._tracer.after_step)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        self._hook.remove()
        if kind is not None:
            tracer.give_up("the block of ddpprof.profile was left by an exception")
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        tracer.at_exit()
        if self._rank == 0:
            try:
                self._make_database()
            except ProgramError as failure:
                warnings.warn(f"ddpprof.profile made no database: {failure}", stacklevel=2)

    def _meet(self) -> str:
        """Returns a name for this recording, the same on all ranks."""
        import torch.distributed as distributed

        exists = os.path.exists(self.out) and not self._overwrite
        together: List[Any] = [uuid.uuid4().hex[:12], exists]
        if distributed.is_available() and distributed.is_initialized():
            self._rank, self._ranks = distributed.get_rank(), distributed.get_world_size()
            distributed.broadcast_object_list(together, src=0)
        elif int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ProgramError("ddpprof.profile: enter the block after torch.distributed.init_process_group", 2)
        if together[1]:
            raise ProgramError(f"{self.out} exists: give overwrite=True, or another file as out", 2)
        return str(together[0])

    def _make_tracer(self, folder: os.PathLike[str]) -> Any:
        spec = importlib.util.spec_from_file_location("_ddpprof_torch", os.path.join(folder, "_ddpprof_torch.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # torch.compile imports the module of a hook that it traces
        spec.loader.exec_module(module)
        given = {"DDPPROF_PYTHON_DIR": self._folder, "DDPPROF_PYTHON_MODE": "always",
                 "DDPPROF_PYTHON_STEPS": f"{self._steps.start}-{self._steps.stop - 1}"}
        os.environ.update(given)
        try:
            return module.Tracer(self._report)
        finally:
            for name in given:
                del os.environ[name]

    def _report(self, event: str, **facts: Any) -> None:
        """Appends an event of this rank to the folder's list, in one write: lines of ranks do not mix."""
        line = json.dumps({"event": event, "recorded_by": self._rank, **facts}) + "\n"
        try:
            descriptor = os.open(os.path.join(self._folder, "python.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError as failure:
            warnings.warn(f"ddpprof.profile: rank {self._rank} cannot write to {self._folder}: {failure}", stacklevel=2)

    def _outcomes(self) -> Dict[int, Dict[str, Any]]:
        """The last outcome of each rank that has one."""
        found: Dict[int, Dict[str, Any]] = {}
        try:
            with open(os.path.join(self._folder, "python.jsonl")) as file:
                for line in file:
                    event = json.loads(line)
                    known = found.get(event["recorded_by"], {}).get("event")
                    if event["event"] in _OUTCOMES and known != "traced":
                        found[event["recorded_by"]] = event
        except FileNotFoundError:
            pass
        return found

    def _make_database(self) -> None:
        end_s = time.monotonic() + self._timeout_s
        while len(self._outcomes()) < self._ranks and time.monotonic() < end_s:
            time.sleep(0.05)
        outcomes = self._outcomes()
        files, problems = _files_and_problems(outcomes, self._ranks)
        if not files:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ProgramError("no rank recorded a trace: " + "; ".join(problems), 5)
        if problems:
            warnings.warn("ddpprof.profile: ranks without a trace: " + "; ".join(problems), stacklevel=4)
        try:
            run(["import", *(os.path.join(self._folder, name) for name in files), "--out", self.out, "--quiet",
                 "--cores", str(len(os.sched_getaffinity(0))), *(["--overwrite"] if self._overwrite else [])])
        except ProgramError as failure:
            raise ProgramError(f"{failure}; the traces are in {self._folder}", failure.exit_code) from None
        shutil.rmtree(self._folder, ignore_errors=True)
        self.database = Database(self.out)


def _files_and_problems(outcomes: Dict[int, Dict[str, Any]], ranks: int) -> Tuple[List[str], List[str]]:
    files, problems = [], []
    for rank in range(ranks):
        outcome = outcomes.get(rank)
        if outcome is None:
            problems.append(f"rank {rank} did not leave the block in time")
        elif outcome["event"] == "traced":
            files.append(os.path.basename(outcome["file"]))
        elif outcome["event"] == "ended":
            problems.append(f"rank {rank} made {outcome['steps']} optimizer steps: give earlier steps")
        else:
            problems.append(f"rank {rank}: {outcome['reason']}")
    return files, problems
