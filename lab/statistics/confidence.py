# SPDX-License-Identifier: BSD-2-Clause
"""Confidence intervals: their form, the quantiles of distributions that they need, and what a silence proves.

    sums over measured time (noise ratio, rate)       sums.py
    quantiles of lengths, the longest in T seconds    order.py
    differences of two nodes, many nodes              differences.py
    effect on a job: p, slowdown, largest job         intervals.py

A bootstrap that draws blocks of equal time misses all of these: its percentile interval has no Student factor
and takes no account of skewness; blocks cut a periodic series at changing places, so that it has the width 0
or too large a one; and no resample holds what the data lack (the maximum, a heavy tail). `tools/lab coverage`
counts how often each interval holds the true value. An interval that cannot be had is refused by
StatisticsError, which says what would do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from lab.statistics.errors import StatisticsError

CONFIDENCE = 0.95
NORMAL = NormalDist()
#: Degrees of freedom from which on Student's distribution counts as normal.
NORMAL_FROM = 2_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval. `remark` is empty, or says why the interval is wider than it has to be
    ("conservative: …")."""

    low: float
    high: float
    confidence: float
    remark: str = ""

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def confidence_checked(confidence: float) -> float:
    """Returns the confidence; StatisticsError unless it is between 0 and 1."""
    if not 0 < confidence < 1:
        raise StatisticsError(f"a confidence of {confidence:g}; give one between 0 and 1, such as 0.95")
    return confidence


@lru_cache(maxsize=1024)
def student(confidence: float, freedom: int) -> float:
    """Returns the half-width of Student's two-sided interval, in standard errors, for `freedom` degrees of
    freedom, from 1 on; from NORMAL_FROM on that of the normal distribution."""
    confidence_checked(confidence)
    if freedom < 1:
        raise StatisticsError(f"{freedom} degrees of freedom; an interval needs at least 2 values")
    if freedom >= NORMAL_FROM:
        return NORMAL.inv_cdf((1 + confidence) / 2)
    low, high = 0.0, math.pi / 2
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, freedom) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _student_inside(angle: float, freedom: int) -> float:
    """Returns the probability that |t| is below sqrt(freedom) tan(angle), by the finite sum for whole degrees
    of freedom [Abramowitz, Stegun: Handbook of Mathematical Functions, 26.7.3-4]."""
    square, odd = math.cos(angle) ** 2, freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= square * (k - 1) / k
    inside = math.sin(angle) * total
    return 2 / math.pi * (angle + inside) if odd else inside


def binomial_below(count: int, share: float) -> tuple[int, np.ndarray]:
    """Returns (first, below): below[i] is the probability that a binomial variable of `count` trials with
    probability `share` is at most first + i. What is left out on both sides is below 1e-15."""
    mean, deviation = count * share, math.sqrt(count * share * (1 - share))
    first = max(0, math.floor(mean - 9 * deviation - 20))
    last = min(count, math.ceil(mean + 9 * deviation + 20))
    k = np.arange(first, last)
    steps = np.log(count - k) - np.log(k + 1.0) + math.log(share) - math.log1p(-share)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    mass = np.exp(logs - logs.max())
    return first, np.cumsum(mass / mass.sum())


def silent_rate_max(span_ns: float, confidence: float = CONFIDENCE) -> float:
    """Returns the highest rate, per second, at which no detour in `span_ns` still has the probability 1 -
    confidence: -ln(1 - confidence) / span for independent detours (95 %: three in the measured time). This is
    all that a silence proves."""
    if not span_ns > 0 or not 0 < confidence < 1:
        raise StatisticsError(
            f"{span_ns:g} ns of silence at a confidence of {confidence:g}; give a positive time, and a "
            "confidence between 0 and 1"
        )
    return -math.log1p(-confidence) * 1e9 / span_ns


def few_rate_max(count: int, span_ns: float, confidence: float = CONFIDENCE) -> float:
    """Returns the highest rate, per second, at which at most `count` detours in `span_ns` still have the
    probability 1 - confidence, for independent detours [F. Garwood: Fiducial limits for the Poisson
    distribution, Biometrika 28 (1936)]. For none this is `silent_rate_max`."""
    low, high = 0.0, silent_rate_max(1e9, confidence) + 4 * count + 20
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        terms = np.cumprod(np.concatenate([[math.exp(-middle)], middle / np.arange(1, count + 1)]))
        low, high = (middle, high) if terms.sum() > 1 - confidence else (low, middle)
    return high * 1e9 / span_ns
