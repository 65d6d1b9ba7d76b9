"""Computes the overlap of exported imports with Holistic Trace Analysis (HTA), and compares with ddpprof's values.

second_overlap.py DDPPROF FOLDER: exit code 0 if they agree, 1 if not, 77 (a skipped test) if the package is not
installed in this interpreter (with DDPPROF_COMPLETE=1 this is a failure). A trace of whole microseconds must agree
to the last digit HTA prints. HTA rounds times down to whole microseconds, so measured traces (those of
DDPPROF_DATA_DIR) that have finer ones may differ by HTA's rounding: 1 us at either end of a kernel.
"""

import csv
import json
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

for drawing in ("plotly", "plotly.express", "plotly.graph_objects", "plotly.subplots"):
    try:
        __import__(drawing)
    except ImportError:  # HTA draws with it, and nothing is drawn here
        sys.modules[drawing] = mock.MagicMock()
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
try:
    from hta.trace_analysis import TraceAnalysis
except ImportError as error:
    print(f"skipped: {error}; install HolisticTraceAnalysis==0.5.0 in this interpreter's environment")
    sys.exit(1 if os.environ.get("DDPPROF_COMPLETE") == "1" else 77)

program, folder = sys.argv[1], Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
failures = 0


def run(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=100).stdout


def whole_microseconds():
    """Two steps, each with 150 us of all-reduce, of which 105 overlap with kernels: 70 %."""
    events = []

    def add(name, category, start, duration, tid, **args):
        events.append({"ph": "X", "name": name, "cat": category, "pid": 0 if "stream" in args else 100, "tid": tid,
                       "ts": 1_000_000 + start, "dur": duration, "args": args})

    for step, begin in enumerate((0, 1000)):
        add(f"ProfilerStep#{step}", "user_annotation", begin, 900, 100)
        for i, (name, start, duration, stream) in enumerate((("gemm", 100, 150, 7), ("gemm", 260, 55, 7),
                                                             ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 200, 150, 20))):
            add("cudaLaunchKernel", "cuda_runtime", begin + 10 + i * 20, 10, 100, correlation=step * 10 + i + 1)
            add(name, "kernel", begin + start, duration, stream, device=0, stream=stream, correlation=step * 10 + i + 1)
    path = folder / "whole.json"
    path.write_text(json.dumps({"traceEvents": events}))
    # gemm: 100..250 and 260..315; all-reduce: 200..350; both: 200..250 and 260..315.
    return path, 100 * (50 + 55) / 150, 0.005


def compare(source, expected_percent, tolerance):
    global failures
    database, trace = folder / "overlap.db", folder / f"{source.name.split('.')[0]}-export.json"
    run("import", source, "--out", database, "--overwrite", "-q")
    run("export", database, "--format", "chrome", "--out", trace)
    table = [row for row in csv.DictReader(run("report", database, "--report", "overlap", "--rule", "hta", "--format",
                                               "csv").splitlines()) if row["window"] == "all"]
    ours = 100 * float(table[0]["overlapped_share"])
    analysis = TraceAnalysis(trace_files={0: str(trace)}, trace_dir=str(folder), include_last_profiler_step=True)
    theirs = float(analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0])
    counter, last = [0, 0, 0], None
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "C":
            if last:
                counter = [c + level * (event["ts"] - last["ts"]) for c, level in zip(counter, last["args"].values())]
            last = event
    of_counter = 100 * counter[1] / (counter[1] + counter[2])
    print(f"{source.name}: HTA {theirs} %, ours {ours:.4f} %, of the counter {of_counter:.4f} %")
    wrong = [abs(theirs - ours) > tolerance, abs(of_counter - ours) > 1e-4,
             expected_percent is not None and abs(ours - expected_percent) > 1e-9]
    if any(wrong):
        print(f"WRONG: expected {expected_percent} %, HTA within {tolerance} of ours", wrong)
        failures += 1


compare(*whole_microseconds())
data = os.environ.get("DDPPROF_DATA_DIR")
if data:
    if os.environ.get("DDPPROF_LONG_TESTS"):
        compare(Path(data) / "traces" / "v100_ddp_rank1of2.json.gz", 0.0, 0.005)  # whole microseconds, nothing hidden
    compare(Path(data) / "traces" / "a100_ddp_rank0of2.json.gz", None, 0.5)
sys.exit(1 if failures else 0)
