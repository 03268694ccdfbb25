# SPDX-License-Identifier: BSD-2-Clause
"""Computes the confidence of figures: bootstrap intervals, and what a silence proves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.formats.trace import Trace
from lab.statistics.errors import StatisticsError
from lab.statistics.spectrum import series_of


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    confidence: float


def bootstrap(
    sample: np.ndarray,
    statistic: Callable[[np.ndarray], float],
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 1,
) -> Interval:
    """Returns the percentile interval of a statistic: it is computed for `resamples` samples of the same
    size, drawn from the sample with replacement [Efron, Tibshirani: An Introduction to the Bootstrap, 1993,
    §13.3].

    The method assumes that the sample's elements are independent. If noise comes in bursts, pass blocks of
    time (`blocks_of`), not neighbouring detours. It cannot see what the sample does not hold: a maximum's
    interval never exceeds the maximum, and the interval of a sample of zeros is [0, 0]; for these use
    `silent_rate_max`."""
    if len(sample) < 2 or resamples < 10 or not 0 < confidence < 1:
        raise StatisticsError(
            f"a bootstrap of {len(sample)} values, {resamples} resamples, confidence {confidence:g}; give at "
            "least 2 values, 10 resamples, and a confidence between 0 and 1"
        )
    generator = np.random.default_rng(seed)
    found = np.array(
        [statistic(sample[generator.integers(0, len(sample), len(sample))]) for _ in range(resamples)]
    )
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), confidence)


def blocks_of(trace: Trace, count: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Cuts the measured time into `count` equal blocks. Returns for each the ns that detours took and the
    number of detours that began in it, for the bootstrap of ratio and rate. A block should be longer than the
    noise's period. StatisticsError if the trace has no starts and lengths."""
    step_ns = trace.listed_span_ns / count
    lost = series_of(trace, step_ns)
    at = np.minimum((trace.start_ns // step_ns).astype(np.int64), count - 1)
    return lost, np.bincount(at, minlength=count)


def noise_ratio_interval(trace: Trace, count: int = 50, **options: float) -> Interval:
    """Returns the bootstrap interval of the noise ratio, over blocks of time."""
    step_ns = trace.listed_span_ns / count
    lost, _ = blocks_of(trace, count)
    return bootstrap(lost / step_ns, lambda sample: float(sample.mean()), **options)  # type: ignore[arg-type]


def silent_rate_max(span_ns: float, confidence: float = 0.95) -> float:
    """Returns the highest rate, per second, at which no detour in `span_ns` still has the probability 1 -
    confidence: -ln(1 - confidence) / span for independent detours (95 %: three in the measured time). This is
    all that a silence proves."""
    if not span_ns > 0 or not 0 < confidence < 1:
        raise StatisticsError(
            f"{span_ns:g} ns of silence at a confidence of {confidence:g}; give a positive time, and a "
            "confidence between 0 and 1"
        )
    return -math.log1p(-confidence) * 1e9 / span_ns
