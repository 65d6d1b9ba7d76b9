"""Records steps of a training from inside its script: torch.profiler in a window of optimizer steps, then a database."""
from __future__ import annotations

import atexit
import datetime
import gc
import importlib.util
import json
import os
import shutil
import socket
import sys
import time
import uuid
import warnings
import weakref
from types import TracebackType
from typing import Any, Dict, List, Optional, Set, Tuple, Type, Union

from ._program import ProgramError, program, python_module, run
from .database import Database

_OUTCOMES = ("traced", "problem", "ended")
_WAIT_AFTER_EXCEPTION_S = 10.0
# The number of processes of launchers that also start unrelated processes: Open MPI, MPICH, srun. torchrun's WORLD_SIZE is
# always the size of one training.
_SIZES_OF_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")

_active: "weakref.WeakSet[Any]" = weakref.WeakSet()  # tracers of this process


def _forget_in_child() -> None:
    for tracer in list(_active):
        tracer.forget()
        tracer.ended = True  # a child that trains is not this rank


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class profile:
    """Records optimizer steps of the training inside the block into the database `out`.

        with ddpprof.profile(out="job.db", steps=range(20, 40)) as recording:
            train()
        recording.database            # rank 0: a Database; None on other ranks, and if nothing was recorded

    Steps are counted from 0 at the start of the block. The second half of `steps`, at most its last 20, is traced; the steps
    before are timed without torch.profiler. With several ranks, enter the block after torch.distributed.init_process_group
    on all ranks; `out` must be on a file system that all ranks share. Leaving the block, rank 0 waits up to `timeout_s` for
    the traces of all ranks, and as long for the import. A problem of the recording is a warning: it does not end the
    training. If the block is left by an exception after the window, the recording is kept; before its end, nothing is
    recorded. If the script runs under `ddpprof record` or `ddpprof run`, that command records, and the block does nothing.

    Raises ValueError for a window of steps that is too short, and ProgramError if `out` exists and not `overwrite`, or if
    the block is entered before init_process_group in a job of torchrun.
    """

    _count = 0  # recordings of this process that met other ranks: part of the names in the store

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
        self._traced = False
        if self._exists():
            raise ProgramError(self._exists(), 2)

    def __enter__(self) -> "profile":
        self._abandon()  # a callback whose training was ended by an exception
        self.database, self._traced = None, False
        if os.environ.get("DDPPROF_PYTHON_DIR"):
            warnings.warn("ddpprof.profile does nothing: ddpprof record, or run, records this job", stacklevel=2)
            return self
        reason = self._begin()
        if reason:
            warnings.warn(f"ddpprof.profile records nothing: {reason}", stacklevel=2)
            return self
        processes = _processes_of_launcher() if self._ranks == 1 else 1
        if processes > 1:
            warnings.warn(f"ddpprof.profile: the launcher started {processes} processes, and this one has no process group: it "
                          "is recorded as a training of one rank. If the processes train together, enter the block after "
                          "torch.distributed.init_process_group; otherwise nothing is recorded", stacklevel=2)
        atexit.register(self._abandon)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        tracer = self._take_tracer()
        if tracer is None:
            return
        try:
            self._leave(tracer, kind is not None)
        except Exception as failure:
            warnings.warn(f"ddpprof.profile made no database: {failure}", stacklevel=2)

    def _exists(self) -> str:
        if self._overwrite or not os.path.exists(self.out):
            return ""
        return f"{self.out} exists: give overwrite=True, or another file as out"

    def _begin(self) -> str:
        """Starts to count steps. Returns why that is not possible, on all ranks the same; empty if it is."""
        store = self._meet()
        token, reason = uuid.uuid4().hex[:12], ""
        name = f"ddpprof.profile/{profile._count}/"
        try:
            if store is not None:
                profile._count += 1
                if self._rank == 0:
                    store.set(name + "token", token)
                token = self._get(store, name + "token", "rank 0")
            self._folder = f"{self.out}.recording-{token}"
            self._tracer = self._make_tracer()
        except Exception as failure:  # one rank's failure is told to the others
            reason = str(failure)
        if store is not None:
            reason = self._agree(store, name, reason)
        if not reason:
            from torch.optim import optimizer

            self._hook = optimizer.register_optimizer_step_post_hook(self._tracer.after_step)
            _active.add(self._tracer)
        else:
            self._tracer = None
            if self._rank == 0 and self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
        return reason

    def _meet(self) -> Any:
        """Sets rank and ranks. Returns the store of the process group; None for one process."""
        import torch.distributed as distributed

        self._rank, self._ranks = 0, 1
        if distributed.is_available() and distributed.is_initialized():
            self._rank, self._ranks = distributed.get_rank(), distributed.get_world_size()
            # Without a device: a collective of NCCL would need the script to have chosen one.
            return distributed.distributed_c10d._get_default_store()
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ProgramError("ddpprof.profile: enter the block after torch.distributed.init_process_group", 2)
        return None

    def _get(self, store: Any, key: str, who: str) -> str:
        try:
            store.wait([key], datetime.timedelta(seconds=self._timeout_s))
        except Exception as failure:
            raise ProgramError(f"{who} did not enter the block within {self._timeout_s:g} s", 4) from failure
        return bytes(store.get(key)).decode()

    def _agree(self, store: Any, name: str, reason: str) -> str:
        """Tells the other ranks why this one cannot record. Returns the reason of some rank; empty if all can."""
        try:
            if reason:
                store.set(name + "reason", f"rank {self._rank}: {reason}")
            failed = store.add(name + "failed", 1 if reason else 0)
            if store.add(name + "entered", 1) == self._ranks:
                store.set(name + "all", "1")
            self._get(store, name + "all", "a rank")
            failed = store.add(name + "failed", 0)
            return bytes(store.get(name + "reason")).decode() if failed > 0 else ""
        except Exception as failure:
            return str(failure)

    def _make_tracer(self) -> Any:
        folder = python_module()
        if self._rank == 0:
            program()
            if self._exists():
                raise ProgramError(self._exists(), 2)
        os.makedirs(self._folder, exist_ok=True)
        from torch.optim import optimizer

        if not hasattr(optimizer, "register_optimizer_step_post_hook"):
            raise ProgramError("this torch has no hooks of optimizer steps; torch 2.1 or newer has them", 3)
        spec = importlib.util.spec_from_file_location("_ddpprof_torch", os.path.join(folder, "_ddpprof_torch.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # torch.compile imports the module of a hook that it traces
        spec.loader.exec_module(module)
        gc.collect()  # the profiler of an earlier recording would be taken for the job's own
        given = {"DDPPROF_PYTHON_DIR": self._folder, "DDPPROF_PYTHON_MODE": "always",
                 "DDPPROF_PYTHON_STEPS": f"{self._steps.start}-{self._steps.stop - 1}"}
        os.environ.update(given)
        try:
            return module.Tracer(self._report)
        finally:
            for name in given:
                del os.environ[name]

    def _report(self, event: str, **facts: Any) -> None:
        """Writes this rank's outcome to a file of its own, which is complete when it has its name."""
        if event not in _OUTCOMES or self._traced:
            return
        self._traced = event == "traced"
        outcome = {"event": event, "host": socket.gethostname(), "cores": sorted(os.sched_getaffinity(0)), **facts}
        path = os.path.join(self._folder, f"outcome-{self._rank}.json")
        try:
            with open(path + ".part", "w") as file:
                json.dump(outcome, file)
            os.replace(path + ".part", path)
        except OSError as failure:
            warnings.warn(f"ddpprof.profile: rank {self._rank} cannot write to {self._folder}: {failure}", stacklevel=2)

    def _take_tracer(self) -> Any:
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            self._hook.remove()
            _active.discard(tracer)
            atexit.unregister(self._abandon)
        return tracer

    def _abandon(self) -> None:
        tracer = self._take_tracer()
        if tracer is None:
            return
        tracer.give_up("the block of ddpprof.profile was not left")
        if self._rank == 0:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _leave(self, tracer: Any, by_exception: bool) -> None:
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            if distributed.get_world_size() != self._ranks:
                tracer.give_up("the block was entered before init_process_group")
                shutil.rmtree(self._folder, ignore_errors=True)
                raise ProgramError("enter the block after torch.distributed.init_process_group", 2)
        if not by_exception:
            tracer.at_exit()
        elif not self._traced:
            tracer.give_up("an exception left the block before the last of the steps")
            if self._rank == 0:
                shutil.rmtree(self._folder, ignore_errors=True)
                raise ProgramError(f"an exception left the block before step {self._steps.stop}", 5)
        if self._rank == 0:
            self._make_database(_WAIT_AFTER_EXCEPTION_S if by_exception else self._timeout_s)

    def _outcomes(self) -> Dict[int, Dict[str, Any]]:
        found: Dict[int, Dict[str, Any]] = {}
        for rank in range(self._ranks):
            try:
                with open(os.path.join(self._folder, f"outcome-{rank}.json")) as file:
                    found[rank] = json.load(file)
            except (OSError, ValueError):  # not yet, or not yet whole on a network's file system
                pass
        return found

    def _make_database(self, wait_s: float) -> None:
        end_s = time.monotonic() + wait_s
        outcomes = self._outcomes()
        while len(outcomes) < self._ranks and time.monotonic() < end_s:
            time.sleep(0.05)
            outcomes = self._outcomes()
        files, problems = _files_and_problems(outcomes, self._ranks)
        if not files:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ProgramError("no rank recorded a trace: " + "; ".join(problems), 5)
        if problems:
            warnings.warn("ddpprof.profile: ranks without a trace: " + "; ".join(problems), stacklevel=5)
        try:
            run(["import", *(os.path.join(self._folder, name) for name in files), "--out", self.out, "--quiet",
                 "--cores", str(_cores_of_a_host(outcomes)), *(["--overwrite"] if self._overwrite else [])],
                timeout_s=max(self._timeout_s, 1.0))
        except ProgramError as failure:
            raise ProgramError(f"{failure}; the traces are in {self._folder}", failure.exit_code) from None
        shutil.rmtree(self._folder, ignore_errors=True)
        self.database = Database(self.out)


def _processes_of_launcher() -> int:
    sizes = [os.environ.get(name, "") for name in _SIZES_OF_LAUNCHERS]
    return max((int(size) for size in sizes if size.isdigit()), default=1)


def _cores_of_a_host(outcomes: Dict[int, Dict[str, Any]]) -> int:
    """The cores on which the ranks of a host may run: each rank may have cores of its own."""
    hosts: Dict[str, Set[int]] = {}
    for outcome in outcomes.values():
        hosts.setdefault(outcome["host"], set()).update(outcome["cores"])
    return max(len(cores) for cores in hosts.values())


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
