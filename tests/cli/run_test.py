#!/usr/bin/env python3
"""Complete runs of the real program: the files of `ddpprof run`, and its messages if a rank dies, stops or is ended.

    run_test.py --program DDPPROF --scenarios FOLDER --build FOLDER [unittest's arguments]
"""
import argparse
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))
from tiers import LONG, long_test  # noqa: E402: found by the line above

PROGRAM = Path()
SCENARIOS = Path()
BUILD = Path()
QUICK = ["--set", "measure.warmup_steps=3", "--set", "measure.steps=12", "--set", "measure.repeats=1",
         "--set", "measure.until_ci_percent=null"]


def run(*arguments, timeout=120):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def processes_of(run_folder):
    """Pids of workers whose command line names the run's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(run_folder) in command and "ddpprof-worker" in command:
                found.append(int(entry.name))
    return found


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    return condition()


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.database = self.path / "run.db"

    def query(self, sql):
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def test_reference_workloads_are_measured_fitted_and_exported(self):
        names = ("linear-1024-10-adam", "linear-10-1-dp", "linear-10-1-ddp", "linear-10-2-ddp", "mnist-mlp")
        for name in names[:5 if LONG else 2]:
            with self.subTest(scenario=name):
                chrome, tables = self.path / f"{name}.json", self.path / f"{name}-csv"
                result = run("run", SCENARIOS / f"{name}.yaml", "--out", self.database, "--overwrite", "--workers", "1,2,4",
                             *QUICK, "--set", f"output.chrome={chrome}", "--set", f"output.csv={tables}")
                self.assertEqual(result.returncode, 0, result.stderr)
                strategies = {row[0] for row in self.query("SELECT DISTINCT strategy FROM measurement")}
                self.assertEqual(self.query("SELECT DISTINCT status FROM measurement"), [("ok",)])
                for strategy in strategies:
                    self.assertEqual(self.query(f"SELECT DISTINCT world_size FROM measurement WHERE strategy = '{strategy}' "
                                                "ORDER BY 1"), [(1,), (2,), (4,)])
                # 12 measured steps on every rank: N ranks under DDP, one process under DataParallel.
                counted = self.query(
                    "SELECT m.strategy, m.world_size, sh.rank, count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id "
                    "JOIN measurement m ON m.id = sh.measurement_id WHERE st.kind = 'measured' GROUP BY 1, 2, 3")
                expected = sorted((strategy, n, rank, 12) for strategy in strategies for n in (1, 2, 4)
                                  for rank in range(n if strategy == "ddp" else 1))
                self.assertEqual(sorted(counted), expected)
                self.assertEqual(self.query("SELECT message FROM diagnostic WHERE severity = 'error'"), [])
                self.assertGreater(self.query("SELECT count(*) FROM prediction")[0][0], 0)
                self.assertIn("Steps, measured and predicted", result.stdout)
                with chrome.open() as file:
                    self.assertGreater(len(json.load(file)["traceEvents"]), 100)
                with (tables / "step.csv").open(newline="") as file:
                    rows = list(csv.reader(file))
                self.assertEqual(len(rows) - 1, self.query("SELECT count(*) FROM step")[0][0])

    def test_a_runs_exports_are_not_imported(self):
        result = run("run", SCENARIOS / "linear-10-2-ddp.yaml", "--out", self.database, "--workers", "2", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(self.query("SELECT COUNT(*) FROM range")[0][0], 100)
        for form in ("csv", "chrome"):
            with self.subTest(format=form):
                exported = self.path / f"exported-{form}"
                result = run("export", self.database, "--format", form, "--out", exported)
                self.assertEqual(result.returncode, 0, result.stderr)
                result = run("import", exported, "--out", self.path / f"again-{form}")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("is an export of ddpprof", result.stderr)

    def test_logger_agrees_with_the_recorded_launches_and_waits(self):
        """c10d::Logger's communication time runs from the first bucket's launch to the last wait and copy back; it
        samples the first ten iterations. Tolerance: 5 % or 0.3 ms, its own clock reads and the autograd engine's tail."""
        result = run("run", SCENARIOS / "mlp-wide.yaml", "--out", self.database, "--workers", "2", *QUICK,
                     "--set", "strategies=[ddp]", "--set", "measure.unwrapped=false")
        self.assertEqual(result.returncode, 0, result.stderr)
        logged = json.loads((self.path / "run.db.d" / "ddp-n2-r0" / "result-0.json").read_text())["logger"]
        recorded = dict(self.query(
            "SELECT st.step, st.start_ns + p.start_ns + p.duration_ns - min(c.launch_ns) FROM step st "
            "JOIN shard sh ON sh.id = st.shard_id AND sh.rank = 0 JOIN phase p ON p.step_id = st.id AND p.name = 'backward' "
            "JOIN collective c ON c.step_id = st.id AND c.bucket >= 0 GROUP BY st.id"))
        differences = []
        for entry in logged:
            step = entry["iteration"] - 1
            if step in recorded and entry["iteration"] <= 10:
                differences.append(abs(recorded[step] - entry["backward_comm_ns"]) /
                                   max(0.05 * entry["backward_comm_ns"], 300e3))
        self.assertGreaterEqual(len(differences), 5, logged)
        self.assertLessEqual(sorted(differences)[len(differences) // 2], 1.0, differences)

    def start_long_run(self, *more):
        process = subprocess.Popen(
            [str(PROGRAM), "run", str(SCENARIOS / "mnist-mlp.yaml"), "--out", str(self.database), "--workers", "1,2",
             "--set", "strategies=[ddp]", "--set", "measure.repeats=1",
             "--set", "measure.until_ci_percent=null", *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        rank = wait_until(lambda: [pid for pid in processes_of(self.path / "run.db.d" / "ddp-n2-r0")
                                   if b"result-1.json" in Path(f"/proc/{pid}/cmdline").read_bytes()], 60)
        self.assertTrue(rank, "rank 1 of N = 2 never started")
        return process, rank[0]

    def wait_for_step(self, name="ddp-n2-r0", rank=1):
        status = self.path / "run.db.d" / name / f"rank-{rank}.status"  # StatusPage: int32, int32, int64 step
        self.assertTrue(wait_until(lambda: status.exists() and
                                   int.from_bytes(status.read_bytes()[8:16], "little", signed=True) > 20, 60))

    def check_failed_run(self, process, seconds, *expected):
        _, messages = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, 4, messages)
        for text in expected:
            self.assertIn(text, messages)
        self.assertEqual(wait_until(lambda: not processes_of(self.path) and "none", 5), "none", "a rank outlived its run")
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])
        # N = 1, measured before the fault, is complete. The recorded part of the failed measurement is kept too.
        self.assertEqual(self.query("SELECT status FROM measurement WHERE world_size = 1"), [("ok",)])
        self.assertEqual(self.query("SELECT status FROM measurement WHERE world_size = 2"), [("partial",)])
        self.assertGreater(self.query("SELECT count(*) FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m "
                                      "ON m.id = sh.measurement_id WHERE m.world_size = 2 AND sh.rank = 1")[0][0], 10)
        self.assertEqual(run("report", self.database).returncode, 0)

    @long_test
    def test_killed_rank(self):
        process, rank = self.start_long_run("--set", "measure.steps=6000")
        self.wait_for_step()
        os.kill(rank, signal.SIGKILL)
        self.check_failed_run(process, 30, "Rank 1 was killed by SIGKILL in step")
        self.assertEqual(self.query("SELECT count(*) FROM diagnostic WHERE code = 'unclosed_shard'")[0][0] > 0, True)

    @long_test
    def test_stopped_rank(self):
        process, rank = self.start_long_run("--set", "measure.steps=6000", "--set", "measure.timeout_s=3")
        self.wait_for_step()
        os.kill(rank, signal.SIGSTOP)
        self.check_failed_run(process, 40, "Rank 1 is stopped (SIGSTOP) in step", "No progress for 3 s")

    @long_test
    def test_interrupted_run(self):
        process, _ = self.start_long_run("--set", "measure.steps=6000")
        self.wait_for_step()
        process.send_signal(signal.SIGINT)
        self.check_failed_run(process, 30, "nterrupted")

    @long_test
    def test_killed_launcher_leaves_no_rank(self):
        process, _ = self.start_long_run("--set", "measure.steps=6000")
        self.wait_for_step()
        process.kill()
        process.wait()
        self.assertEqual(wait_until(lambda: not processes_of(self.path) and "none", 10), "none")
        self.assertEqual(self.query("SELECT status FROM measurement"), [("ok",)])  # the journal rolled back to N = 1

    def test_progress_for_programs_is_a_line_of_json_each(self):
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--workers", "1,2", *QUICK,
                     "--set", "strategies=[ddp]", "--set", "measure.steps=400", "--progress", "json-lines")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith('{"progress"')]
        measuring = [line for line in lines if line["progress"] == "measuring"]
        self.assertEqual(lines[-1], {"progress": "concluding", "configuration": 2, "configurations": 2})
        self.assertEqual([(line["configuration"], line["workers"], line["activity"], line["steps"])
                          for line in measuring if line["activity"] == "starting" and line["steps"] is None][0],
                         (1, 1, "starting", None))
        self.assertEqual({(line["configuration"], line["workers"]) for line in measuring}, {(1, 1), (2, 2)})
        for line in measuring:
            self.assertEqual((line["strategy"], line["repeat"], line["configurations"]), ("ddp", 0, 2))
            self.assertGreaterEqual(line["step"], 0)
        quiet = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--overwrite", "--workers", "1", *QUICK,
                    "--set", "strategies=[ddp]", "--progress", "json-lines", "-q")
        self.assertNotIn('"progress"', quiet.stderr)

    @long_test
    def test_untraced_run_has_step_times_and_says_what_is_missing(self):
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--workers", "1,2", *QUICK,
                     "--set", "strategies=[ddp]", "--set", "measure.trace=false")
        self.assertIn(result.returncode, (0, 5), result.stderr)
        self.assertEqual(self.query("SELECT count(*) FROM step WHERE kind = 'measured' AND duration_ns > 0"), [(36,)])
        self.assertEqual(self.query("SELECT count(*) FROM diagnostic WHERE code = 'untraced'"), [(2,)])

    @long_test
    def test_conditions_of_the_host_are_recorded_with_each_measurement(self):
        # 400 steps: the measured part is long enough for ticks of 10 ms on most machines.
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--workers", "1,2", *QUICK,
                     "--set", "measure.steps=400", "--set", "measure.unwrapped=false")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.query("SELECT m.strategy, m.world_size, h.ranks, h.window_ns, h.cpus, h.ranks_share, h.steal_share, "
                          "h.voluntary_switches, h.load_begin, m.wall_ns FROM host_condition h "
                          "JOIN measurement m ON m.id = h.measurement_id ORDER BY 1, 2")
        self.assertEqual([row[:3] for row in rows], [("ddp", 1, 1), ("ddp", 2, 2), ("dp", 1, 1), ("dp", 2, 1)])
        for _, _, _, window, cpus, ranks, steal, waits, load, wall in rows:
            self.assertTrue(0 < window < wall)
            self.assertEqual(cpus, os.cpu_count())
            self.assertTrue(0 < ranks <= 1)
            self.assertTrue(0 <= steal <= 1)
            self.assertGreaterEqual(waits, 0)
            self.assertGreaterEqual(load, 0)
        report = json.loads(run("report", self.database, "--report", "conditions", "--format", "json").stdout)
        tables = {table["name"]: table["rows"] for table in report["tables"]}
        self.assertEqual(len(tables["conditions"]), 4)
        self.assertEqual([row["steps"] for row in tables["stability"]], [400] * 4)

    def test_warmup_is_found_and_all_ranks_agree_on_it(self):
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--workers", "1,2", *QUICK,
                     "--set", "measure.warmup_steps=auto", "--set", "measure.unwrapped=false")
        self.assertEqual(result.returncode, 0, result.stderr)
        counted = self.query("SELECT m.strategy, m.world_size, sh.rank, count(*) FROM step st JOIN shard sh "
                             "ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
                             "WHERE st.kind = 'warmup' GROUP BY 1, 2, 3")
        steps = {key[:3]: key[3] for key in counted}
        self.assertEqual(steps["ddp", 2, 0], steps["ddp", 2, 1])
        for (strategy, _, _), count in steps.items():
            structural = 3 if strategy == "ddp" else 1
            # Blocks of ten after them, then three; at most 100 in all.
            self.assertTrue(count == 100 or (count - structural - 3) % 10 == 0, (strategy, count))
            self.assertTrue(structural + 13 <= count <= 100, (strategy, count))
        self.assertEqual(self.query("SELECT count(*) FROM step WHERE kind = 'measured'"), [(12 * 5,)])
        unsettled = {row[0] for row in self.query("SELECT measurement_id FROM diagnostic WHERE code = 'warmup_unsettled'")}
        long = {row[0] for row in self.query(
            "SELECT sh.measurement_id FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE st.kind = 'warmup' "
            "GROUP BY sh.id HAVING count(*) = 100")}
        self.assertLessEqual(unsettled, long)  # reported only for measurements that reached the limit

    def test_doctor_says_what_can_be_measured_here(self):
        result = run("doctor", "--format", "json", "--folder", self.path)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        tables = {table["name"]: table["rows"] for table in json.loads(result.stdout)["tables"]}
        can = {row["what"]: row["can"] for row in tables["abilities"]}
        self.assertTrue(can["DDP over Gloo on the CPU"])
        self.assertTrue(can["DataParallel on the CPU"])
        found = {row["what"]: row for row in tables["checks"]}
        self.assertRegex(found["ddpprof-worker"]["found"], r"LibTorch \d+\.\d+.*backends gloo")
        self.assertEqual(found["tracer"]["verdict"], "good", found["tracer"])
        self.assertEqual(found["loopback"]["verdict"], "good", found["loopback"])

    def test_a_data_loader_is_recorded_and_exported(self):
        chrome = self.path / "trace.json"
        result = run("run", SCENARIOS / "input-bound.yaml", "--out", self.database, "--workers", "1", *QUICK,
                     "--set", "workload.data.loader_threads=2", "--set", f"output.chrome={chrome}",
                     "--set", "workload.data.samples=640", "--set", "workload.data.set_epoch=false", "--full")
        self.assertIn(result.returncode, (0, 5), result.stderr)  # with one N the data may be too few for a prediction
        # 12 measured steps of one batch each. Batches prefetched before the first step count with earlier steps.
        loads = self.query("SELECT count(*) FROM phase WHERE name = 'load_batch' AND lane IN (-1, -2)")[0][0]
        self.assertGreater(loads, 4)
        self.assertEqual(self.query("SELECT count(*) FROM phase WHERE name = 'load_batch' AND lane >= 0"), [(0,)])
        self.assertEqual(self.query("SELECT message FROM diagnostic WHERE severity = 'error'"), [])
        self.assertEqual(self.query("SELECT count(*) FROM diagnostic WHERE code = 'set_epoch_forgotten'"), [(1,)])
        self.assertIn("set_epoch_forgotten", result.stdout)
        with chrome.open() as file:
            events = json.load(file)["traceEvents"]
        names = {event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertLessEqual({"loader 0", "loader 1"}, names)
        self.assertEqual(len([event for event in events if event["name"] == "load_batch" and event["cat"] == "phase"]), loads)

    def test_data_that_is_not_there_costs_no_run(self):
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--set", "workload.data.source=mnist",
                     "--set", f"workload.data.path={self.path}", "--set", "workload.data.samples=null")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("has no MNIST files; expected train-images-idx3-ubyte", result.stderr)
        self.assertEqual(list(self.path.iterdir()), [])

    @long_test
    def test_data_that_does_not_fit_is_the_scenarios_mistake(self):
        for name in ("inputs.pt", "targets.pt"):
            (self.path / name).write_text("no tensor")
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--workers", "1", *QUICK,
                     "--set", "workload.data.source=tensors", "--set", f"workload.data.path={self.path}")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("inputs.pt: cannot be loaded", result.stderr)

    def test_several_batches_are_measured_and_give_strong_scaling(self):
        command = ["run", SCENARIOS / "linear-10-2-ddp.yaml", "--out", self.database, "--workers", "1,2", *QUICK,
                   "--set", "workload.batch_per_worker=64", "--set", "measure.batches=[32, 64, 128]"]
        plan = run(*command, "--dry-run")
        self.assertIn("batch 32, 64, 128 per worker", plan.stdout)
        rows = [line.split() for line in plan.stdout.splitlines() if line.strip().startswith(tuple("123456"))]
        self.assertEqual([(row[2], row[3]) for row in rows if row[1] == "ddp"],
                         [(n, batch) for n in ("1", "2") for batch in ("64", "32", "128")])
        # Interrupted in the fourth of six measurements, then continued.
        with subprocess.Popen([str(PROGRAM), *map(str, command), "--progress", "json-lines"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            lines = []
            for line in process.stderr:
                if line.startswith('{"progress":"measuring"'):
                    lines.append(json.loads(line))
                    if lines[-1]["configuration"] == 4:
                        process.send_signal(signal.SIGINT)
                        break
            process.stderr.read()
            self.assertEqual(process.wait(timeout=120), 4)
        self.assertEqual({line["batch_per_worker"] for line in lines}, {32, 64, 128})
        kept = self.query("SELECT id FROM measurement WHERE status = 'ok'")
        self.assertEqual(len(kept), 3)
        result = run(*command, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.query("SELECT id FROM measurement WHERE status = 'ok' ORDER BY id")[:3], kept)
        self.assertEqual(self.query("SELECT world_size, batch_per_worker, status FROM measurement ORDER BY id"),
                         [(n, batch, "ok") for n in (1, 2) for batch in (64, 32, 128)])
        # Every measurement has steps of its own batch.
        self.assertEqual(self.query("SELECT DISTINCT m.batch_per_worker = st.samples FROM step st JOIN shard sh ON "
                                    "sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id"), [(1,)])
        text = run("predict", self.database, "--workers", "1,2,4,8", "--format", "json").stdout
        predicted = json.loads(text)
        strong = next((table for table in predicted["tables"] if table["name"] == "strong_predictions"), None)
        if strong is None:  # on a busy machine the fits may refuse the steps, with the reason
            self.assertIn("not usable", text + run("report", self.database, "--report", "fit").stdout)
            return
        self.assertEqual([(row["workers"], row["global_batch"], row["batch_per_worker"]) for row in strong["rows"]],
                         [(1, 128, 128), (2, 128, 64), (4, 128, 32), (8, 128, 16)])
        self.assertIn("outside of the measured batches, 32 to 128", strong["rows"][3]["note"])
        for row in strong["rows"][:3]:
            # A fit that noise contradicts is refused with its reason, never guessed.
            if row["note"]:
                self.assertIn("the fit of the measured batches is not usable", row["note"])
                continue
            self.assertLessEqual(row["step_low_s"], row["step_s"])
            self.assertLessEqual(row["step_s"], row["step_high_s"])
        report = json.loads(run("report", self.database, "--report", "efficiency", "--format", "json").stdout)
        reported = next(table for table in report["tables"] if table["name"] == "strong_predictions")
        known = {row["workers"]: row for row in strong["rows"]}
        for row in reported["rows"]:
            if row["workers"] in known:
                self.assertEqual(row, known[row["workers"]])

    def test_dry_run_measures_nothing(self):
        result = run("run", SCENARIOS / "resnet18.yaml", "--out", self.database, "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("resnet18", result.stdout)
        self.assertEqual(list(self.path.iterdir()), [])

    def test_an_existing_database_is_not_overwritten_unasked(self):
        self.database.write_text("notes of the user")
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, *QUICK)
        self.assertEqual(result.returncode, 2)
        self.assertIn("exists", result.stderr)
        result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, "--overwrite", *QUICK)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(self.database.read_text(), "notes of the user")

    def test_a_folder_beside_the_database_that_is_not_ours_is_left_alone(self):
        folder = self.path / "run.db.d"
        folder.mkdir()
        (folder / "precious").write_text("mine")
        for more in ([], ["--overwrite"]):
            result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, *QUICK, *more)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual((folder / "precious").read_text(), "mine")
        self.assertFalse(self.database.exists())

    def test_a_bad_output_path_is_found_before_anything_is_measured(self):
        for key in ("output.chrome=/no/such/folder/x.json", f"output.csv={__file__}"):
            result = run("run", SCENARIOS / "mnist-mlp.yaml", "--out", self.database, *QUICK, "--set", key)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(key.split("=")[0], result.stderr)
            self.assertFalse(self.database.exists())

    def test_more_ranks_than_memory_holds_are_refused(self):
        result = run("bench-comm", "--workers", "1024", "--out", self.database)
        with open("/proc/meminfo") as file:
            available_kib = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
        if available_kib > 1024 * 209 * 1024:
            self.skipTest("this machine holds 1024 ranks")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("GiB of memory", result.stderr)

    def test_a_tracer_that_does_not_attach_is_an_error_and_keeps_the_step_times(self):
        environment = dict(os.environ, DDPPROF_TRACER_LIBRARY="/lib/x86_64-linux-gnu/libm.so.6")
        subprocess.run([str(PROGRAM), "run", str(SCENARIOS / "mnist-mlp.yaml"), "--out", str(self.database), "--workers", "1,2",
                        *QUICK, "--set", "strategies=[ddp]"], capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(self.query("SELECT count(*) FROM step WHERE kind = 'measured' AND duration_ns > 0"), [(36,)])
        self.assertEqual(self.query("SELECT severity FROM diagnostic WHERE code = 'untraced'"), [("error",)] * 2)

    @long_test
    def test_bench_comm_prints_sizes_and_bus_bandwidth(self):
        result = run("bench-comm", "--workers", "2", "--out", self.database, "--format", "csv", "--device", "cpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        sizes = [row[0] for row in self.query("SELECT DISTINCT bytes FROM comm_point ORDER BY 1")]
        self.assertEqual((sizes[0], sizes[-1]), (1024, 256 << 20))
        self.assertIn("busbw", result.stdout)
        # nccl-tests' definition: at N = 2 an all-reduce's busbw is its algbw.
        rows = list(csv.DictReader(line for line in result.stdout.splitlines() if line and not line.startswith("#")))
        algbw = next(name for name in rows[0] if name.startswith("algbw"))
        busbw = next(name for name in rows[0] if name.startswith("busbw"))
        for row in rows:
            self.assertAlmostEqual(float(row[algbw]), float(row[busbw]), delta=1e-9 * float(row[algbw]))


    def test_an_installed_tree_finds_its_own_parts(self):
        prefix = self.path / "installed"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)], check=True, capture_output=True, timeout=120)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.path)}
        result = subprocess.run([str(prefix / "bin" / "ddpprof"), "run", str(SCENARIOS / "mnist-mlp.yaml"), "--out",
                                 str(self.database), "--workers", "1,2", *QUICK], capture_output=True, text=True, timeout=120,
                                env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.query("SELECT count(*) FROM diagnostic WHERE severity = 'error'"), [(0,)])
        self.assertGreater(self.query("SELECT count(*) FROM collective")[0][0], 0)  # so the tracer was found too


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--scenarios", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    ours, rest = parser.parse_known_args()
    PROGRAM, SCENARIOS, BUILD = ours.program.resolve(), ours.scenarios.resolve(), ours.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
