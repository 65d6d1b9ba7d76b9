"""The table device_time against unions and intersections of the raw events, made anew in Python."""

from judge.overlap import FIELDS, device_time
from suite import trace
from suite.figures import Skip, figure, nothing_in

TITLE = "Overlap by intersection"
LIMIT_S = 65


def differences(database):
    """(compared windows, ["window: column: stored, reckoned", …]) of every window of every shard with raw events."""
    compared, wrong = 0, []
    for process in trace.processes(database):
        for name, start_ns, span_ns, *stored in trace.rows(
                database, f"SELECT name, start_ns, span_ns, {', '.join(FIELDS)} FROM device_time WHERE shard_id = ? "
                "ORDER BY start_ns", process.shard):
            compared += 1
            reckoned = device_time(process.kernels, process.copies, start_ns, start_ns + span_ns)
            wrong += [f"rank {process.rank}, {name}: {field}: {value}, {reckoned[field]}"
                      for field, value in zip(FIELDS, stored) if value != reckoned[field]]
    return compared, wrong


def measure(machine, folder):
    if not machine.cuda:
        raise Skip("a CPU has no device events; imported traces of GPUs are checked in the tests")
    common = ["--device", "cuda", "--ddp", "nccl", "--one-gpu", "--steps", 10, "--width", 2048, "--layers", 6,
              "--bucket-mb", 20, "--copy", "--told"]
    for name, job in (("one", machine.job("step.py", *common, folder / "one.json", "--average")),
                      ("two", machine.ranks(2, "step.py", *common, folder / "two.json"))):
        machine.record(folder / f"{name}.db", job)
        compared, wrong = differences(folder / f"{name}.db")
        yield figure(f"{name}: windows compared", compared, at_least=10)
        yield nothing_in(f"{name}: columns that differ", wrong)
    communicated, = trace.rows(folder / "two.db", "SELECT sum(communication_ns), sum(overlapped_ns) FROM device_time "
                               "WHERE name = 'all'")
    yield figure("two: communication", communicated[0], "ns", at_least=1)
    yield figure("two: of it beside compute", communicated[1], "ns")
