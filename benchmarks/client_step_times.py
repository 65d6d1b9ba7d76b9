"""Compares the step time that ddpprof reports for a client of tests/clients with the client's own clock without ddpprof.

    client_step_times.py [--pairs 7] [CLIENT]…       prints a Markdown table

DDPPROF_PROGRAM is the program, DDPPROF_CLIENTS_PYTHON the interpreter of the environment with the clients' packages. A pair
is one job without ddpprof and one under `ddpprof run --workers 2`, one after the other, in alternating order. Both times are
medians over the same steps. The ratio is that of a pair, so that a slow minute of the machine affects both of its jobs. The
last column compares ddpprof's time with the client's clock in the same job, which other load on the machine cannot change.
"""
import argparse
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "clients"))
from clients import CLIENTS

PROGRAM = os.environ["DDPPROF_PROGRAM"]
STEPS, FIRST, LAST = 72, 10, 69  # steps of a job, and the window: steps 10 to 48 are timed without the profiler
TIMED = (FIRST, 48)
WORKERS = 2
LIMIT_S = 600


def run(client, command, folder):
    for file, text in client.files.items():
        (folder / file).write_text(text)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    done = subprocess.run(command, cwd=folder, env={**environment, **client.environment}, capture_output=True, text=True,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{client.name}: {command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def command_of(client, workers):
    return [word.replace("{workers}", workers) for word in client.command()] + ["--steps", str(STEPS)]


def own_clock_s(output):
    """Returns the median step by the client's clock. Entry k - 1 of its list ends with step k."""
    steps = json.loads(re.search(r"facts (\{.*\})", output)[1])["step_s"]
    return statistics.median(steps[TIMED[0] - 1:TIMED[1] - 1])


def alone_s(client, folder):
    return own_clock_s(run(client, command_of(client, str(WORKERS)), folder).stdout)


def reported_s(client, folder):
    """Returns the median step that ddpprof stores, as means over the ranks, and the client's own in the same job."""
    run(client, [PROGRAM, "run", "--workers", str(WORKERS), "--steps", f"{FIRST}-{LAST}", "--out", "job.db", "--",
                 *command_of(client, "{workers}")], folder)
    with sqlite3.connect(folder / "job.db") as database:
        steps = database.execute("SELECT AVG(duration_ns) * 1e-9 FROM step WHERE kind = 'untraced' GROUP BY step").fetchall()
    if len(steps) != TIMED[1] - TIMED[0] + 1:
        sys.exit(f"{client.name}: {len(steps)} steps without the profiler, not {TIMED[1] - TIMED[0] + 1}")
    stored = statistics.median(step[0] for step in steps)
    return stored, own_clock_s((folder / "job.db.d" / f"n{WORKERS}-r0" / "output.log").read_text())


def pairs_of(client, count):
    """Returns (alone, reported, own clock in the job of `reported`) for each pair."""
    pairs = []
    for number in range(count):
        with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as traced:
            if number % 2:
                reported, same = reported_s(client, pathlib.Path(traced))
                alone = alone_s(client, pathlib.Path(plain))
            else:
                alone = alone_s(client, pathlib.Path(plain))
                reported, same = reported_s(client, pathlib.Path(traced))
        pairs.append((alone, reported, same))
        print(f"{client.name}: {alone * 1e3:.2f} ms alone, {reported * 1e3:.2f} ms reported, {same * 1e3:.2f} ms by the "
              "client's clock in that job", file=sys.stderr, flush=True)
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("clients", nargs="*", default=[client.name for client in CLIENTS])
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("--pairs: quartiles need at least two pairs")
    print("| client | pairs | alone [ms] | reported [ms] | ratio, median | ratio, quartiles | same job: ratio, median |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for client in CLIENTS:
        if client.name not in options.clients:
            continue
        pairs = pairs_of(client, options.pairs)
        ratios = [reported / alone for alone, reported, _ in pairs]
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        alone, reported, _ = (statistics.median(side) * 1e3 for side in zip(*pairs))
        print(f"| {client.name} | {len(pairs)} | {alone:.2f} | {reported:.2f} | {statistics.median(ratios):.3f} | "
              f"{low:.3f} to {high:.3f} | {statistics.median(stored / own for _, stored, own in pairs):.3f} |", flush=True)


if __name__ == "__main__":
    main()
