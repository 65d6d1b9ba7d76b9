"""Functions of both wheels: checked files, licences, the archive, and auditwheel's answer."""
import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

LARGEST_BYTES = 60 << 20
# Libraries that each file may link dynamically: glibc and the unwinder, which every system with glibc has.
SHARED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# The newest versions of symbols that a target allows.
NEWEST = {
    "manylinux_2_34_x86_64": {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)},
    "manylinux_2_35_x86_64": {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)},
}
# The libraries that the programs contain: Debian packages whose copyright files go into the wheel.
LINKED_PACKAGES = ("libceres-dev", "libcli11-dev", "libcsv-dev", "libeigen3-dev", "libfmt-dev", "libsimdjson-dev",
                   "libsqlite3-dev", "libsqlitecpp-dev", "libssl-dev", "libstdc++-12-dev", "libyaml-cpp-dev", "libzstd-dev",
                   "nlohmann-json3-dev", "zlib1g-dev")
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every file, so that the same build gives the same wheel
COMMON_LICENSES = Path("/usr/share/common-licenses")


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def project(root):
    """The version and the description in CMakeLists.txt."""
    text = (root / "CMakeLists.txt").read_text()
    return (re.search(r"project\(\S+ VERSION (\S+)", text).group(1), re.search(r'DESCRIPTION "([^"]+)"', text).group(1))


def check_needs(file, target, shared):
    """Ends the program if a file links a library that is not in `shared`, or a version that the target does not have."""
    linked = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", file)))
    if not linked <= shared:
        sys.exit(f"make_wheel: {file.name} links {', '.join(sorted(linked - shared))}; this file of a wheel may link only "
                 f"{', '.join(sorted(shared))}")
    for line in run("objdump", "-T", file).splitlines():
        version = re.search(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", line)
        if version and tuple(map(int, version.group(2).split("."))) > NEWEST[target][version.group(1)]:
            sys.exit(f"make_wheel: {file.name} needs {version.group(0)}, which {target} does not have: {line}")


def stripped(source, symbols, copy, target, shared=frozenset(SHARED)):
    """Copies a program or a library without its symbols, which go beside it for debuggers. Checks what it needs."""
    symbols.parent.mkdir(parents=True, exist_ok=True)
    copy.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", source, symbols)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={symbols}", source, copy)
    check_needs(copy, target, shared)
    return copy.read_bytes()


def third_party(heading, packages):
    """The licences of the libraries, as Debian states them: path below licenses/ → content."""
    parts = [heading]
    for package in packages:
        facts = run("dpkg-query", "-W", "-f=${Version}, source package ${source:Package} ${source:Version}", package)
        parts.append(f"{'=' * 100}\n{package} {facts}\n{'=' * 100}\n"
                     + Path("/usr/share/doc", package.split(":")[0], "copyright").read_text(errors="replace"))
    text = "\n".join(parts)
    files = {"THIRD-PARTY": text.encode()}
    for name in sorted(set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))):
        if (COMMON_LICENSES / name).is_file():
            files[f"common-licenses/{name}"] = (COMMON_LICENSES / name).read_bytes()
    return files


def with_licenses(files, info, licenses, metadata):
    """Adds METADATA, which lists the licences as its format requires, and the licences."""
    lines = "".join(f"License-File: {name}\n" for name in licenses)
    files[f"{info}/METADATA"] = (metadata.replace("License-File:\n", lines).encode(), False)
    for name, content in licenses.items():
        files[f"{info}/licenses/{name}"] = (content, False)


def write(path, files, info, platform):
    """Writes a wheel. `files`: path in the wheel → (content, executable)."""
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


def check_audit(files, info, name, build, target):
    """Asks auditwheel for the oldest systems that the files run on. Ends the program if `target` is older."""
    draft = build / f"{name}-py3-none-linux_x86_64.whl"
    write(draft, files, info, "linux_x86_64")
    answer = run(sys.executable, "-m", "auditwheel", "show", draft)
    os.remove(draft)
    (build / f"auditwheel-{name.split('-')[0]}.txt").write_text(answer)
    tag = re.search(r'following platform tag:\s+"(manylinux_2_\d+_x86_64)"', answer)
    if not tag:
        sys.exit(f"make_wheel: auditwheel states no manylinux tag:\n{answer}")
    if int(tag.group(1).split("_")[2]) > int(target.split("_")[2]):
        sys.exit(f"make_wheel: auditwheel allows {tag.group(1)} at best, the target is {target}:\n{answer}")


def finish(files, info, name, out, target):
    """Writes the wheel into `out`, prints its path and size. Ends the program if it is too large."""
    wheel = out / f"{name}-py3-none-{target}.whl"
    write(wheel, files, info, target)
    size = wheel.stat().st_size
    if size > LARGEST_BYTES:
        sys.exit(f"make_wheel: {wheel} has {size} bytes, the limit is {LARGEST_BYTES}")
    print(f"{wheel}\n{size / 2**20:.1f} MiB, {sum(len(content) for content, _ in files.values()) / 2**20:.1f} MiB installed, {target}")
