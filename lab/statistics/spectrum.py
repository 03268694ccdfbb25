# SPDX-License-Identifier: BSD-2-Clause
"""When the system took it: frequencies of noise in a series of samples [Hoefler10 §II]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lab.formats.trace import Trace
from lab.statistics.errors import StatisticsError


@dataclass(frozen=True)
class Spectrum:
    """Amplitudes of a series by frequency, without the mean. `resolution_hz` apart, up to `limit_hz`."""

    frequency_hz: np.ndarray
    #: of the sinusoid of that frequency, in the series' unit
    amplitude: np.ndarray
    limit_hz: float
    resolution_hz: float


def spectrum(series: np.ndarray, step_ns: float) -> Spectrum:
    """The discrete Fourier spectrum of a series with one value every `step_ns` (FTQ: lost operations or
    counts, a quantum apart).

    A = 2|X_k|/n, so that a sinusoid of amplitude a with a whole number of periods gives a at its frequency.
    Sampling every q limits what can be seen: nothing above 1/(2q) (a 1 ms quantum: 500 Hz), and noise faster
    than that appears at a lower frequency that it has not, or, if it comes in every quantum, lowers all
    counts and vanishes [Hoefler10 §II]. Two frequencies closer than 1/(n q) are one. FTQ only: samples of FWQ
    are not equally far apart, as each detour shifts the next one. Needs 4 values; StatisticsError otherwise.
    """
    n = len(series)
    if n < 4 or not step_ns > 0:
        raise StatisticsError(
            f"a spectrum of {n} values, {step_ns:g} ns apart; it needs 4 values and a positive distance"
        )
    values = np.asarray(series, dtype=np.float64)
    transformed = np.fft.rfft(values - values.mean())
    amplitude = 2.0 * np.abs(transformed) / n
    if n % 2 == 0:
        amplitude[-1] /= 2.0  # at the limit there is one term, not two
    frequency = np.fft.rfftfreq(n, step_ns / 1e9)
    return Spectrum(frequency[1:], amplitude[1:], 0.5e9 / step_ns, 1e9 / (n * step_ns))


@dataclass(frozen=True)
class Peak:
    """A frequency that stands out; `chance` is the probability that white noise of the same variance had a
    peak so high anywhere."""

    frequency_hz: float
    amplitude: float
    chance: float


def peaks(found: Spectrum, most: int = 5, chance: float = 1e-3) -> list[Peak]:
    """The highest local maxima that white noise would show with at most `chance`, highest first.

    For white noise each power over the mean power is exponentially distributed, so that the highest of M
    exceeds z with 1 - (1 - e^-z)^M. The mean includes the peaks themselves, which makes the test stricter
    than its level. A periodic series of short pulses has a peak at each multiple.
    """
    power = found.amplitude**2
    if not power.any():
        return []
    z = power / power.mean()
    left = np.concatenate([[-1.0], power[:-1]])
    right = np.concatenate([power[1:], [-1.0]])
    local = np.flatnonzero((power >= left) & (power > right))
    order = local[np.argsort(-power[local], kind="stable")][:most]
    result = []
    for i in order.tolist():
        alone = math.exp(-min(float(z[i]), 700.0))
        likely = -math.expm1(len(power) * math.log1p(-alone)) if alone < 1 else 1.0
        if likely <= chance:
            result.append(Peak(float(found.frequency_hz[i]), float(found.amplitude[i]), likely))
    return result


def series_of(trace: Trace, step_ns: float) -> np.ndarray:
    """The ns that detours took in each step of `step_ns`, by where they start; the last, broken step is left
    out. StatisticsError without starts and lengths."""
    if not trace.complete or not 0 < step_ns <= trace.listed_span_ns:
        raise StatisticsError(
            f"{trace.source}: no series in steps of {step_ns:g} ns; starts and lengths must be known, and "
            "the step within the measured time"
        )
    steps = int(
        trace.listed_span_ns / step_ns * (1 + 1e-12)
    )  # a whole number that rounding has made a bit smaller is one
    at = (trace.start_ns // step_ns).astype(np.int64)
    inside = at < steps
    return np.bincount(at[inside], weights=trace.duration_ns[inside], minlength=steps)
