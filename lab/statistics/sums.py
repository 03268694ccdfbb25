# SPDX-License-Identifier: BSD-2-Clause
"""Computes the intervals of sums over measured time: the noise ratio, and detours per second.

The measured time is cut at the starts of detours into cycles, each a detour's length D and the time G until
the next one begins; the last cycle ends where the first detour would come if the trace were replayed. So the
ratio is r = sum D / sum G exactly (for the rate D = 1), and its error is that of the mean of D - r G: the
regenerative method [M. A. Crane, D. L. Iglehart: Simulating stable stochastic systems III, Operations
Research 23 (1975)]. Ticks of a fixed period make equal cycles, while equal blocks of time cut them.

The variance comes from batches of cycles (batches.py), and Student's factor for their number takes account of
how little is known of it. Sums of skewed lengths are skewed, too, and their standard error rises with them;
the interval of the logarithm is right for both.
Wherever one begins to measure, one detour more or less may be in the time: that is added.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.statistics.batches import BATCHES_MIN, cuts, independent_count
from lab.statistics.confidence import CONFIDENCE, NORMAL_FROM, Interval, confidence_checked, student
from lab.statistics.delays import delays_of_phases
from lab.statistics.detours import noise_ratio
from lab.statistics.errors import StatisticsError
from lab.statistics.tails import NO_VARIANCE, tail_shape

#: The least number of detours, if they are independent. In bursts it grows with the 1.5th power of a burst's
#: size: the larger bursts are, the more of them must be seen to know how large.
DETOURS_MIN = 24
#: The share of the variance above which one cycle makes the tail be examined.
SHARE_MAX = 0.05
#: The share of the variance from which on one cycle decides, whatever the tail.
SHARE_OF_ONE = 0.6
#: The interval is conservative if one detour more or less is more than this part of its half-width.
EDGE_SHARE = 0.08
#: Lengths, or times between detours, may have a heavy tail if one is above this number of mean ones.
LENGTH_MAX, GAP_MAX = 3.0, 5.0
#: How many standard errors a tail's shape must be below, or above, the limit of finite variance. Lengths must
#: surely have one; times between detours are refused if they surely have none.
SURELY_FINITE, SURELY_INFINITE = 1.0, -1.0


def ratio_interval(trace: Trace, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of the noise ratio (from 0 to 1). StatisticsError if detours have no starts and
    lengths, are fewer than DETOURS_MIN or too long in relation to each other, or if bursts leave fewer than
    BATCHES_MIN independent pieces."""
    noise_ratio(trace)  # raises for a source without lengths
    _usable(trace, confidence)
    if trace.over:
        raise StatisticsError(
            f"{trace.source}: {trace.over} lengths are known only as lower bounds, so the noise ratio has no "
            "interval; measure with a longer histogram"
        )
    found = _per_time(trace.source, trace.duration_ns, cycles(trace), confidence)
    return Interval(found.low, min(found.high, 1.0), confidence, found.remark)


def rate_interval(trace: Trace, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of the number of detours per second of measured time. StatisticsError as above. A
    trace without detours has the interval from 0 to `silent_rate_max`; that is not computed here."""
    _usable(trace, confidence)
    found = _per_time(trace.source, np.ones(trace.listed), cycles(trace), confidence)
    return Interval(found.low * 1e9, found.high * 1e9, confidence, found.remark)


def delayed_interval(trace: Trace, grain_ns: float, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of p, the share of phases of `grain_ns` that are delayed at all [Tsafrir05 §2.1].
    On the axis of work (delays.py) these begin less than a grain before a detour: at most the time since the
    detour before it. StatisticsError as for `ratio_interval`, and for a grain that is not above 0."""
    if not grain_ns > 0:
        raise StatisticsError(f"a grain of {grain_ns:g} ns; give a positive time")
    noise_ratio(trace)  # raises for a source without lengths
    real = trace.duration_ns > 0  # a detour without length delays nothing
    trace = replace(trace, start_ns=trace.start_ns[real], duration_ns=trace.duration_ns[real])
    _usable(trace, confidence)
    lengths = trace.duration_ns
    work = np.maximum(cycles(trace) - lengths, 0.0)
    if not work.sum() > 0:
        raise StatisticsError(f"{trace.source}: detours take all the time; no time to work is left")
    found = _per_time(trace.source, np.minimum(work, grain_ns), work, confidence)
    return Interval(found.low, min(found.high, 1.0), confidence, found.remark)


def _usable(trace: Trace, confidence: float) -> None:
    confidence_checked(confidence)
    if trace.latencies or not trace.starts_known:
        raise StatisticsError(
            f"{trace.source}: the {trace.format} format does not say when detours came, so bursts cannot be "
            "seen and there is no interval; measure single detours (selfish, FTQ)"
        )
    if trace.detours > trace.listed:
        raise StatisticsError(
            f"{trace.source}: only {trace.listed:,} of {trace.detours:,} detours are listed, so there is no "
            "interval; measure with room for all"
        )
    if trace.listed < DETOURS_MIN:
        longer = f": measure {math.ceil(DETOURS_MIN / trace.listed)} times as long" if trace.listed else ""
        raise StatisticsError(
            f"{trace.source}: {trace.listed} detours; an interval needs {DETOURS_MIN}{longer}"
        )


def bursts_checked(source: str, gaps: np.ndarray) -> None:
    """Raises StatisticsError if detours come in too few bursts for an interval. The variance of gaps over
    their squared mean is how many detours a burst has; 1 for independent detours, less for regular ones."""
    burst = max(float(gaps.var()) / float(gaps.mean()) ** 2, 1.0)
    needed = math.ceil(DETOURS_MIN * burst**1.5)
    if len(gaps) < needed:
        raise StatisticsError(
            f"{source}: {len(gaps):,} detours, in bursts of about {burst:.2g}; an interval needs {needed:,}: "
            f"measure {math.ceil(needed / len(gaps))} times as long"
        )


def bursts_text(source: str, count: int) -> str:
    """Returns the error for a measurement with too few independent batches."""
    return (
        f"{source}: detours come in bursts, so that only about {count} parts of the measurement are "
        f"independent, and an interval needs {2 * BATCHES_MIN}: measure "
        f"{math.ceil(2 * BATCHES_MIN / count)} times as long"
    )


def cycles(trace: Trace) -> np.ndarray:
    """Returns the time from each detour's start to the next one's, ns; their sum is the measured time."""
    starts = trace.start_ns
    return np.diff(starts, append=trace.span_ns + starts[0])


def _per_time(source: str, lengths: np.ndarray, gaps: np.ndarray, confidence: float) -> Interval:
    """Returns the interval of sum lengths / sum gaps."""
    span_ns = float(gaps.sum())
    ratio = float(lengths.sum()) / span_ns
    if ratio == 0:
        raise StatisticsError(
            f"{source}: all detours have the length 0, so their share of the time has no interval; use a "
            "finer clock"
        )
    _variance_checked(source, lengths, gaps, ratio)
    bursts_checked(source, gaps)
    count, _ = independent_count(lengths, gaps[:-1], lengths - ratio * gaps)
    if count < BATCHES_MIN:
        raise StatisticsError(bursts_text(source, count))
    residual = np.add.reduceat(lengths - ratio * gaps, cuts(len(gaps), count))
    deviation = math.sqrt(float(residual @ residual) * count / (count - 1)) / span_ns
    edge = float(lengths.max()) / span_ns
    half = student(confidence, count - 1) * deviation
    low, high = _widened(half, edge, ratio)
    remark = ""
    if edge > EDGE_SHARE * half:
        remark = "conservative: the interval is as wide as one more or one less of the longest detours"
    return Interval(ratio * low, ratio * high, confidence, remark)


def _widened(half: float, edge: float, value: float) -> tuple[float, float]:
    """Returns the bounds of the value as factors. The longest detour may be missing or be one too many; a
    longer one than all that were seen would raise the sum even more, so it counts in full above."""
    return math.exp(-math.hypot(half, edge) / value), math.exp((half + edge) / value)


def _variance_checked(source: str, lengths: np.ndarray, gaps: np.ndarray, ratio: float) -> None:
    """Raises StatisticsError if the variance of cycles is probably infinite: one cycle has a large part of
    it, and lengths or gaps have a heavy tail. The last gap is an artefact of the replay."""
    long_lengths = lengths.max() > LENGTH_MAX * lengths.mean()
    long_gaps = gaps[:-1].max() > GAP_MAX * gaps.mean()
    residual = lengths - ratio * gaps
    residual[-1] = max(residual[-1], 0.0)
    power = residual**2
    rounding = (1e-9 * lengths.max()) ** 2
    if not (long_lengths or long_gaps) or power.max() <= max(SHARE_MAX * power.sum(), rounding):
        return
    if power.max() > SHARE_OF_ONE * power.sum():
        raise StatisticsError(
            f"{source}: one detour, or one time between detours, makes "
            f"{100 * power.max() / power.sum():.0f} % of the variance, and was seen once, so there is no "
            "interval; measure 10 times as long"
        )
    if long_lengths:
        _tail_checked(source, "lengths of detours", lengths, SURELY_FINITE)
    if long_gaps:
        _tail_checked(source, "times between detours", gaps[:-1], SURELY_INFINITE)


def _tail_checked(source: str, what: str, values: np.ndarray, errors: float) -> None:
    shape, error = tail_shape(values)
    if shape + errors * error <= NO_VARIANCE:
        return
    if shape > NO_VARIANCE:
        index = f"index {1 / shape:.2g}" if math.isfinite(shape) else "too few long ones for an index"
        raise StatisticsError(
            f"{source}: the {what} have a heavy tail ({index}; a variance needs more than 2), so the longest "
            "alone decides their mean, which has no interval; compare medians and rates"
        )
    raise StatisticsError(
        f"{source}: the {what} may have a heavy tail (index {1 / max(shape, 1e-3):.2g} by the longest; a "
        "variance needs one surely above 2); measure 4 times as long to know, or compare medians and rates"
    )


# ---- Measured phases, of which only the distribution is known ----


def phases_lost_ratio(data: PhaseData) -> float:
    """Returns the share of time that phases lost: their mean delay over their mean length, from 0 to 1."""
    delays = delays_of_phases(data)
    return delays.mean_ns / (delays.grain_ns + delays.mean_ns)


def phases_delayed_interval(data: PhaseData, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of p of measured phases, taken as independent: that of the logarithm of a binomial
    share. StatisticsError for fewer than DETOURS_MIN delayed phases."""
    confidence_checked(confidence)
    delayed = _delayed_checked(data)
    p = delayed / data.count
    half = student(confidence, NORMAL_FROM) * math.sqrt((1 - p) / delayed)
    return Interval(p * math.exp(-half), min(p * math.exp(half), 1.0), confidence)


def _delayed_checked(data: PhaseData) -> int:
    """Returns the number of delayed phases; StatisticsError if there are too few."""
    delays = delays_of_phases(data)
    delayed = round(float(delays.share[delays.delay_ns > 0].sum()) * data.count)
    if delayed < DETOURS_MIN:
        raise StatisticsError(
            f"{data.name}: {delayed} delayed phases; an interval needs {DETOURS_MIN}: measure longer"
        )
    return delayed


def phases_lost_interval(data: PhaseData, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of `phases_lost_ratio`. Phases are taken as independent, since the data do not
    hold their order: if noise comes in bursts, the interval is too narrow. StatisticsError as for
    `ratio_interval`."""
    confidence_checked(confidence)
    delays, delayed = delays_of_phases(data), _delayed_checked(data)
    mean = delays.mean_ns
    power = delays.share * (delays.delay_ns - mean) ** 2
    if delays.delay_ns[-1] ** 2 > SHARE_MAX * power.sum() * data.count:
        longest = np.repeat(delays.delay_ns, np.round(delays.share * data.count).astype(np.int64))
        _tail_checked(data.name, "delays of phases", longest[-(delayed + 1) :], SURELY_FINITE)
    half = student(confidence, data.count - 1) * math.sqrt(float(power.sum()) / (data.count - 1))
    low, high = _widened(half, delays.longest_ns / data.count, mean)
    low, high = mean * low, mean * high
    return Interval(low / (delays.grain_ns + low), high / (delays.grain_ns + high), confidence)
