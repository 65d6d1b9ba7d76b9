#!/usr/bin/env python3
"""test_parity.py's comparison for models of real size: too long for every change, so its output is committed.

    DDPPROF_WORKER=build/dev/bin/ddpprof-worker tests/oracle/full_parity.py [--workers 1,2] [MODEL]…

Run it with the interpreter of the torch wheel. Prints a Markdown table; exits with 1 when a bucket differs, a gradient of
the first step differs by more than 1e-6, a loss of the 20 steps by more than 1e-5 or a buffer after them by more than
1e-4, or when the losses stand still.
"""

import argparse
import pathlib
import sys
import tempfile

import test_parity as parity
from worker_runs import RankDump, run_ranks

MODELS = {
    "gpt2 124M": dict(model=dict(kind="gpt", layers=12, heads=12, width=768, vocabulary=50257, positions=1024,
                                 sequence=32), loss="cross_entropy", batch=1, optimizer=dict(kind="adamw"), rate=1e-4),
    "bert-base": dict(model=dict(kind="bert", layers=12, heads=12, width=768, vocabulary=30522, positions=512,
                                 sequence=32), loss="cross_entropy", batch=1, optimizer=dict(kind="adamw"), rate=1e-4),
    "resnet50 25.6M, 224 px": dict(model=dict(kind="resnet50", classes=1000, image_size=224), loss="cross_entropy", batch=2,
                         optimizer=dict(kind="sgd", momentum=0.9), rate=0.01),
    "recommender 51M": dict(model=dict(kind="recommender", tables=8, rows=100000, embedding=64, dense=13, hidden=256),
                            loss="bce", batch=128, rate=0.05),
    "mlp 4.7M": dict(model=dict(kind="mlp", widths=[1024, 1536, 1536, 512, 10]), loss="cross_entropy", batch=64),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--workers", default="1,2")
    arguments = parser.parse_args()
    print("| model | parameters | N | first buckets | rebuilt buckets | gradients, step 0 | steps 1 and 2 | losses, 20 steps "
          "| |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    failed = False
    for name, case in MODELS.items():
        if arguments.models and name not in arguments.models:
            continue
        for workers in map(int, arguments.workers.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                results = parity.run_both({name: case}, workers, folder)[name]
                found = [parity.differences(pathlib.Path(folder) / name, rank, results[rank]) for rank in range(workers)]
                parameters = results[0]["parameter_count"]
                buckets = len(RankDump(pathlib.Path(folder) / name, 0).index["rebuilt_buckets"])
            same = {which: all(one.buckets[which][0] == one.buckets[which][1] for one in found)
                    for which in ("first", "rebuilt")}
            first, later = (max(error for one in found for error, _ in one.gradient_errors[steps])
                            for steps in (slice(0, 1), slice(1, None)))
            losses = max(max(one.loss_errors) for one in found)
            good = (all(same.values()) and first < parity.GRADIENT_LIMIT and losses < parity.LOSS_LIMIT
                    and all(one.buffer_error < parity.BUFFER_LIMIT and one.loss_range > 1e-3 for one in found))
            failed = failed or not good
            print(f"| {name} | {parameters:,} | {workers} | {'identical' if same['first'] else 'DIFFER'} | "
                  f"{'identical' if same['rebuilt'] else 'DIFFER'} ({buckets}) | {first:.1e} | {later:.1e} | {losses:.1e} | "
                  f"{'ok' if good else 'FAILED'} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
