"""The Python package of this source tree, with the program of this build."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
PACKAGE = FOLDER.parent.parent / "python"
sys.path.insert(0, str(PACKAGE))
sys.path.append(str(FOLDER.parent / "oracle"))  # tiers
PROGRAM = os.environ["DDPPROF_PROGRAM"]


def temporary_folder(test):
    folder = pathlib.Path(tempfile.mkdtemp())
    test.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder


def synthetic_database(folder):
    path = folder / "made.db"
    subprocess.run([os.environ["DDPPROF_SYNTHETIC"], path], check=True, timeout=60)
    return path


def environment(**more):
    """This process's environment with the package, without variables of other jobs."""
    without = {"OMP_NUM_THREADS", "DDPPROF_PYTHON_DIR", "RANK", "WORLD_SIZE"}
    return {**{name: value for name, value in os.environ.items() if name not in without}, "PYTHONPATH": str(PACKAGE), **more}
