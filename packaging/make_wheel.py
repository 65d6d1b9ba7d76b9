#!/usr/bin/env python3
"""Packs a build of the preset `wheel` into a Python wheel.

    make_wheel.py ROOT BUILD OUT

The wheel's programs go to .data/scripts and its libraries to .data/data/lib: pip puts them into the environment's bin and
lib, where the program looks for them. `auditwheel` finds the oldest systems that the files run on, and the wheel's name says
so. Fails if a file needs a shared library or a version of glibc that the target does not have.
"""
import argparse
import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

TARGET = "manylinux_2_34_x86_64"
LARGEST_BYTES = 60 << 20
# The libraries that the programs contain: Debian packages whose copyright files go into the wheel.
LIBRARIES = ("libceres-dev", "libcli11-dev", "libcsv-dev", "libeigen3-dev", "libfmt-dev", "libsimdjson-dev", "libsqlite3-dev",
             "libsqlitecpp-dev", "libssl-dev", "libstdc++-12-dev", "libyaml-cpp-dev", "libzstd-dev", "nlohmann-json3-dev",
             "zlib1g-dev")
# What the files may link dynamically: glibc and the unwinder, which every system with glibc has.
SHARED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# The training worker also links the torch of its environment, and the C++ library that this torch uses.
OF_TORCH = {"libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so", "libstdc++.so.6"}
# The newest versions that TARGET allows.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
WORKER = "ddpprof/bin/ddpprof-worker"
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every file, so that the same build gives the same wheel


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def project(root):
    """The version and the description in CMakeLists.txt."""
    text = (root / "CMakeLists.txt").read_text()
    return (re.search(r"project\(\S+ VERSION (\S+)", text).group(1), re.search(r'DESCRIPTION "([^"]+)"', text).group(1))


def stripped(source, symbols, target, shared=frozenset(SHARED)):
    """Copies a program or a library without its symbols, which go beside it for debuggers. Checks what it needs."""
    symbols.parent.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", str(source), str(symbols))
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={symbols}", str(source), str(target))
    linked = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", str(target))))
    if not linked <= shared:
        sys.exit(f"make_wheel: {source.name} links {', '.join(sorted(linked - shared))}; this file of a wheel may link only "
                 f"{', '.join(sorted(shared))}")
    for line in run("objdump", "-T", str(target)).splitlines():
        version = re.search(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", line)
        if version and tuple(map(int, version.group(2).split("."))) > NEWEST[version.group(1)]:
            sys.exit(f"make_wheel: {source.name} needs {version.group(0)}, which {TARGET} does not have: {line}")
    return target.read_bytes()


def metadata(root, version, description):
    return f"""Metadata-Version: 2.4
Name: ddpprof
Version: {version}
Summary: {description}
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD-PARTY
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Libraries
Description-Content-Type: text/markdown

{(root / "python/README.md").read_text()}"""


def third_party():
    """The licences of the libraries that are linked statically, as Debian states them."""
    parts = ["The programs of this wheel contain the following libraries. Each text is the copyright file of the Debian package "
             "that the library comes from. libcsv has the LGPL 2.1: packaging/make_wheel.py and scripts/wheel in the sources of "
             "ddpprof link the programs again with another version of it. libstdc++ has the GPL 3 with the GCC Runtime Library "
             "Exception. zstd is used under its BSD licence.\n"]
    for package in LIBRARIES:
        parts.append(f"{'=' * 100}\n{package} {run('dpkg-query', '-W', '-f=${Version}', package)}\n{'=' * 100}\n"
                     + Path("/usr/share/doc", package, "copyright").read_text())
    return "\n".join(parts)


def files_of(root, build, version, description):
    """Path in the wheel → (content, executable)."""
    data, info = f"ddpprof-{version}.data", f"ddpprof-{version}.dist-info"
    work = build / "stripped"
    files = {}
    for path in sorted((root / "python/ddpprof").rglob("*")):
        if path.suffix in (".py", ".typed"):
            files[path.relative_to(root / "python").as_posix()] = (path.read_bytes(), False)
    for source, place in ((build / "bin/ddpprof", f"{data}/scripts/ddpprof"),
                          (build / "lib/libddpprof-tracer.so", f"{data}/data/lib/libddpprof-tracer.so")):
        files[place] = (stripped(source, build / "symbols" / (source.name + ".debug"), work / source.name), True)
    worker = build / "bin/ddpprof-worker"
    files[WORKER] = (stripped(worker, build / "symbols/ddpprof-worker.debug", work / worker.name, SHARED | OF_TORCH), True)
    for path in sorted((root / "python/injected").glob("*.py")):
        files[f"{data}/data/lib/ddpprof-python/{path.name}"] = (path.read_bytes(), False)
    files[f"{data}/data/lib/ddpprof-python/bench/comm.py"] = ((root / "python/bench/comm.py").read_bytes(), False)
    for path in sorted((build / "share").rglob("*")):  # completions of the shells, manual pages
        if path.is_file():
            files[f"{data}/data/share/{path.relative_to(build / 'share').as_posix()}"] = (path.read_bytes(), False)
    files[f"{info}/METADATA"] = (metadata(root, version, description).encode(), False)
    files[f"{info}/licenses/LICENSE"] = ((root / "LICENSE").read_bytes(), False)
    files[f"{info}/licenses/THIRD-PARTY"] = (third_party().encode(), False)
    return files


def write(path, files, info, platform):
    wheel = f"Wheel-Version: 1.0\nGenerator: ddpprof\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
    files = {**files, f"{info}/WHEEL": (wheel.encode(), False)}
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, content, executable):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            archive.writestr(entry, content)

        for name, (content, executable) in files.items():
            add(name, content, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
        add(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode(), False)


def audited(path):
    """auditwheel's answer about the wheel, and the tag that it states."""
    answer = run(sys.executable, "-m", "auditwheel", "show", str(path))
    found = re.search(r'following platform tag:\s+"(\w+)"', answer)
    return answer, found and found.group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    version, description = project(given.root)
    files = files_of(given.root, given.build, version, description)
    info = f"ddpprof-{version}.dist-info"
    draft = given.build / f"ddpprof-{version}-py3-none-linux_x86_64.whl"
    # Without the worker: torch's libraries are in no manylinux policy. stripped() has checked what it needs.
    write(draft, {name: file for name, file in files.items() if name != WORKER}, info, "linux_x86_64")
    answer, tag = audited(draft)
    os.remove(draft)
    (given.build / "auditwheel.txt").write_text(answer)
    if tag is None or not re.fullmatch(r"manylinux_2_\d+_x86_64", tag):
        sys.exit(f"make_wheel: auditwheel states no manylinux tag:\n{answer}")
    if int(tag.split("_")[2]) > int(TARGET.split("_")[2]):
        sys.exit(f"make_wheel: auditwheel allows {tag} at best, the target is {TARGET}:\n{answer}")
    wheel = given.out / f"ddpprof-{version}-py3-none-{TARGET}.whl"
    write(wheel, files, info, TARGET)
    size = wheel.stat().st_size
    if size > LARGEST_BYTES:
        sys.exit(f"make_wheel: {wheel} has {size} bytes, the limit is {LARGEST_BYTES}")
    print(f"{wheel}\n{size / 2**20:.1f} MiB, {sum(len(content) for content, _ in files.values()) / 2**20:.1f} MiB installed, {TARGET}")


if __name__ == "__main__":
    main()
