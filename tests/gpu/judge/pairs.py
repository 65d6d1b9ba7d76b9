"""Ratios of paired measurements: their median and an interval of it."""

import math
import statistics


def median_interval(values, confidence=0.95):
    """(low, median, high, what the interval covers): order statistics of the binomial; the whole range where there are
    too few values for the confidence, which the last number then says. Raises ValueError without values."""
    values = sorted(values)
    n = len(values)
    if n == 0:
        raise ValueError("no pairs")
    below, chosen, covers = 0.0, 1, 1 - 2 * 0.5**n
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1) * 0.5**n
        if 1 - 2 * below < confidence:
            break
        chosen, covers = k, 1 - 2 * below
    return values[chosen - 1], statistics.median(values), values[n - chosen], max(0.0, covers)
