"""All parts of one call, in turn. The results are written after every part, so an ended call leaves them."""

import datetime
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

from suite import build, limits, machine, part_process, parts, processes, report
from suite.job import LimitReached

PROGRAM_S, WORKER_S, VERSIONS_S = 10, 40, 40


class CannotStart(Exception):
    """No part can run here. The text is the reason."""


class Results:
    """The two files of results, with the parts that have ended so far."""

    def __init__(self, options, names):
        self.folder, self.begin, self.now = options.out, time.monotonic(), "the start-up"
        self.found = {"format": 1, "commit": build.commit(build.folder_with("bin/ddpprof")),
                      "started_utc": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                      "mode": options.device, "small": options.small, "list": options.list, "planned": list(names),
                      "complete": False, "seconds": 0.0, "message": "", "device": {}, "parts": []}

    def elapsed_s(self):
        return time.monotonic() - self.begin

    def write(self, **more):
        self.found.update(more, **report.counts(self.found["parts"]), seconds=round(self.elapsed_s(), 1))
        self.folder.mkdir(parents=True, exist_ok=True)
        report.write(self.folder, self.found)

    def add_message(self, text):
        print(f"run-all: {text}", file=sys.stderr, flush=True)
        self.write(message="\n".join(filter(None, [self.found["message"], text])))

    def add(self, part):
        self.found["parts"].append(part)
        self.write()
        print(report.part_text(part), flush=True)


def check_program(where):
    """Raises RuntimeError or LimitReached if ddpprof does not start.

    On a machine with an older C library it does not start. The linker's message names the missing version.
    """
    where.run([where.program, "--version"], PROGRAM_S)


def missing_worker(where, results):
    """Returns None if ddpprof-worker starts, otherwise (status, reason) for the parts that need it.

    The status is failed if the worker exists, because the goals of these parts are not met on this machine. A worker
    that has not answered in time is a message in the results, and its parts run: a new machine may read its libraries
    slowly, and in a hang the parts show more.
    """
    worker = where.worker()
    if not worker.is_file():
        return (report.SKIPPED,
                f"this part needs ddpprof-worker, and there is no {worker}: build or pack with the worker")
    try:
        where.run([worker, "--version"], WORKER_S)
    except LimitReached as error:
        results.add_message(f"ddpprof-worker has not answered: {error}")
    except (RuntimeError, OSError) as error:
        return report.FAILED, f"this part needs ddpprof-worker, which does not start: {error}"
    return None


def versions(where):
    """Versions of the device and the libraries. Raises RuntimeError or LimitReached if torch does not start."""
    return json.loads(where.run(where.job("versions.py"), VERSIONS_S).stdout)


def start_up(options, results):
    """Checks that torch and our programs start. Returns missing_worker(). Raises CannotStart.

    All checks share limits.STARTUP_S. torch is first: a hang of the driver is then in the results.
    """
    try:
        where = machine.Machine(options.device, options.small,
                                results.begin + limits.for_device(options.device, limits.STARTUP_S))
        try:
            device = versions(where)
        except LimitReached as error:  # the parts may still run, and their results show more of the hang
            results.add_message(f"the versions are unknown: {error}")
        else:
            results.write(device=device)
            if where.cuda and not device["devices"]:
                raise CannotStart("no GPU here (torch finds no CUDA device): expected one NVIDIA GPU. Use --device cpu "
                                  "for the parts that are possible without")
        check_program(where)
        return missing_worker(where, results)
    except (machine.NotFound, LimitReached, RuntimeError, OSError, ValueError) as error:
        raise CannotStart(str(error)) from error


def not_started(name, message, status=report.FAILED):
    return dict(part_process.failed(name, message), status=status)


def run_one(name, options, limit_s):
    """One part in a folder of its own below the system's temporary folder."""
    with tempfile.TemporaryDirectory(prefix=f"ddpprof-gpu-{name}-", ignore_cleanup_errors=True) as folder:
        command = [os.path.abspath(sys.argv[0]), "--part", name, "--device", options.device, "--out", folder,
                   *(["--small"] if options.small else [])]
        try:
            return part_process.run_apart(name, command, pathlib.Path(folder), limit_s)
        finally:
            if options.keep:
                keep(folder, options.out / name)


def keep(folder, target):
    """Copies a part's folder. What cannot be copied, for example on a full disk, is reported and does not fail."""
    try:
        shutil.copytree(folder, target, dirs_exist_ok=True)
    except OSError as error:
        print(f"run-all: --keep cannot copy all files to {target}: {str(error)[:1000]}", file=sys.stderr, flush=True)


def run_all(options, names):
    """Returns the exit code of run-all."""
    processes.exit_on_signals()
    results = Results(options, names)
    try:
        results.write()
        return run_parts(options, names, results)
    except CannotStart as error:
        results.add_message(str(error))
        return 3
    except BaseException as error:  # a signal, or an error of the suite itself
        text = str(error) if isinstance(error, processes.Signalled) else f"{type(error).__name__} {error}"
        results.add_message(f"run-all was ended during {results.now}: {text}")
        raise


def run_parts(options, names, results):
    worker = start_up(options, results)
    for name in names:
        results.now = f"the part {name}"
        left_s = options.limit_s - results.elapsed_s() - limits.LAST_S
        if worker and parts.needs_worker(name):
            results.add(not_started(name, worker[1], worker[0]))
        elif left_s < limits.LEAST_S:
            results.add(not_started(name, f"not started: of the limit of {options.limit_s:.0f} s for all parts "
                                          f"{max(0.0, left_s):.0f} s were left, {limits.LEAST_S:.0f} s are needed"))
        else:
            limit_s = min(limits.for_device(options.device, parts.load(name).LIMIT_S), left_s)
            try:
                found = run_one(name, options, limit_s)
            except Exception as error:  # for example a full disk: the other parts must still run
                found = part_process.failed(name, parts.error_text(error))
            results.add(found)
    results.write(complete=True)
    found = results.found
    print(f"{found['passed']} parts passed, {found['failed']} failed, {found['skipped']} skipped in "
          f"{found['seconds']:.0f} s: {options.out / 'results.md'}")
    return report.exit_code(found["parts"])
