"""Finds and runs the program ddpprof."""
from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional, Sequence


class ProgramError(RuntimeError):
    """An error of the program. str() is its message; `exit_code` is 2 to 5, as `ddpprof --help` lists them."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def program() -> Path:
    """Returns the path of the program: DDPPROF_PROGRAM, the program of this installation, or the first one on PATH.

    Raises ProgramError if there is none.
    """
    named = os.environ.get("DDPPROF_PROGRAM")
    if named:
        if not Path(named).is_file():
            raise ProgramError(f"DDPPROF_PROGRAM is {named}, which does not exist: correct it, or unset it", 3)
        return Path(named)
    try:
        for file in importlib.metadata.files("ddpprof") or ():
            if file.name == "ddpprof" and file.parent.name == "bin":
                return Path(file.locate()).resolve()
    except importlib.metadata.PackageNotFoundError:  # used from a source tree
        pass
    found = shutil.which("ddpprof")
    if found:
        return Path(found)
    raise ProgramError("the program ddpprof is not found: install the wheel of ddpprof, or name the program in "
                       "DDPPROF_PROGRAM", 3)


def python_module() -> Path:
    """Returns the folder of the module that traces Python processes. Raises ProgramError if it does not exist."""
    named = os.environ.get("DDPPROF_PYTHON_MODULE")
    folder = Path(named) if named else program().resolve().parent.parent / "lib" / "ddpprof-python"
    if not (folder / "_ddpprof_torch.py").is_file():
        raise ProgramError(f"{folder} has no tracer for Python: install ddpprof again", 3)
    return folder


def run(arguments: Sequence[str], timeout_s: Optional[float] = None) -> str:
    """Runs the program and returns its standard output. Raises ProgramError with its message if it fails."""
    words = [str(program()), *arguments]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", errors="replace", timeout=timeout_s)
    except OSError as error:
        raise ProgramError(f"{words[0]} cannot be started: {error.strerror}", 3) from error
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"ddpprof {arguments[0]} did not end within {timeout_s:g} s", 4) from error
    if done.returncode != 0:
        message = done.stderr.strip() or f"ddpprof {arguments[0]} ended with exit code {done.returncode}"
        raise ProgramError(message, done.returncode)
    return done.stdout


def version() -> str:
    """Returns the version of the program, for example "0.1.0"."""
    return run(["--version"], timeout_s=60).split()[-1]
