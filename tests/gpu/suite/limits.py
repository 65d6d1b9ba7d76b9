"""Time limits of the suite.

A machine with a GPU runs one command of at most 600 s, so each list of parts must fit into LIST_S. On a CPU the limits
of parts and jobs are longer: the suite's own tests run beside other tests there.
"""

LIST_S = 480  # most that the limits of one list may add up to, start-up and warm-up included; default of --limit-s
ALL_LISTS_S = 570  # default of --limit-s if all lists or some parts run
STARTUP_S = 90  # the checks before the first part share this: a new machine reads 2 to 4 GB of libraries from its disk
RESERVE_S = 15.0  # a job's limit ends at least this long before its part's limit: time to collect evidence
LEAST_S = RESERVE_S + 10  # a part is not started if less is left: its jobs have at least 10 s
EVIDENCE_S = 20.0  # most time for the evidence of one hang
END_S = 5.0  # a process that SIGKILL has not ended by then is stuck in the kernel
LAST_S = EVIDENCE_S + END_S + 2  # what a part that hangs may take after its limit
DUMP_S = 4.0  # a Python job prints the stacks of its threads so long before its limit
CPU_FACTOR = 2

# The part's moment to end (seconds of time.monotonic(), which all processes of a machine share), set by
# suite.part_process.
PART_DEADLINE = "GPU_SUITE_PART_DEADLINE"
# The moment at which a Python job prints the stacks of its threads, set by suite.job, read by jobs/stacks.py.
DUMP_AT = "GPU_SUITE_DUMP_AT"


def for_device(device, seconds):
    """The limit on this device (cuda or cpu)."""
    return seconds if device == "cuda" else seconds * CPU_FACTOR
