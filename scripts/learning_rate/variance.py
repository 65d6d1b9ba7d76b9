"""Does the variance of the averaged gradient fall as 1 / N? At fixed weights, with samples drawn with replacement.

The weights stand still because the rate is 1e-30, below what a weight's last bit can show. `sampling: balanced` draws
with replacement, each class as often as any other, so the true gradient is that of the weighted training set, which is
computed here. E |g_N|^2 - |G|^2 is the variance of the mean over N ranks; for N = 1 the ranks' own gradients stand.
"""

import math
import statistics

import torch

from runs import WARMUP_STEPS, network, query, samples

RATE = 1e-30


def true_gradient_sqr(digits, checkpoint):
    images, classes = samples(digits, "train")
    model = network(checkpoint).double()
    weights = (1.0 / torch.bincount(classes).double())[classes]
    loss = torch.nn.functional.cross_entropy(model(images.double()), classes, reduction="none")
    ((loss * weights).sum() / weights.sum()).backward()
    return sum(parameter.grad.square().sum() for parameter in model.parameters()).item()


def slope_of(points):
    """Least squares of log variance over log N."""
    x, y = [math.log(count) for count, _ in points], [math.log(value) for _, value in points]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x))


def measure(tools, digits, workers, steps):
    """The slope, and (N, variance) for each of `workers`."""
    points, alone = [], []
    for count in workers:
        if count == 1:
            continue
        name = f"variance-N{count}-{steps}"
        database = tools.run(name, {
            "workers": f"[{count}]", "workload.accumulation": 1, "workload.data.sampling": "balanced",
            "learning_rate.base": RATE, "learning_rate.apply": "false", "measure.gradient_noise_every": 1,
            "measure.steps": steps, "measure.warmup_steps": WARMUP_STEPS})
        exact = true_gradient_sqr(digits, tools.work / name / "kept" / f"ddp-{count}.pt")
        whole = query(database, "SELECT AVG(gradient_sqr) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE "
                                "sh.rank = 0 AND st.kind = 'measured'")[0][0]
        points.append((count, whole - exact))
        alone.append(query(database, "SELECT AVG(local_gradient_sqr) FROM step WHERE kind = 'measured'")[0][0] - exact)
    if 1 in workers:
        points.insert(0, (1, statistics.mean(alone)))
    return slope_of(points), points
