# SPDX-License-Identifier: BSD-2-Clause
"""The figures of noise: what the papers define, computed from traces and from phase durations.

    what the system took     noise_ratio, detour_figures                                  [Beckman06 §3.3, Table 4]
    when it took it          spectrum, peaks                                              [Hoefler10 §II]
    what a job feels         Delays, delays_of_trace, delays_of_phases, p                 [Tsafrir05 §2.1, §3.1]
    what n nodes feel        delayed_probability, …_linear, linear_nodes_most, slowdown   [Tsafrir05 §2.1 Eq. 1-4, §2.4]
    how sure that is         bootstrap, blocks_of, silent_rate_most

Units are in the names; ratios and probabilities are fractions of one. A wrong argument raises StatisticsError, which says what would
be right. Nothing here reads a clock or an unseeded generator: the same input gives the same figures.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.phase import PhaseData
from lab.reading import DataError, quantile
from lab.trace import Trace

#: of detours' lengths, by the name in tables, in millionths
PERCENTILES = {"median": 500_000, "p90": 900_000, "p99": 990_000, "p99.9": 999_000}

#: Of a relative error, below which the linear law of noise is taken as valid [Tsafrir05 §2.1].
LINEAR_ERROR = 0.05


class StatisticsError(DataError):
    """A figure asked of data that cannot have it."""


# ---- What the system took ----


@dataclass(frozen=True)
class DetourFigures:
    """One trace's figures; lengths in ns, None where the source does not tell them or where there is no detour."""

    detours: int
    per_second: float
    noise_ratio: float
    minimum_ns: float | None
    mean_ns: float | None
    percentiles_ns: dict[str, float]
    maximum_ns: float | None


def noise_ratio(trace: Trace) -> float:
    """The share of the measured time that detours took, from 0 to 1 [Beckman06 §3.3, Table 4]. A detour that the method's threshold hides
    is in no ratio: two ratios compare only with the same threshold. StatisticsError if the source tells no lengths."""
    if not trace.durations_known and trace.detours:
        raise StatisticsError(f"{trace.source}: the {trace.format} format tells when detours came, not how long they took")
    return trace.noise_ns / trace.span_ns


def detour_figures(trace: Trace) -> DetourFigures:
    """Count, rate (per second of measured time), ratio, and lengths of the listed detours: minimum, mean, percentiles (the smallest
    length that so many do not exceed, as apps/include/order.h has it), maximum [Beckman06 Table 4]."""
    known = trace.durations_known and trace.listed > 0
    rising = np.sort(trace.duration_ns) if known else trace.duration_ns
    maximum = float(rising[-1]) if known else None
    if trace.totals and trace.totals.detours:
        maximum = max(maximum or 0.0, trace.totals.longest_ns)
    return DetourFigures(
        detours=trace.detours,
        per_second=trace.detours * 1e9 / trace.span_ns,
        noise_ratio=noise_ratio(trace) if known or trace.totals or not trace.detours else math.nan,
        minimum_ns=float(rising[0]) if known else None,
        mean_ns=float(rising.mean()) if known else None,
        percentiles_ns={name: quantile(rising, part) for name, part in PERCENTILES.items()} if known else {},
        maximum_ns=maximum,
    )


# ---- When it took it ----


@dataclass(frozen=True)
class Spectrum:
    """Amplitudes of a series by frequency, without the mean. `resolution_hz` apart, up to `limit_hz`."""

    frequency_hz: np.ndarray
    #: of the sinusoid of that frequency, in the series' unit
    amplitude: np.ndarray
    limit_hz: float
    resolution_hz: float


def spectrum(series: np.ndarray, step_ns: float) -> Spectrum:
    """The discrete Fourier spectrum of a series with one value every `step_ns` (FTQ: lost operations or counts, a quantum apart).

    A = 2|X_k|/n, so that a sinusoid of amplitude a with a whole number of periods gives a at its frequency. Sampling every q limits what can be
    seen: nothing above 1/(2q) (a 1 ms quantum: 500 Hz), and noise faster than that appears at a lower frequency that it has not,
    or, if it comes in every quantum, lowers all counts and vanishes [Hoefler10 §II]. Two frequencies closer than 1/(n q) are one. FTQ
    only: samples of FWQ are not equally far apart, as each detour shifts the next one. Needs 4 values; StatisticsError otherwise.
    """
    n = len(series)
    if n < 4 or not step_ns > 0:
        raise StatisticsError(f"a spectrum of {n} values, {step_ns:g} ns apart; it needs 4 values and a positive distance")
    values = np.asarray(series, dtype=np.float64)
    transformed = np.fft.rfft(values - values.mean())
    amplitude = 2.0 * np.abs(transformed) / n
    if n % 2 == 0:
        amplitude[-1] /= 2.0  # at the limit there is one term, not two
    frequency = np.fft.rfftfreq(n, step_ns / 1e9)
    return Spectrum(frequency[1:], amplitude[1:], 0.5e9 / step_ns, 1e9 / (n * step_ns))


@dataclass(frozen=True)
class Peak:
    """A frequency that stands out; `chance` is the probability that white noise of the same variance had a peak so high anywhere."""

    frequency_hz: float
    amplitude: float
    chance: float


def peaks(found: Spectrum, most: int = 5, chance: float = 1e-3) -> list[Peak]:
    """The highest local maxima that white noise would show with at most `chance`, highest first.

    For white noise each power over the mean power is exponentially distributed, so that the highest of M exceeds z with 1 - (1 - e^-z)^M. The
    mean includes the peaks themselves, which makes the test stricter than its level. A periodic series of short pulses has a peak at each multiple.
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
    """The ns that detours took in each step of `step_ns`, by where they start; the last, broken step is left out. StatisticsError without
    starts and lengths."""
    if not trace.complete or not 0 < step_ns <= trace.listed_span_ns:
        raise StatisticsError(f"{trace.source}: no series in steps of {step_ns:g} ns; starts and lengths must be known, and the step within the measured time")
    steps = int(trace.listed_span_ns / step_ns * (1 + 1e-12))  # a whole number that rounding has made a bit smaller is one
    at = (trace.start_ns // step_ns).astype(np.int64)
    inside = at < steps
    return np.bincount(at[inside], weights=trace.duration_ns[inside], minlength=steps)


# ---- What a job feels ----


@dataclass(frozen=True)
class Delays:
    """The distribution of a computation phase's delay: it lasts `grain_ns` and `delay_ns[i]` more with probability `share[i]`.

    Delays rise, shares are positive and their sum is 1. `phases` is how many phases the data hold: what is rarer than one in so many, they do
    not show, and a job of more nodes than that stands on an extrapolation.
    """

    grain_ns: float
    delay_ns: np.ndarray
    share: np.ndarray
    phases: float

    @property
    def longest_ns(self) -> float:
        return float(self.delay_ns[-1])

    @property
    def mean_ns(self) -> float:
        return float((self.delay_ns * self.share).sum())


def _distribution(grain_ns: float, delays_ns: np.ndarray, weights: np.ndarray, phases: float) -> Delays:
    values, which = np.unique(delays_ns, return_inverse=True)
    share = np.bincount(which, weights=weights)
    keep = share > 0
    return Delays(grain_ns, values[keep], share[keep] / share[keep].sum(), phases)


def delays_of_trace(trace: Trace, grain_ns: float) -> Delays:
    """The exact delay of a phase of `grain_ns` of work that begins at a random time of the trace [Tsafrir05 §2.1, §3.1].

    The trace is replayed cyclically, as [Hoefler10 §IV] does, and the processor does no work during a detour. On an axis of work done
    (time without the detours) detour i is a point w_i, and a phase that begins at u meets those in [u, u + grain). The sum of their
    lengths changes only where u passes a w_i or a w_i - grain: 2n places, between which it is constant. Their distances are the shares, so there is no sampling
    error on top of the trace's own. `grain_ns` from above 0 to any length. StatisticsError if the format tells no starts or lengths, or
    if detours leave no time to work.
    """
    if not grain_ns > 0:
        raise StatisticsError(f"a grain of {grain_ns:g} ns; give a positive time")
    if not trace.complete:
        raise StatisticsError(f"{trace.source}: the {trace.format} format does not tell each detour's start and length, so phases cannot be replayed; give a file that does")
    total_ns = float(trace.duration_ns.sum())
    work_ns = trace.listed_span_ns - total_ns
    if not work_ns > 0:
        raise StatisticsError(f"{trace.source}: detours leave no time to work")
    real = trace.duration_ns > 0
    durations = trace.duration_ns[real]
    rounds, rest_ns = divmod(grain_ns, work_ns)
    if not len(durations):
        return Delays(grain_ns, np.zeros(1), np.ones(1), work_ns / grain_ns)
    sums = np.concatenate([[0.0], np.cumsum(durations)])
    points = np.clip(trace.start_ns[real] - sums[:-1], 0.0, np.nextafter(work_ns, 0))
    points = np.maximum.accumulate(points)
    edges = np.concatenate([[0.0], np.sort(np.concatenate([points, (points - rest_ns) % work_ns])), [work_ns]])
    lengths = np.diff(edges)
    middles = edges[:-1] + lengths / 2
    ends = middles + rest_ns
    behind = np.where(ends < work_ns, sums[np.searchsorted(points, ends)], total_ns + sums[np.searchsorted(points, ends - work_ns)])
    # Sums of the same detours differ in the last bits by where they begin; a picosecond is finer than any clock.
    delays = np.round(behind - sums[np.searchsorted(points, middles)] + rounds * total_ns, 3)
    return _distribution(grain_ns, np.maximum(delays, 0.0), lengths, work_ns / grain_ns)


def delays_of_phases(data: PhaseData) -> Delays:
    """The measured distribution D of one grain, the delay being what a phase lasted beyond the shortest one [Tsafrir05 §3.1]."""
    delay_ns = (data.ticks - data.ticks[0]) / data.ticks_per_ns
    return Delays(data.calibrated_ns, delay_ns, data.phases / data.count, float(data.count))


def p(delays: Delays, delay_ratio: float) -> float:
    """p: the probability that one node's phase is delayed by more than `delay_ratio` of its grain (0.01: 1 %) [Tsafrir05 §2.1, Fig. 5]."""
    if not delay_ratio >= 0:
        raise StatisticsError(f"a delay of {delay_ratio:g} of the grain; give 0 or more")
    return float(delays.share[delays.delay_ns > delay_ratio * delays.grain_ns].sum())


# ---- What n nodes feel ----


def _checked(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    if not 0 <= probability <= 1:
        raise StatisticsError(f"a probability of {probability:g}; it lies from 0 to 1")
    counts = np.asarray(nodes, dtype=np.float64)
    if not (counts >= 1).all():
        raise StatisticsError(f"{counts.min():g} nodes; a job has one or more")
    return counts


def delayed_probability(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    """d_p(n) = 1 - (1 - p)^n: the probability that a step of a job of n nodes is delayed, nodes being independent and alike
    [Tsafrir05 Eq. 1]. Exact for small p too, where 1 - p is 1 to the computer."""
    counts = _checked(probability, nodes)
    if probability == 1:
        return np.ones_like(counts)
    return -np.expm1(counts * math.log1p(-probability))


def delayed_probability_linear(probability: float, nodes: np.ndarray | float) -> np.ndarray:
    """p n, the linear law of noise [Tsafrir05 Eq. 2]. Above d_p(n) by less than n^2 p^2 / 2 [Eq. 3-4], so by less than np/2 of it; good up to
    `linear_nodes_most`, and no probability at all beyond 1/p."""
    return probability * _checked(probability, nodes)


def linear_nodes_most(probability: float, relative_error: float = LINEAR_ERROR) -> float:
    """The largest job for which the linear law is right to `relative_error`: n p / 2 <= error, so n = 2 error / p [Tsafrir05 §2.1; 5 %: p <= 1/(10 n)].
    Infinite for p = 0."""
    _checked(probability, 1)
    if not 0 < relative_error < 1:
        raise StatisticsError(f"a relative error of {relative_error:g}; it lies between 0 and 1")
    return 2 * relative_error / probability if probability else math.inf


def slowdown(delays: Delays, nodes: np.ndarray | float) -> np.ndarray:
    """E(Y)/G: how much longer a step of n nodes lasts on average than its grain, Y being the longest of n independent phases drawn from the whole
    distribution [Tsafrir05 §2.4]. 1 is no slowdown. P(Y <= x) = F(x)^n; as F is exact at the top, the sum runs over F^n's steps."""
    counts = np.atleast_1d(_checked(0.0, nodes))
    above = np.concatenate([np.cumsum(delays.share[::-1])[::-1][1:], [0.0]])
    log_not_above = np.log1p(-np.minimum(above, 1 - 1e-16))
    found = np.empty(len(counts))
    for i, n in enumerate(counts.tolist()):
        steps = np.diff(np.exp(n * log_not_above), prepend=0.0)
        found[i] = 1.0 + float((delays.delay_ns * steps).sum()) / delays.grain_ns
    return found if np.ndim(nodes) else found[0]


def scale_most(delays: Delays, tolerance: float, nodes_most: float = 1e9) -> float:
    """The largest job that is slowed by at most `tolerance` (0.01: 1 %): the largest n with E(Y)/G <= 1 + tolerance, which rises with n. 0 if one node
    is slowed more already, infinite if not even `nodes_most` nodes are. Look at `Delays.phases` before trusting a larger n."""
    if not tolerance > 0:
        raise StatisticsError(f"a tolerance of {tolerance:g}; give one above 0")
    if float(slowdown(delays, 1)) > 1 + tolerance:
        return 0.0
    if delays.longest_ns <= tolerance * delays.grain_ns or float(slowdown(delays, nodes_most)) <= 1 + tolerance:
        return math.inf
    low, high = 1.0, nodes_most
    while high - low > max(0.5, 1e-9 * low):
        middle = (low + high) / 2
        low, high = (middle, high) if float(slowdown(delays, middle)) <= 1 + tolerance else (low, middle)
    return math.floor(high) if float(slowdown(delays, math.floor(high))) <= 1 + tolerance else math.floor(low)


# ---- How sure that is ----


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    confidence: float


def bootstrap(
    sample: np.ndarray, statistic: Callable[[np.ndarray], float], resamples: int = 1000, confidence: float = 0.95, seed: int = 1
) -> Interval:
    """The percentile interval of a statistic: computed for `resamples` samples of the same size, drawn from the sample with replacement
    [Efron, Tibshirani: An Introduction to the Bootstrap, 1993, §13.3]. It takes the sample's elements as independent: pass blocks of time, not neighbouring detours, where
    noise comes in bursts (`blocks_of`). It knows nothing of what the sample does not hold: a maximum's interval never reaches beyond
    the maximum, and the interval of a sample of zeros is [0, 0]; use `silent_rate_most` there."""
    if len(sample) < 2 or resamples < 10 or not 0 < confidence < 1:
        raise StatisticsError(f"a bootstrap of {len(sample)} values, {resamples} resamples, confidence {confidence:g}; it needs 2, 10, and one between 0 and 1")
    generator = np.random.default_rng(seed)
    found = np.array([statistic(sample[generator.integers(0, len(sample), len(sample))]) for _ in range(resamples)])
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), confidence)


def blocks_of(trace: Trace, count: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """The measured time in `count` equal blocks: ns that detours took in each, and how many began in it. For the bootstrap of ratio and
    rate: a block should be longer than the noise's period. StatisticsError without starts and lengths."""
    step_ns = trace.listed_span_ns / count
    lost = series_of(trace, step_ns)
    at = np.minimum((trace.start_ns // step_ns).astype(np.int64), count - 1)
    return lost, np.bincount(at, minlength=count)


def noise_ratio_interval(trace: Trace, count: int = 50, **options: float) -> Interval:
    """The bootstrap interval of the noise ratio, over blocks of time."""
    step_ns = trace.listed_span_ns / count
    lost, _ = blocks_of(trace, count)
    return bootstrap(lost / step_ns, lambda sample: float(sample.mean()), **options)  # type: ignore[arg-type]


def silent_rate_most(span_ns: float, confidence: float = 0.95) -> float:
    """The highest rate, per second, of which no detour in `span_ns` is still as likely as 1 - confidence: -ln(1 - confidence) / span for
    detours that come independently (95 %: three in the time measured). What silence proves, and no more."""
    if not span_ns > 0 or not 0 < confidence < 1:
        raise StatisticsError(f"{span_ns:g} ns of silence at a confidence of {confidence:g}; give a positive time and one between 0 and 1")
    return -math.log1p(-confidence) * 1e9 / span_ns
