"""What a client states of itself: one line of JSON on the standard output of rank 0."""
import json
import time


class StepClock:
    """The client's own clock. A step lasts from the end of one optimizer step to the end of the next."""

    def __init__(self):
        self.ends_s = []

    def step_ended(self):
        self.ends_s.append(time.perf_counter())

    def durations_s(self):
        return [end - begin for begin, end in zip(self.ends_s, self.ends_s[1:])]


def print_facts(clock, parameters, world_size, batch, accumulation=1, ddp=None, **more):
    """`batch` is of one rank and one backward. `ddp` is the DistributedDataParallel that sends the buckets."""
    facts = {"world_size": world_size, "batch": batch, "accumulation": accumulation, "steps": len(clock.ends_s),
             "parameter_count": sum(p.numel() for p in parameters),
             "parameter_bytes": sum(p.numel() * p.element_size() for p in parameters), **more}
    if ddp is not None:
        log = ddp._get_ddp_logging_data()  # with find_unused_parameters, DDP keeps its first buckets
        sizes = log.get("rebuilt_bucket_sizes") or log["bucket_sizes"]
        facts["buckets"] = sorted(int(size) for size in sizes.split(","))
    print("facts", json.dumps({**facts, "step_s": clock.durations_s()}), flush=True)
