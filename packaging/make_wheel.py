#!/usr/bin/env python3
"""Packs a build of the preset `wheel` into a Python wheel.

    make_wheel.py ROOT BUILD OUT --worker VERSION=FILE… [--window]

The wheel's programs go to .data/scripts and its libraries to .data/data/lib: pip puts them into the environment's bin and
lib, where the program looks for them. `auditwheel` finds the oldest systems that the files run on, and the wheel's name says
so. Fails if a file needs a shared library or a version of glibc that the target does not have. VERSION: the version of torch
that the training worker FILE was built for. With --window also packs ddpprof-gui (window_wheel.py).
"""
import argparse
from pathlib import Path

import window_wheel
from wheel_files import (LINKED_PACKAGES, SHARED, check_audit, finish, project, stripped, third_party, with_licenses)

TARGET = "manylinux_2_34_x86_64"
# The training worker also links the torch of its environment, and the C++ library that this torch uses.
OF_TORCH = {"libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so", "libstdc++.so.6"}
WORKERS = "ddpprof/bin"  # one folder per version of torch

HEADING = """The programs of this wheel contain the following libraries. Each text is the copyright file of the Debian package \
that the library comes from; common-licenses has the licences that the texts name. libcsv has the LGPL 2.1: \
packaging/make_wheel.py and scripts/wheel in the sources of ddpprof link the programs again with another version of it. \
libstdc++ has the GPL 3 with the GCC Runtime Library Exception. zstd is used under its BSD licence.
"""


def metadata(root, version, description):
    return f"""Metadata-Version: 2.4
Name: ddpprof
Version: {version}
Summary: {description}
License-Expression: Apache-2.0
License-File:
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Provides-Extra: window
Requires-Dist: ddpprof-gui=={version}; extra == "window"
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Libraries
Description-Content-Type: text/markdown

{(root / "python/README.md").read_text()}"""


def files_of(root, build, version, description, workers):
    """Path in the wheel → (content, executable). `workers`: version of torch → the worker that was built for it."""
    data, info = f"ddpprof-{version}.data", f"ddpprof-{version}.dist-info"
    work = build / "stripped"
    files = {}
    for path in sorted((root / "python/ddpprof").rglob("*")):
        if path.suffix in (".py", ".typed"):
            files[path.relative_to(root / "python").as_posix()] = (path.read_bytes(), False)
    for source, place in ((build / "bin/ddpprof", f"{data}/scripts/ddpprof"),
                          (build / "lib/libddpprof-tracer.so", f"{data}/data/lib/libddpprof-tracer.so")):
        files[place] = (stripped(source, build / "symbols" / (source.name + ".debug"), work / source.name, TARGET), True)
    for torch, worker in workers.items():
        name = f"torch-{torch}"
        symbols = build / f"symbols/ddpprof-worker-{name}.debug"
        files[f"{WORKERS}/{name}/ddpprof-worker"] = (
            stripped(worker, symbols, work / name / "ddpprof-worker", TARGET, SHARED | OF_TORCH), True)
    for path in sorted((root / "python/injected").glob("*.py")):
        files[f"{data}/data/lib/ddpprof-python/{path.name}"] = (path.read_bytes(), False)
    files[f"{data}/data/lib/ddpprof-python/bench/comm.py"] = ((root / "python/bench/comm.py").read_bytes(), False)
    for path in sorted((build / "share").rglob("*")):  # completions of the shells, manual pages
        if path.is_file():
            files[f"{data}/data/share/{path.relative_to(build / 'share').as_posix()}"] = (path.read_bytes(), False)
    licenses = {"LICENSE": (root / "LICENSE").read_bytes(), **third_party(HEADING, LINKED_PACKAGES)}
    with_licenses(files, info, licenses, metadata(root, version, description))
    return files


def worker_of(text):
    """"2.11.0=FILE" → ("2.11.0", path)."""
    torch, _, path = text.partition("=")
    return torch, Path(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--worker", type=worker_of, action="append", required=True, metavar="VERSION=FILE")
    parser.add_argument("--window", action="store_true")
    given = parser.parse_args()
    version, description = project(given.root)
    files = files_of(given.root, given.build, version, description, dict(given.worker))
    info, name = f"ddpprof-{version}.dist-info", f"ddpprof-{version}"
    # Without the workers: torch's libraries are in no manylinux policy. stripped() has checked what the workers need.
    workers = {path: file for path, file in files.items() if path.startswith(WORKERS + "/")}
    check_audit({path: file for path, file in files.items() if path not in workers}, info, name, given.build, TARGET)
    finish(files, info, name, given.out, TARGET)
    for path, (content, _) in workers.items():
        print(f"{path}: {len(content) / 2**20:.1f} MiB installed, {TARGET} except the libraries of torch")
    if given.window:
        window_wheel.make(given.root, given.build, given.out, version)


if __name__ == "__main__":
    main()
