# SPDX-License-Identifier: BSD-2-Clause
"""Computes the effect of noise on n nodes: the law of noise, and the slowdown of a step [Tsafrir05 §2.1 Eq.
1-4, §2.4]."""

from __future__ import annotations

import math

import numpy as np

from lab.statistics.delays import Delays
from lab.statistics.errors import StatisticsError

#: The linear law of noise is taken as valid below this relative error [Tsafrir05 §2.1].
LINEAR_ERROR = 0.05


def _checked(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    if not 0 <= probability <= 1:
        raise StatisticsError(f"a probability of {probability:g}; give one from 0 to 1")
    counts = np.asarray(nodes, dtype=np.float64)
    if not (counts >= 1).all():
        raise StatisticsError(f"{counts.min():g} nodes; a job has at least one")
    return counts


def delayed_probability(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    """Returns d_p(n) = 1 - (1 - p)^n: the probability that a step of a job of n nodes is delayed, if the
    nodes are independent and alike [Tsafrir05 Eq. 1]. Exact also for p so small that 1 - p rounds to 1."""
    counts = _checked(probability, nodes)
    if probability == 1:
        return np.ones_like(counts)
    delayed: np.ndarray = -np.expm1(counts * math.log1p(-probability))
    return delayed


def delayed_probability_linear(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    """Returns p n, the linear law of noise [Tsafrir05 Eq. 2]. It exceeds d_p(n) by less than n^2 p^2 / 2 [Eq.
    3-4], a relative error below np/2. Good up to `linear_nodes_max`; beyond 1/p it is not a probability."""
    return probability * _checked(probability, nodes)


def linear_nodes_max(probability: float, relative_error: float = LINEAR_ERROR) -> float:
    """Returns the largest job for which the linear law has at most `relative_error`: n p / 2 <= error, so n =
    2 error / p [Tsafrir05 §2.1; 5 %: p <= 1/(10 n)]. Infinite for p = 0."""
    _checked(probability, 1)
    if not 0 < relative_error < 1:
        raise StatisticsError(f"a relative error of {relative_error:g}; give one between 0 and 1")
    return 2 * relative_error / probability if probability else math.inf


def slowdown(delays: Delays, nodes: np.ndarray | float) -> np.ndarray:
    """Returns E(Y)/G: the mean length of a step of n nodes relative to its grain, where Y is the longest of n
    independent phases drawn from the whole distribution [Tsafrir05 §2.4]. 1 is no slowdown. P(Y <= x) =
    F(x)^n; F is exact at the top, so the sum runs over the steps of F^n."""
    counts = np.atleast_1d(_checked(0.0, nodes))
    above = np.concatenate([np.cumsum(delays.share[::-1])[::-1][1:], [0.0]])
    log_not_above = np.log1p(-np.minimum(above, 1 - 1e-16))
    found = np.empty(len(counts))
    for i, n in enumerate(counts.tolist()):
        steps = np.diff(np.exp(n * log_not_above), prepend=0.0)
        found[i] = 1.0 + float((delays.delay_ns * steps).sum()) / delays.grain_ns
    return found if np.ndim(nodes) else found[0]


def scale_max(delays: Delays, tolerance: float, nodes_max: float = 1e9) -> float:
    """Returns the largest job that is slowed by at most `tolerance` (0.01: 1 %): the largest n with E(Y)/G <=
    1 + tolerance, which rises with n. 0 if even one node is slowed more, infinite if `nodes_max` nodes are
    not. Compare it with `Delays.phases` before you trust a larger n."""
    if not tolerance > 0:
        raise StatisticsError(f"a tolerance of {tolerance:g}; give one above 0")
    if float(slowdown(delays, 1)) > 1 + tolerance:
        return 0.0
    if (
        delays.longest_ns <= tolerance * delays.grain_ns
        or float(slowdown(delays, nodes_max)) <= 1 + tolerance
    ):
        return math.inf
    low, high = 1.0, nodes_max
    while high - low > max(0.5, 1e-9 * low):
        middle = (low + high) / 2
        low, high = (middle, high) if float(slowdown(delays, middle)) <= 1 + tolerance else (low, middle)
    return math.floor(high) if float(slowdown(delays, math.floor(high))) <= 1 + tolerance else math.floor(low)
