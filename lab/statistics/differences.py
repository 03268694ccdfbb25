# SPDX-License-Identifier: BSD-2-Clause
"""Compares nodes: the interval of a difference, and which of many differences are sure.

Nodes may have been measured for different times: every figure here is per second of measured time. The
interval of a difference follows from those of the two figures, so it keeps their skewness [G. Y. Zou, A.
Donner: Construction of confidence limits about effect measures: a general approach, Statistics in Medicine 27
(2008)]. Of many true null hypotheses some look false by chance; Holm's procedure bounds the probability of
even one wrong verdict [S. Holm: A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6
(1979)].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.statistics.confidence import CONFIDENCE, Interval, confidence_checked, few_rate_max
from lab.statistics.delays import delays_of_phases
from lab.statistics.detours import noise_ratio
from lab.statistics.errors import StatisticsError
from lab.statistics.sums import DETOURS_MIN, phases_lost_interval, phases_lost_ratio, ratio_interval


@dataclass(frozen=True)
class Figure:
    """A figure of a node: its value, and its interval at any confidence; StatisticsError if it has none."""

    value: float
    interval: Callable[[float], Interval]


def lost_figure(source: Trace | PhaseData, longest_ns: float = 0.0) -> Figure:
    """Returns the share of time that a node loses: the noise ratio of a trace, or what phases lasted longer.

    Too few detours (or delayed phases) for an interval still have a bound: there were no more than
    `few_rate_max`. Their lengths are unknown, so all are taken to be as long as `longest_ns`, the longest one
    seen on the nodes that it is compared with. StatisticsError if the figure itself cannot be had."""
    if isinstance(source, PhaseData):
        delays = delays_of_phases(source)
        count = round(float(delays.share[delays.delay_ns > 0].sum()) * source.count)
        span_ns = source.count * (delays.grain_ns + delays.mean_ns)
        ratio = phases_lost_ratio(source)
    else:
        count, span_ns, ratio = source.detours, source.span_ns, noise_ratio(source)

    @lru_cache(maxsize=16)
    def interval(confidence: float) -> Interval:
        if count < DETOURS_MIN and (isinstance(source, PhaseData) or source.complete):
            rate = few_rate_max(count, span_ns, (1 + confidence_checked(confidence)) / 2)
            high = max(rate * longest_ns / 1e9, ratio)
            return Interval(0.0, min(high, 1.0), confidence, "conservative: a bound from few detours")
        if isinstance(source, PhaseData):
            return phases_lost_interval(source, confidence)
        return ratio_interval(source, confidence)

    return Figure(ratio, interval)


def difference_interval(first: Figure, second: Figure, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of the first figure minus the second, for independent measurements.
    StatisticsError if one of them has no interval."""
    a, b = first.interval(confidence), second.interval(confidence)
    middle = first.value - second.value
    return Interval(
        middle - math.hypot(first.value - a.low, b.high - second.value),
        middle + math.hypot(a.high - first.value, second.value - b.low),
        confidence,
        a.remark or b.remark,
    )


def _margin(pair: tuple[Figure, Figure]) -> float:
    """Returns the difference in half-widths of its interval, at the usual confidence; above 1 it excludes
    zero. 0 without an interval."""
    try:
        found = difference_interval(*pair)
    except StatisticsError:
        return 0.0
    middle = pair[0].value - pair[1].value
    half = middle - found.low if middle > 0 else found.high - middle
    return math.inf if half == 0 and middle else abs(middle) / half if half else 0.0


def surely_different(
    pairs: Sequence[tuple[Figure, Figure]], confidence: float = CONFIDENCE, family: int | None = None
) -> list[bool]:
    """Returns for each pair whether the interval of its difference excludes zero, corrected for the number of
    pairs: the clearest one at 1 - alpha/m, the next at 1 - alpha/(m - 1), until one does not [Holm79].

    `family` is m if the pairs were selected from more by their values (the quietest of k nodes: k (k - 1) /
    2). A pair without an interval is never sure."""
    confidence_checked(confidence)
    count = max(family or 0, len(pairs))
    sure = [False] * len(pairs)
    for rank, i in enumerate(sorted(range(len(pairs)), key=lambda i: -_margin(pairs[i]))):
        try:
            found = difference_interval(*pairs[i], confidence=1 - (1 - confidence) / (count - rank))
        except StatisticsError:
            break
        if found.holds(0.0):
            break
        sure[i] = True
    return sure
