# SPDX-License-Identifier: BSD-2-Clause
"""Computes the intervals of quantiles of lengths, and of the longest detour in T seconds.

The number of values below the true quantile is binomial, so two of the sorted values enclose it with a known
probability, for any distribution; between two ranks one interpolates [J. Nyblom: Note on
interpolated order statistics, Statistics & Probability Letters 14 (1992)]. In bursts long
detours come together, so that they tell less: the ranks move apart with the deviation of the number of values
beyond the quantile, counted in batches [R. S. Woodruff: Confidence intervals for medians and other position
measures, J. Am. Statist. Assoc. 47 (1952)].

A maximum has no interval: it grows with the time measured. What has one is the median of the maxima of
windows of T seconds, if enough windows of the length T were measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.formats.trace import Trace
from lab.statistics.batches import BATCHES_MIN, CORRELATED, cuts, independent_count
from lab.statistics.confidence import (
    CONFIDENCE,
    NORMAL_FROM,
    Interval,
    binomial_below,
    confidence_checked,
    student,
)
from lab.statistics.errors import StatisticsError
from lab.statistics.sums import bursts_checked, bursts_text, cycles

#: An interval is conservative if values equal to one of its bounds are more than this part of its ranks.
TIES = 0.1
#: The share of windows without a detour from which on the longest one in a window has no interval.
EMPTY_MAX = 0.2


def count_needed(part: float, confidence: float = CONFIDENCE) -> int:
    """Returns the least number of values with which the quantile `part` (0.999) has an interval: then the
    smallest and the largest value enclose it."""
    if not 0 < part < 1:
        raise StatisticsError(f"a quantile of {part:g}; give a share between 0 and 1, such as 0.999")
    missed = (1 - confidence_checked(confidence)) / 2
    return math.ceil(math.log(missed) / math.log(max(part, 1 - part)) - 1e-9)


def quantile_interval(
    values: np.ndarray, part: float, confidence: float = CONFIDENCE, source: str = "", *others: np.ndarray
) -> Interval:
    """Returns the interval of the quantile `part` (0.5: the median) of values in the order of time. `others`
    are series of the same detours whose bursts count, too. StatisticsError if the values are too few
    (`count_needed`), not numbers, or in bursts."""
    where = f"{source}: " if source else ""
    needed = count_needed(part, confidence)
    if not np.isfinite(values).all():
        raise StatisticsError(f"{where}a value is not a number; leave it out, or repeat the measurement")
    count = len(values)
    if count < needed:
        longer = f": measure {math.ceil(needed / count)} times as long" if count else ""
        raise StatisticsError(
            f"{where}{count:,} values; the interval of the {100 * part:g} % quantile needs {needed:,}{longer}"
        )
    low, high = _ranks(count, part, confidence)
    if count >= BATCHES_MIN:
        batches, merged = independent_count(values, *others)
        if batches < BATCHES_MIN:
            raise StatisticsError(bursts_text(source or "values", batches))
        spread = _spread(values, part, batches, merged)
        middle = count * part + 0.5
        low, high = middle - (middle - low) * spread, middle + (high - middle) * spread
        if low < 1 or high > count:
            raise StatisticsError(
                f"{where}long detours come in bursts, which tell less: the interval of the {100 * part:g} % "
                f"quantile needs about {math.ceil(needed * spread**2):,} values; there are {count:,}"
            )
    return _enclosed(values, low, high, confidence)


def _enclosed(values: np.ndarray, low: float, high: float, confidence: float) -> Interval:
    """Returns the interval between two ranks."""
    found = _between(values, low), _between(values, high)
    tied = max(np.count_nonzero(values == bound) for bound in found)
    remark = "conservative: many values are equal" if tied > 1 and tied > TIES * (high - low) else ""
    return Interval(*found, confidence, remark)


def median_interval(values: np.ndarray | Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of the median of independent values, such as rounds of a benchmark.
    StatisticsError as for `quantile_interval`."""
    found = np.asarray(values, dtype=np.float64)
    needed = count_needed(0.5, confidence)
    if len(found) < needed or not np.isfinite(found).all():
        raise StatisticsError(
            f"a median of {len(found)} values, {np.count_nonzero(~np.isfinite(found))} of them not numbers; "
            f"its interval needs {needed} numbers"
        )
    return _enclosed(found, *_ranks(len(found), 0.5, confidence), confidence)


def length_interval(trace: Trace, part: float, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of a quantile of the lengths of detours, ns. StatisticsError if they are not
    listed with starts and lengths, too few, or known only as lower bounds beyond the quantile."""
    if not trace.complete or trace.detours > trace.listed:
        raise StatisticsError(
            f"{trace.source}: the {trace.format} format does not list every detour's start and length, so "
            "quantiles have no interval; measure single detours (selfish, FTQ)"
        )
    gaps = cycles(trace) if trace.listed else trace.duration_ns
    if trace.listed >= count_needed(part, confidence):
        bursts_checked(trace.source, gaps)
    found = quantile_interval(trace.duration_ns, part, confidence, trace.source, gaps)
    if trace.over and found.high >= np.partition(trace.duration_ns, -trace.over)[-trace.over]:
        raise StatisticsError(
            f"{trace.source}: the {100 * part:g} % quantile may be among the {trace.over} lengths that are "
            "known only as lower bounds; measure with a longer histogram"
        )
    return found


def _ranks(count: int, part: float, confidence: float) -> tuple[float, float]:
    """Returns the ranks, from 1 on, between which the quantile lies."""
    missed = (1 - confidence) / 2
    return _rank(count, part, missed), count + 1 - _rank(count, 1 - part, missed)


def _rank(count: int, part: float, missed: float) -> float:
    """Returns the rank whose value is above the quantile with the probability `missed`: the value of rank k
    is above it if fewer than k values are below it."""
    first, below = binomial_below(count, part)
    at = int(np.searchsorted(below, missed, side="right"))  # the first one above `missed`
    if at == 0:
        return float(first)
    rank = first + at
    before, after = missed - below[at - 1], below[at] - missed
    return rank + 1 / (1 + rank * (1 - part) * after / ((count - rank) * part * before)) if before else rank


def _between(values: np.ndarray, rank: float) -> float:
    """Returns the value of a rank from 1 on, interpolated between neighbours."""
    below = min(math.floor(rank), len(values)) - 1
    above = min(below + 1, len(values) - 1)
    pair = np.partition(values, [below, above])
    return float(pair[below] + (rank - math.floor(rank)) * (pair[above] - pair[below]))


def _spread(values: np.ndarray, part: float, batches: int, merged: bool) -> float:
    """Returns by how much the number of values beyond the quantile varies more than that of independent
    values, as a factor of its deviation: from batches of neighbours. 1 if that is not significant."""
    count = len(values)
    limit = np.partition(values, int(count * part))[int(count * part)]
    beyond = (values > limit) if part >= 0.5 else (values < limit)
    share = np.count_nonzero(beyond) / count
    if not 0 < share < 1:
        return 1.0
    cut = cuts(count, batches)
    counts = np.add.reduceat(beyond.astype(np.int64), cut) - share * np.diff(cut, append=count)
    excess = float(counts @ counts) / (count * share * (1 - share)) * batches / (batches - 1)
    if not merged and excess < 1 + CORRELATED * math.sqrt(2 / batches):
        return 1.0
    return math.sqrt(max(excess, 1.0)) * student(CONFIDENCE, batches - 1) / student(CONFIDENCE, NORMAL_FROM)


# ---- The longest in T seconds ----


@dataclass(frozen=True)
class Longest:
    """The longest detour in `window_ns` of measured time: the median of the maxima of `windows` windows, and
    its interval, ns."""

    window_ns: float
    windows: int
    median_ns: float
    interval: Interval


def longest_in(trace: Trace, window_ns: float, confidence: float = CONFIDENCE) -> Longest:
    """Returns what the longest detour in `window_ns` of measured time is: more in half of such windows, less
    in the other half. 0 is a window without a detour. The trace is cut into windows [m out of n: P. J.
    Bickel, F. Götze, W. R. van Zwet, Statistica Sinica 7 (1997)]. StatisticsError if fewer than
    `count_needed` fit (6 at 95 %), or if bursts are longer."""
    if not trace.complete or trace.detours > trace.listed or not window_ns > 0:
        raise StatisticsError(
            f"{trace.source}: no longest detour in {window_ns:g} ns; it needs starts and lengths of all "
            "detours, and a positive time"
        )
    windows = int(trace.span_ns / window_ns * (1 + 1e-12))
    needed = count_needed(0.5, confidence)
    if windows < needed:
        raise StatisticsError(
            f"{trace.source}: {windows} windows of {window_ns / 1e9:g} s in {trace.span_ns / 1e9:g} s; their "
            f"longest detours have an interval from {needed} windows on: measure longer, or ask for a "
            "shorter time"
        )
    if trace.listed:
        bursts_checked(trace.source, cycles(trace))
    maxima = window_maxima(trace, window_ns, windows)
    if np.count_nonzero(maxima == 0) > EMPTY_MAX * windows:
        raise StatisticsError(
            f"{trace.source}: many windows of {window_ns / 1e9:g} s have no detour, so their longest one has "
            "no interval; ask for a longer time"
        )
    if windows >= BATCHES_MIN and independent_count(maxima)[1]:
        raise StatisticsError(
            f"{trace.source}: bursts are longer than windows of {window_ns / 1e9:g} s, so these are not "
            "independent; measure longer, and ask for a longer time"
        )
    found = _enclosed(maxima, *_ranks(windows, 0.5, confidence), confidence)
    return Longest(window_ns, windows, float(np.median(maxima)), found)


def window_maxima(trace: Trace, window_ns: float, windows: int) -> np.ndarray:
    """Returns the longest detour that begins in each of the windows, ns; 0 in a window without one."""
    begins = np.searchsorted(trace.start_ns, np.arange(windows + 1) * window_ns)
    maxima, some = np.zeros(windows), np.diff(begins) > 0
    if some.any():
        maxima[some] = np.maximum.reduceat(trace.duration_ns[: begins[-1]], begins[:-1][some])
    return maxima
