"""Lets an older ddpprof write its databases and print its reports of them.

    write.py PROGRAM FOLDER

PROGRAM: the command line of an older commit. FOLDER: gets sweep.db.gz, a measured sweep, and, from the version on that imports
traces, import.db.gz; and for each what PROGRAM prints of it. DDPPROF_WORKER_PROGRAM and DDPPROF_TRACER_LIBRARY name the
ranks' programs: LibTorch is slow to compile, and a shard has the same layout in all versions.
"""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TRACES = HERE.parent.parent / "analysis/import/cases/data/kineto_blocking_gloo_all_reduces_after_backward"
REPORTS = ["steps", "phases", "collectives", "overlap", "skew", "efficiency", "comm"]


def pack(path, content):
    with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(content)


def write(program, database, folder):
    printed = {}
    for report in REPORTS:
        done = subprocess.run([program, "report", database, "--report", report, "--format", "json"], capture_output=True,
                              text=True, timeout=120, check=True)
        printed[report] = json.loads(done.stdout)
    pack(folder / f"{database.stem}.db.gz", database.read_bytes())
    pack(folder / f"{database.stem}.reports.json.gz", json.dumps(printed).encode())


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        sweep = work / "sweep.db"
        subprocess.run([program, "run", HERE / "sweep.yaml", "--out", sweep], timeout=300, check=True)
        write(program, sweep, folder)
        traces = []
        for packed in sorted(TRACES.glob("rank*.json.gz")):
            traces.append(work / packed.name)
            traces[-1].write_bytes(packed.read_bytes())
        imported = work / "import.db"
        done = subprocess.run([program, "import", *traces, "--out", imported], timeout=300)
        if done.returncode == 0:
            write(program, imported, folder)
        elif imported.exists():
            sys.exit("write.py: the import failed and left a database")


if __name__ == "__main__":
    main(*sys.argv[1:])
