# SPDX-License-Identifier: BSD-2-Clause
"""Estimates how heavy the tail of lengths is, because a mean has an interval only if the variance is finite.

Above a high threshold lengths follow a generalised Pareto distribution of some shape xi: 0 for an exponential
tail, below 0 if there is a largest length, 1/alpha for Pareto's alpha. From xi = 1/2 on there is no variance,
and the largest length alone moves the sum, however long one measures.
"""

from __future__ import annotations

import math

import numpy as np

#: The shape from which on there is no variance.
NO_VARIANCE = 0.5
#: The tail is this number of the longest values, in units of the root of all; at most TAIL_MAX.
TAIL_ROOTS = 6
TAIL_MAX = 2_000
#: The least number of values in the tail that are above its threshold.
ABOVE_MIN = 5
#: Values are alike if they differ by less than this part of the tail's width.
ALIKE = 1e-6
#: The shape of a tail without width.
BOUNDED = -1.0


def tail_shape(values: np.ndarray) -> tuple[float, float]:
    """Returns the shape xi of the tail and its standard error, (1 + xi) / sqrt(k) for k values in the tail;
    (inf, 0) if fewer than ABOVE_MIN are above its threshold, because then nothing is known.

    xi is the mean over the posterior of one parameter, which needs no search and exists for every xi [J.
    Zhang, M. A. Stephens: A new and efficient estimation method for the generalized Pareto distribution,
    Technometrics 51 (2009)]."""
    count = min(int(TAIL_ROOTS * math.sqrt(len(values))), TAIL_MAX, len(values) - 1)
    if count < ABOVE_MIN:
        return math.inf, 0.0
    excess = np.sort(np.partition(values, len(values) - count - 1)[len(values) - count - 1 :])
    excess -= excess[0]
    if excess[-1] == 0:
        return BOUNDED, 0.0
    excess = excess[excess > ALIKE * excess[-1]]
    count = len(excess)
    if count < ABOVE_MIN:
        return math.inf, 0.0
    steps = 20 + int(math.sqrt(count))
    quartile = excess[max(int(count / 4 + 0.5) - 1, 0)]
    theta = 1 / excess[-1] + (1 - np.sqrt(steps / (np.arange(1, steps + 1) - 0.5))) / (3 * quartile)
    theta = theta[
        np.abs(theta) * excess[-1] > ALIKE
    ]  # 0 is the exponential tail, which has neighbours enough
    shapes = np.log1p(-theta[:, None] * excess).mean(axis=1)
    likely = count * (np.log(-theta / shapes) - shapes - 1)
    weight = np.exp(likely - likely.max())
    xi = float(np.log1p(-(theta * weight).sum() / weight.sum() * excess).mean())
    return xi, (1 + max(xi, 0.0)) / math.sqrt(count)
