"""How much slower compute is beside copies that load the same memory."""

from judge.pairs import median_interval
from suite.figures import figure, nothing_in
from suite.ranks import told

TITLE = "Compute beside communication's load"
LIMIT_S = 45


def measure(machine, folder):
    machine.run(machine.job("contention.py", machine.device, 10 if machine.cuda else 1, folder / "told.json"))
    found = told(folder / "told.json")
    low, median, high, covers = median_interval(beside / alone for alone, beside in found["pairs_ns"])
    # Work that shares a device cannot speed it up: a ratio well below 1 shows that the load did not run.
    goal = {"at_least": 0.98} if machine.cuda else {}
    return [figure("pairs", len(found["pairs_ns"]), at_least=8),
            figure("products' time beside copies over alone, median", round(median, 4),
                   note=f"{covers:.0%} interval {low:.4f} to {high:.4f}", **goal),
            nothing_in("runs whose copies ended before the products", ["run"] * found["uncovered"])]
