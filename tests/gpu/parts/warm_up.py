"""Loads torch's libraries, the driver and NCCL once, so that the first measured part does not start cold."""

from suite.figures import figure
from suite.ranks import told

TITLE = "Warm-up"
LIMIT_S = 50


def measure(machine, folder):
    machine.run(machine.job("warm_up.py", machine.device, folder / "told.json"))
    found = told(folder / "told.json")
    load_s, product_s, group_s = found["seconds"]
    return [figure("matrix product of ones of size 256", found["product"], equals=256.0),
            figure("all-reduce of one rank's ones", found["all_reduced"], equals=1.0),
            figure("import of torch", load_s, "s"), figure("first matrix product", product_s, "s"),
            figure("process group and first all-reduce", group_s, "s")]
