# SPDX-License-Identifier: BSD-2-Clause
"""When the system took it: frequencies of noise in a series of samples [Hoefler10 §II]."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.formats.trace import Trace
from lab.statistics.errors import StatisticsError

#: From so many values on, a spectrum is the mean of those of so many segments, each overlapping half of the
#: next. Hann's window makes neighbours so alike that they count for fewer independent ones [Welch67].
LONG = 8192
SEGMENTS = 8
LIKENESS = 1 + 2 / 36


@dataclass(frozen=True)
class Spectrum:
    """Amplitudes of a series by frequency, without the mean. `resolution_hz` apart, up to `limit_hz`; the
    mean of so many independent spectra as `averages` says."""

    frequency_hz: np.ndarray
    #: of the sinusoid of that frequency, in the series' unit
    amplitude: np.ndarray
    limit_hz: float
    resolution_hz: float
    averages: float = 1.0


def spectrum(series: np.ndarray, step_ns: float) -> Spectrum:
    """The spectrum of a series with one value every `step_ns` (FTQ: lost operations or counts, a quantum
    apart), by Welch's method: of long series the mean over segments, which smooths what is not periodic.

    A sinusoid of amplitude a with a whole number of periods (in a segment) gives a at its frequency.
    Sampling every q limits what can be seen: nothing above 1/(2q) (a 1 ms quantum: 500 Hz), and noise faster
    than that appears at a lower frequency that it has not, or, if it comes in every quantum, lowers all
    counts and vanishes [Hoefler10 §II]. Two frequencies closer than 1/(n q) are one, n being a segment's
    values. FTQ only: samples of FWQ are not equally far apart, as each detour shifts the next one. Needs 4
    values; StatisticsError otherwise.

    P. D. Welch: The use of fast Fourier transform for the estimation of power spectra. IEEE Trans. Audio
    Electroacoustics 15 (1967).
    """
    n = len(series)
    if n < 4 or not step_ns > 0:
        raise StatisticsError(
            f"a spectrum of {n} values, {step_ns:g} ns apart; it needs 4 values and a positive distance"
        )
    signal = scipy_part("signal")
    segments = SEGMENTS if n >= LONG else 1
    length = 2 * n // (segments + 1) if segments > 1 else n
    frequency, power = signal.welch(
        np.asarray(series, dtype=np.float64),
        fs=1e9 / step_ns,
        window="hann" if segments > 1 else "boxcar",
        nperseg=length,
        noverlap=length // 2 if segments > 1 else 0,
        detrend="constant",
        scaling="spectrum",
    )
    amplitude = np.sqrt(2.0 * power)
    if length % 2 == 0:
        amplitude[-1] = math.sqrt(power[-1])  # at the limit there is one term, not two
    averages = segments / LIKENESS if segments > 1 else 1.0
    return Spectrum(frequency[1:], amplitude[1:], 0.5e9 / step_ns, 1e9 / (length * step_ns), averages)


def scipy_part(name: str) -> Any:
    """A package of scipy, which takes a second to load and only spectra need. StatisticsError without it."""
    try:
        return importlib.import_module(f"scipy.{name}")
    except ModuleNotFoundError:
        raise StatisticsError(
            f"{sys.executable} has no scipy, which spectra need: ports/deps.sh lab installs it"
        ) from None


@dataclass(frozen=True)
class Peak:
    """A frequency that stands out; `chance` is the probability that white noise of the same variance had a
    peak so high anywhere."""

    frequency_hz: float
    amplitude: float
    chance: float


def peaks(found: Spectrum, most: int = 5, chance: float = 1e-3) -> list[Peak]:
    """The highest local maxima that white noise would show with at most `chance`, highest first.

    For white noise each power over the mean power is exponentially distributed, or as the mean of `averages`
    such ones is (a gamma distribution): it exceeds z with P(z), and the highest of M does with
    1 - (1 - P(z))^M. The mean includes the peaks themselves, which makes the test stricter than its level. A
    periodic series of short pulses has a peak at each multiple.
    """
    power = found.amplitude**2
    if not power.any():
        return []
    z = power / power.mean()
    above = scipy_part("special").gammaincc(found.averages, found.averages * z)
    left = np.concatenate([[-1.0], power[:-1]])
    right = np.concatenate([power[1:], [-1.0]])
    local = np.flatnonzero((power >= left) & (power > right))
    order = local[np.argsort(-power[local], kind="stable")][:most]
    result = []
    for i in order.tolist():
        alone = float(above[i])
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
