"""What N workers do to a training: the digits at every worker count, batch and rule, with three seeds.

    experiment.py WORK [--quick]

Prints Markdown tables and writes pictures (SVG) into WORK. A run that is there already is not run again. The
environment: DDPPROF_PROGRAM (default build/dev/bin/ddpprof), DDPPROF_DIGITS (a folder with MNIST's four files, of images of
any size and ten classes).
"""

import argparse
import collections
import math
import os
import pathlib
import statistics
import sys

import pictures
import variance
from runs import BASE_BATCH, BATCH, EPOCHS, WARMUP_STEPS, Tools, accuracy, default_program, losses, read_idx, steps_of

RULES = {"linear": dict(rule="linear", warmup=5), "linear, no warm-up": dict(rule="linear", warmup=0),
         "square root": dict(rule="sqrt", warmup=5), "unscaled": dict(rule="none", warmup=0),
         "AdaScale": dict(rule="adascale", warmup=0)}
POINT = 0.01  # of accuracy: what the rule may not lose

Case = collections.namedtuple("Case", "workers accumulation rule seed epochs")


def batch_of(case):
    return case.workers * case.accumulation * BATCH


def base_steps(samples, epochs):
    return round(epochs * samples / BASE_BATCH)


def train(tools, case, samples):
    rule = RULES[case.rule]
    # AdaScale ends by itself, after as many steps at most as the base batch takes.
    steps = base_steps(samples, case.epochs) if rule["rule"] == "adascale" else steps_of(
        case.workers, case.accumulation, samples, case.epochs)
    name = f"N{case.workers}-A{case.accumulation}-{rule['rule']}-{rule['warmup']}-s{case.seed}-e{case.epochs}"
    database = tools.run(name, {
        "workers": f"[{case.workers}]", "workload.accumulation": case.accumulation, "workload.seed": case.seed,
        "workload.data.seed": case.seed, "learning_rate.rule": rule["rule"],
        "learning_rate.warmup_epochs": min(rule["warmup"], case.epochs), "learning_rate.epochs": case.epochs,
        "measure.steps": steps - WARMUP_STEPS})
    return database, tools.work / name / "kept" / f"ddp-{case.workers}.pt"


def spread(values):
    return (max(values) - min(values)) / 2


def cell(values):
    good = [value for value in values if value is not None]
    if not good:
        return "diverged"
    text = f"{100 * statistics.mean(good):.1f} ± {100 * spread(good):.1f}"
    return text if len(good) == len(values) else f"{text} ({len(values) - len(good)} diverged)"


def check_rates(tools, database):
    """The plan was trained: what the trace has, beside what the scenario asked for. Returns the row that says so."""
    (row,) = tools.answer(database, "--workers", 1)["trained_rates"]
    if row["unlike_steps"] != 0 or row["unchecked_steps"] != 0:
        raise SystemExit(f"{database}: {row['unlike_steps']} steps took another rate than planned, "
                         f"{row['unchecked_steps']} could not be checked")
    return row


def noise_of(tools, seeds, epochs, samples):
    """The base batch's training once more, by eight ranks of two samples, whose gradients say more than two of eight: the
    measured noise scale, and the light of each multiple of the batch."""
    ranks, part = 8, BASE_BATCH // 8
    scales, lights, shares = [], collections.defaultdict(list), collections.defaultdict(list)
    for seed in seeds:
        database = tools.run(f"noise-s{seed}-e{epochs}", {
            "workers": f"[{ranks}]", "workload.batch_per_worker": part, "workload.accumulation": 1, "workload.seed": seed,
            "workload.data.seed": seed, "learning_rate.rule": "none", "learning_rate.warmup_epochs": 0,
            "learning_rate.epochs": epochs, "measure.gradient_noise_every": 1,
            "measure.steps": round(epochs * math.ceil(samples / ranks) / part) - WARMUP_STEPS})
        kappas = [2 ** power for power in range(7)]
        answer = tools.answer(database, "--workers", ",".join(str(ranks * kappa) for kappa in kappas))
        (noise,) = answer["gradient_noise"]
        scales.append((noise["noise_scale_samples"], noise["noise_scale_low_samples"], noise["noise_scale_high_samples"],
                       noise["moving_samples"]))
        for row in answer["large_batches"]:
            kappa = row["workers"] // ranks
            lights[kappa].append((row["linear_rule"], row["efficiency"]))
            shares[kappa].append((row["steps_share"], row["steps_share_low"], row["steps_share_high"]))
    return scales, lights, shares


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("--quick", action="store_true", help="two worker counts, one seed, three epochs")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    if "DDPPROF_DIGITS" not in os.environ:
        raise SystemExit("DDPPROF_DIGITS is not set: expected the folder of the digits; source scripts/setup.sh")
    digits = pathlib.Path(os.environ["DDPPROF_DIGITS"])
    tools = Tools(default_program(), root / "scenarios" / "digits.yaml", digits, options.work)
    samples = read_idx(digits / "train-labels-idx1-ubyte").numel()
    workers, accumulations = ((1, 2), (2,)) if options.quick else ((1, 2, 4, 8), (2, 16))
    seeds, epochs = ((1,), 3) if options.quick else ((1, 2, 3), EPOCHS)

    found, curves, adapted = collections.defaultdict(list), {}, collections.defaultdict(list)
    for accumulation in accumulations:
        for count in workers:
            for rule in RULES:
                for seed in seeds:
                    case = Case(count, accumulation, rule, seed, epochs)
                    database, checkpoint = train(tools, case, samples)
                    key = (accumulation, count, rule)
                    found[key].append(None if database is None else accuracy(digits, checkpoint))
                    print(f"{key} seed {seed}: {found[key][-1]}", file=sys.stderr, flush=True)
                    if database is None:
                        continue
                    trained = check_rates(tools, database)
                    if rule == "AdaScale":
                        adapted[accumulation, count].append(trained["steps"])
                    if seed == 1:
                        curves[batch_of(case), accumulation, rule] = (losses(database), epochs)

    base = (accumulations[0], 1, "unscaled")
    scales, lights, shares = noise_of(tools, seeds, epochs, samples)
    print("### Noise scale of the base batch's trainings\n\n| seed | noise scale [samples] | 90 % interval | moving average "
          "at the end |\n|---|---|---|---|")
    for seed, values in zip(seeds, scales):
        shown = [("no end" if value is None else f"{value:.0f}") for value in values]
        print(f"| {seed} | {shown[0]} | {shown[1]} to {shown[2]} | {shown[3]} |")

    reference = statistics.mean(found[base])
    print("\n### Accuracy on the test images\n\n| global batch | κ | N × accumulation | " + " | ".join(RULES) +
          " | efficiency | expected | linear loses |\n|---|---|---|" + "---|" * len(RULES) + "---|---|---|")
    for accumulation in accumulations:
        for count in workers:
            batch = count * accumulation * BATCH
            kappa = batch // BASE_BATCH
            linear = [value for value in found[accumulation, count, "linear"] if value is not None]
            lost = reference - statistics.mean(linear) if linear else math.inf
            light = collections.Counter(word for word, _ in lights[kappa]).most_common(1)[0][0]
            efficiency = statistics.median(value for _, value in lights[kappa])
            verdict = "all" if math.isinf(lost) else f"{100 * lost:+.1f}" + (" (broken)" if lost > POINT else "")
            print(f"| {batch} | {kappa} | {count} × {accumulation} | " +
                  " | ".join(cell(found[accumulation, count, rule]) for rule in RULES) +
                  f" | {efficiency:.2f} | {light} | {verdict} |")

    base, wanted = base_steps(samples, epochs), len(seeds)
    print(f"\n### AdaScale: steps to the end of a training of {base} base steps\n\n| global batch | κ | N × accumulation | "
          "steps | epochs | mean gain | steps by the noise scale |\n|---|---|---|---|---|---|---|")
    for accumulation in accumulations:
        for count in workers:
            batch, steps = count * accumulation * BATCH, adapted[accumulation, count]
            if len(steps) != wanted:
                continue  # the table above says that some diverged
            share = [statistics.median(values) for values in zip(*shares[batch // BASE_BATCH])]
            mean = statistics.mean(steps)
            print(f"| {batch} | {batch // BASE_BATCH} | {count} × {accumulation} | {mean:.0f} ± {spread(steps):.0f} | "
                  f"{mean * batch / samples:.0f} | {base / mean:.2f} | {base * share[0]:.0f} ({base * share[1]:.0f} to "
                  f"{base * share[2]:.0f}) |")

    slope, points = variance.measure(tools, digits, (1, 2, 4) if options.quick else (1, 2, 4, 8),
                                     steps=200 if options.quick else 400)
    print("\n### Variance of the averaged gradient\n\n| N | samples | variance | × N |\n|---|---|---|---|")
    for count, value in points:
        print(f"| {count} | {count * BATCH} | {value:.4g} | {value * count:.4g} |")
    print(f"\nSlope on logarithmic axes: {slope:.3f}")

    pictures.errors(pathlib.Path(options.work) / "errors.svg", found, RULES, workers, accumulations, BATCH, lights,
                      BASE_BATCH)
    pictures.losses(pathlib.Path(options.work) / "losses.svg", curves, RULES)
    pictures.variance(pathlib.Path(options.work) / "variance.svg", points, slope)


if __name__ == "__main__":
    main()
