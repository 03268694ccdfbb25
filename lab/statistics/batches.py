# SPDX-License-Identifier: BSD-2-Clause
"""Cuts a measurement into batches of neighbours that are nearly independent.

Detours come in bursts, so neighbours tell less than as many independent ones. Neighbours are put together
until batches are not correlated any more [G. S. Fishman: Grouping observations in digital simulation,
Management Science 24 (1978)]. The correlation is that of ranks, because a few long detours would hide it
[A. Wald, J. Wolfowitz: An exact test for randomness in the non-parametric case based on serial correlation,
Annals of Mathematical Statistics 14 (1943)].
"""

from __future__ import annotations

import math

import numpy as np

#: The number of batches to begin with, and the least.
BATCHES = 64
BATCHES_MIN = 10
#: Batches are correlated if the correlation of neighbours, or the mean of that up to LAGS batches away,
#: exceeds its standard error by this factor.
CORRELATED = 1.645
LAGS = 4
#: Values are alike if they differ by less than this part of the mean: rounding is no noise.
ALIKE = 1e-6


def cuts(length: int, count: int) -> np.ndarray:
    """Returns where `count` batches of nearly equal size begin in `length` values."""
    return np.arange(count) * length // count


def independent_count(*series: np.ndarray) -> tuple[int, bool]:
    """Returns (count, merged): how many batches of these series are independent, and whether neighbouring
    values are correlated. The count is below BATCHES_MIN if there are fewer. Each series has one value per
    detour, in the order of time."""
    count = min(*(len(one) for one in series), BATCHES)
    merged = False
    while count >= BATCHES_MIN and any(_correlation(one, count) > CORRELATED for one in series):
        count, merged = count // 2, True
    return count, merged


def _correlation(values: np.ndarray, count: int) -> float:
    """Returns the correlation of neighbouring batches, in standard errors; 0 if all are alike."""
    cut = cuts(len(values), count)
    means = np.add.reduceat(values, cut) / np.diff(cut, append=len(values))
    scale = float(np.abs(values).mean())
    if scale == 0:
        return 0.0
    found, which, ties = np.unique(np.round(means / (ALIKE * scale)), return_inverse=True, return_counts=True)
    if len(found) == 1:
        return 0.0
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[which]
    ranks -= ranks.mean()
    lags = np.array([ranks[lag:] @ ranks[:-lag] for lag in range(1, LAGS + 1)]) / float(ranks @ ranks)
    return math.sqrt(count) * max(float(lags[0]), float(lags.sum()) / math.sqrt(LAGS))
