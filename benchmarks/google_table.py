"""Runs one Google Benchmark program five times over and prints the medians as a Markdown table.

    google_table.py PROGRAM

Columns: name, wall and processor time an iteration, their spread (standard deviation over mean, of the wall time), and
every counter the program reports. Exit 1 with the program's own message when it fails or prints no benchmark.
"""

import json
import subprocess
import sys

KNOWN = {
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index",
    "threads", "aggregate_name", "aggregate_unit", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "error_occurred", "error_message", "bytes_per_second",
}
SECONDS = {"per_event"}  # counters that are times


def main() -> int:
    program = sys.argv[1]
    # JSON: the CSV reporter aborts when one benchmark has a counter that the first has not.
    done = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=1800)
    if done.returncode != 0:
        print(f"{program}: exit {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
        return 1
    runs = json.loads(done.stdout)["benchmarks"]
    failed = [run for run in runs if run.get("error_occurred")]
    if failed or not runs:
        reason = failed[0].get("error_message", "an error") if failed else "no benchmark ran"
        print(f"{program}: {reason}", file=sys.stderr)
        return 1
    medians = [run for run in runs if run.get("aggregate_name") == "median"]
    spread = {run["run_name"]: run["real_time"] for run in runs if run.get("aggregate_name") == "cv"}
    counters = sorted({key for run in medians for key in run} - KNOWN)
    heads = [f"{counter} [ns]" if counter in SECONDS else counter for counter in counters]
    print("| " + " | ".join(["benchmark", "wall", "processor", "spread", *heads]) + " |")
    print("|---" * (4 + len(counters)) + "|")
    for run in medians:
        cells = [run["run_name"]]
        cells += [f"{run[key]:,.4g} {run['time_unit']}" for key in ("real_time", "cpu_time")]
        cells.append(f"{100 * spread[run['run_name']]:.1f} %")
        cells += [f"{run[key] * (1e9 if key in SECONDS else 1):,.4g}" if key in run else "" for key in counters]
        print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
