"""Builds the wheels with scripts/wheel and installs them into clean environments."""
import subprocess
import sys
import time
import unittest

from package import FOLDER, environment

ROOT = FOLDER.parent.parent


def run(*words, timeout=300, check=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def clean_variables():
    """This process's environment without variables of the build and of Python."""
    variables = environment()
    del variables["PYTHONPATH"]
    return {name: value for name, value in variables.items() if not name.startswith("DDPPROF_")}


def build_wheels(folder, *options, setup=""):
    """Runs scripts/wheel. Skips the test if this machine cannot fetch Debian's sources."""
    variables = environment(DDPPROF_TORCH_PYTHON=sys.executable, DDPPROF_SETUP=setup)
    del variables["PYTHONPATH"]
    started_s = time.monotonic()
    made = run(ROOT / "scripts/wheel", *options, "--out", folder, timeout=1700, env=variables, check=False)
    if made.returncode == 69:
        raise unittest.SkipTest("this machine cannot fetch Debian's sources: " + made.stderr[-1000:])
    if made.returncode != 0:
        raise AssertionError(f"scripts/wheel ended with {made.returncode}:\n{made.stdout}\n{made.stderr}")
    print(f"scripts/wheel: {time.monotonic() - started_s:.0f} s", file=sys.stderr)


def make_environment(folder, *wheels):
    """Installs wheels into a new virtual environment, without a package index. Returns the environment's folder."""
    run(sys.executable, "-m", "venv", folder)
    if wheels:
        run(folder / "bin/pip", "install", "--no-index", *wheels, env=clean_variables())
    return folder
