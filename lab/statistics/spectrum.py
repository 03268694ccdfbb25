# SPDX-License-Identifier: BSD-2-Clause
"""Computes when the system takes time: frequencies of noise in a series of samples [Hoefler10 §II]."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.formats.trace import Trace
from lab.statistics.errors import StatisticsError

#: A series of at least LONG values is cut into SEGMENTS segments, each overlapping half of the next, and
#: their spectra are averaged. Hann's window makes neighbouring segments alike: divided by LIKENESS they count
#: as independent [Welch67].
LONG = 8192
SEGMENTS = 8
LIKENESS = 1 + 2 / 36


@dataclass(frozen=True)
class Spectrum:
    """Amplitudes of a series by frequency, without the mean: every `resolution_hz` up to `limit_hz`. They are
    the mean of `averages` independent spectra."""

    frequency_hz: np.ndarray
    #: amplitude of the sinusoid of that frequency, in the series' unit
    amplitude: np.ndarray
    limit_hz: float
    resolution_hz: float
    averages: float = 1.0


def spectrum(series: np.ndarray, step_ns: float) -> Spectrum:
    """Computes the spectrum of a series with one value every `step_ns` (FTQ: lost operations or counts per
    quantum) by Welch's method: for long series the mean over segments, which smooths what is not periodic.

    A sinusoid of amplitude a with a whole number of periods (in a segment) gives a at its frequency. Sampling
    every q limits what can be seen: nothing above 1/(2q) (a 1 ms quantum: 500 Hz). Faster noise appears at a
    lower, wrong frequency, or, if it comes in every quantum, lowers all counts and vanishes [Hoefler10 §II].
    Two frequencies closer than 1/(n q) are not separated, where n is the number of values in a segment. For
    FTQ only: samples of FWQ are not equidistant, because each detour shifts the next one. StatisticsError for
    fewer than 4 values.

    P. D. Welch: The use of fast Fourier transform for the estimation of power spectra. IEEE Trans. Audio
    Electroacoustics 15 (1967).
    """
    n = len(series)
    if n < 4 or not step_ns > 0:
        raise StatisticsError(
            f"a spectrum of {n} values, {step_ns:g} ns apart; give at least 4 values and a positive distance"
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
    """Imports a package of scipy, which takes a second and only spectra need. StatisticsError without
    scipy."""
    try:
        return importlib.import_module(f"scipy.{name}")
    except ModuleNotFoundError:
        raise StatisticsError(
            f"{sys.executable} has no scipy, which spectra need; install it with ports/deps.sh lab"
        ) from None


@dataclass(frozen=True)
class Peak:
    """A frequency that stands out; `chance` is the probability that white noise of the same variance has a
    peak of this height anywhere."""

    frequency_hz: float
    amplitude: float
    chance: float


def peaks(found: Spectrum, most: int = 5, chance: float = 1e-3) -> list[Peak]:
    """Returns the highest local maxima that white noise shows with at most the probability `chance`, highest
    first.

    For white noise each power over the mean power is distributed exponentially, or as the mean of `averages`
    such values (a gamma distribution): it exceeds z with P(z), and the highest of M exceeds z with
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
    """Returns the ns that detours took in each step of `step_ns`, counted where they start; an incomplete
    last step is left out. StatisticsError if the trace has no starts and lengths."""
    if not trace.complete or not 0 < step_ns <= trace.listed_span_ns:
        raise StatisticsError(
            f"{trace.source}: no series in steps of {step_ns:g} ns; it needs starts and lengths of detours, "
            "and a step within the measured time"
        )
    steps = int(
        trace.listed_span_ns / step_ns * (1 + 1e-12)
    )  # a whole number that rounding made slightly smaller counts as whole
    at = (trace.start_ns // step_ns).astype(np.int64)
    inside = at < steps
    return np.bincount(at[inside], weights=trace.duration_ns[inside], minlength=steps)
