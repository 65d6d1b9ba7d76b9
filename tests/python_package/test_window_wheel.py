"""The wheel ddpprof-gui of scripts/wheel --window: it brings its own Qt, and opens on a display and without one."""
import contextlib
import os
import re
import shutil
import struct
import subprocess
import time
import unittest
import zipfile
import zlib

from package import synthetic_database, temporary_folder
from wheels import build_wheels, clean_variables, make_environment, run

LARGEST_BYTES = 60 << 20
OF_SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libexpat.so.1", "ld-linux-x86-64.so.2",
             "libpthread.so.0", "libdl.so.2", "librt.so.1"}

# Qt loads cursor themes with the machine's library, if there is one.
OF_CURSORS = {"libXcursor.so.1", "libXrender.so.1", "libXfixes.so.3"}


def picture(path):
    """Width, height and the number of different rows of a PNG picture."""
    content = path.read_bytes()
    width, height, depth, colours = struct.unpack(">IIBB", content[16:26])
    data, at = b"", 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at:at + 4])
        if content[at + 4:at + 8] == b"IDAT":
            data += content[at + 8:at + 8 + length]
        at += length + 12
    rows = zlib.decompress(data)
    row = 1 + width * depth // 8 * {2: 3, 6: 4}[colours]
    return width, height, len({rows[i:i + row] for i in range(0, len(rows), row)})


def files_in_use(process, prefix, timeout_s=60):
    """Waits until a process has mapped a file whose name begins with `prefix`; returns all libraries that it has mapped."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s and process.poll() is None:
        with open(f"/proc/{process.pid}/maps") as maps:
            files = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/") > 0}
        if any(os.path.basename(file).startswith(prefix) for file in files):
            return {file for file in files if ".so" in os.path.basename(file)}
        time.sleep(0.1)
    raise AssertionError(f"{prefix} was not loaded within {timeout_s} s")


class WindowWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls)
        build_wheels(cls.folder, "--window", setup="window")
        (cls.wheel,) = cls.folder.glob("ddpprof_gui-*.whl")
        (program,) = cls.folder.glob("ddpprof-*.whl")
        cls.venv = make_environment(cls.folder / "venv", program, cls.wheel)
        cls.window = cls.venv / "bin/ddpprof-gui"
        cls.database = synthetic_database(cls.folder)
        cls.clean = {name: value for name, value in clean_variables().items()
                     if not name.startswith("QT_") and name not in ("DISPLAY", "WAYLAND_DISPLAY", "LD_LIBRARY_PATH")}
        cls.clean.update(XDG_RUNTIME_DIR=str(cls.folder), XDG_CONFIG_HOME=str(cls.folder / "settings"))

    @classmethod
    def addCleanup(cls, *arguments, **options):  # temporary_folder() serves tests and this class
        cls.addClassCleanup(*arguments, **options)

    @contextlib.contextmanager
    def display(self):
        """A display without a screen; gives the variables with which programs use it."""
        if shutil.which("Xvfb") is None:
            if os.environ.get("DDPPROF_COMPLETE") == "1":
                self.fail("Xvfb is missing, which scripts/setup.sh installs")
            self.skipTest("Xvfb is not installed")
        reading, writing = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
                                  pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writing)
        try:
            with os.fdopen(reading) as number:
                yield {**self.clean, "DISPLAY": ":" + number.readline().strip()}
        finally:
            server.terminate()
            server.wait(timeout=20)

    def test_its_name_states_the_systems_and_it_is_small(self):
        self.assertRegex(self.wheel.name, r"^ddpprof_gui-\d+\.\d+\.\d+-py3-none-manylinux_2_35_x86_64\.whl$")
        self.assertLess(self.wheel.stat().st_size, LARGEST_BYTES)

    def test_all_its_libraries_come_from_the_wheel(self):
        for file in [self.window, *(self.venv / "lib/ddpprof-gui").rglob("*.so*")]:
            # With the machine's libraries first: neither they nor their folder must win.
            listed = run("ldd", file, env={**self.clean, "LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu"}).stdout
            for name, path in re.findall(r"^\s*(\S+) => (\S+|not found)", listed, re.MULTILINE):
                if name not in OF_SYSTEM:
                    self.assertTrue(os.path.realpath(path).startswith(str(self.venv.resolve())), f"{file}: {name} => {path}")
            self.assertNotIn("RUNPATH", run("objdump", "-p", file).stdout, file)

    def test_a_running_window_uses_no_other_qt(self):
        for platform, variables in (("libqoffscreen", {**self.clean, "QT_QPA_PLATFORM": "offscreen"}), ("libqxcb", None)):
            with contextlib.ExitStack() as stack:
                variables = variables or stack.enter_context(self.display())
                process = subprocess.Popen([self.window, self.database], env=variables, stderr=subprocess.DEVNULL)
                stack.callback(process.wait, 20)
                stack.callback(process.terminate)
                used = files_in_use(process, platform)
            self.assertGreater(len(used), 20)
            outside = {re.sub(r"(\.so\.\d+)\..*", r"\1", os.path.basename(file)) for file in used
                       if not file.startswith(str(self.venv.resolve()))}
            self.assertLessEqual(outside, OF_SYSTEM | OF_CURSORS, platform)

    def test_it_draws_a_page_on_a_display(self):
        with self.display() as variables:
            done = run(self.window, self.database, "--page", "Scaling", "--size", "1280x800", "--save", self.folder / "x.png",
                       env=variables)
        self.assertEqual(done.stderr, "")
        width, height, rows = picture(self.folder / "x.png")
        self.assertEqual((width, height), (1280, 800))
        self.assertGreater(rows, 200)  # an empty page has a few

    def test_ddpprof_gui_starts_it(self):
        with self.display() as variables:
            process = subprocess.Popen([self.venv / "bin/ddpprof", "gui", self.database], env=variables,
                                       stderr=subprocess.DEVNULL)
            try:
                self.assertIn(str((self.venv / "lib/ddpprof-gui/plugins/platforms/libqxcb.so").resolve()),
                              files_in_use(process, "libqxcb"))
            finally:
                process.terminate()
                process.wait(timeout=20)

    def test_help_and_version_need_no_display(self):
        self.assertIn("--page", run(self.window, "--help", env=self.clean).stdout)
        self.assertRegex(run(self.window, "--version", env=self.clean).stdout, r"^ddpprof-gui \d+\.\d+\.\d+\n$")

    def test_it_has_the_licences_of_what_it_contains(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
            (licences,) = [name for name in names if name.endswith("licenses/THIRD-PARTY")]
            head, text = archive.read(metadata).decode(), archive.read(licences).decode()
        self.assertIn("License-Expression: GPL-3.0-only\n", head)
        for library in ("libqcustomplot", "libqt6core6", "libqt6gui6", "libqt6widgets6", "libicu72", "libxcb1", "libharfbuzz0b",
                        "fonts-dejavu-core", "libcsv-dev", "libceres-dev"):
            self.assertRegex(text, rf"(?m)^{library}[\w.:-]* \S+, source package \S+ \S+$")
        for name in ("GPL-3", "LICENSE", "common-licenses/LGPL-3"):
            self.assertTrue(any(one.endswith("licenses/" + name) for one in names), name)
        for name in re.findall(r"^License-File: (.+)$", head, re.MULTILINE):
            self.assertTrue(any(one.endswith("licenses/" + name) for one in names), name)


if __name__ == "__main__":
    unittest.main()
