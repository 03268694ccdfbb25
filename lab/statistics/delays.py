# SPDX-License-Identifier: BSD-2-Clause
"""Computes the effect of noise on one node of a job: the distribution of a computation phase's delay
[Tsafrir05 §2.1, §3.1]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.statistics.errors import StatisticsError


@dataclass(frozen=True)
class Delays:
    """The distribution of a computation phase's delay: it lasts `grain_ns` and `delay_ns[i]` more with
    probability `share[i]`.

    Delays rise, shares are positive and their sum is 1. `phases` is the number of phases that the data hold:
    events rarer than one in `phases` are not seen, and figures for jobs of more nodes are an extrapolation.
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
    """Returns the distribution that `pieces_of_trace` computes."""
    return pieces_of_trace(trace, grain_ns)[0]


def pieces_of_trace(trace: Trace, grain_ns: float) -> tuple[Delays, np.ndarray, np.ndarray]:
    """Computes the exact delay of a phase of `grain_ns` of work that begins at a random time of the trace
    [Tsafrir05 §2.1, §3.1].

    The trace is replayed cyclically, as in [Hoefler10 §IV]; the processor does no work during a detour. On an
    axis of work done (time without the detours) detour i is a point w_i, and a phase that begins at u meets
    the detours in [u, u + grain). The sum of their lengths changes only where u passes a w_i or a w_i -
    grain: at 2n places. Between these places it is constant, and the distances are the shares, so there is no
    sampling error besides the trace's own. `grain_ns` is any length above 0. StatisticsError if the format
    has no starts or lengths, or if detours leave no time to work.

    Returns the distribution, the places on the axis of work (one more than pieces), and for each piece the
    index of its delay.
    """
    if not grain_ns > 0:
        raise StatisticsError(f"a grain of {grain_ns:g} ns; give a positive time")
    if math.isnan(trace.span_ns):
        raise StatisticsError(f"{trace.source}: the measured time is unknown; give it with --span SECONDS")
    if not trace.complete:
        raise StatisticsError(
            f"{trace.source}: the {trace.format} format does not hold each detour's start and length, so "
            "phases cannot be replayed; give a file that has them"
        )
    total_ns = float(trace.duration_ns.sum())
    work_ns = trace.listed_span_ns - total_ns
    if not work_ns > 0:
        raise StatisticsError(f"{trace.source}: detours take all the time; no time to work is left")
    real = trace.duration_ns > 0
    durations = trace.duration_ns[real]
    rounds, rest_ns = divmod(grain_ns, work_ns)
    if not len(durations):
        silent = Delays(grain_ns, np.zeros(1), np.ones(1), work_ns / grain_ns)
        return silent, np.array([0.0, work_ns]), np.zeros(1, dtype=np.int64)
    sums = np.concatenate([[0.0], np.cumsum(durations)])
    points = np.clip(trace.start_ns[real] - sums[:-1], 0.0, np.nextafter(work_ns, 0))
    points = np.maximum.accumulate(points)
    edges = np.concatenate(
        [[0.0], np.sort(np.concatenate([points, (points - rest_ns) % work_ns])), [work_ns]]
    )
    lengths = np.diff(edges)
    middles = edges[:-1] + lengths / 2
    ends = middles + rest_ns
    until_end = np.where(
        ends < work_ns,
        sums[np.searchsorted(points, ends)],
        total_ns + sums[np.searchsorted(points, ends - work_ns)],
    )
    # Sums of the same detours may differ in the last bits. They are rounded to a picosecond, finer than any
    # clock.
    delays = np.round(until_end - sums[np.searchsorted(points, middles)] + rounds * total_ns, 3)
    delays = np.maximum(delays, 0.0)
    found = _distribution(grain_ns, delays, lengths, work_ns / grain_ns)
    of = np.minimum(np.searchsorted(found.delay_ns, delays), len(found.delay_ns) - 1)
    return found, edges, of


def delays_of_phases(data: PhaseData) -> Delays:
    """Returns the measured distribution D of one grain. The delay is the time that a phase lasted beyond the
    undisturbed one [Tsafrir05 §3.1], and 0 within its reach."""
    floor = data.floor
    beyond = np.where(data.ticks > floor.mode + floor.reach, data.ticks - floor.mode, 0)
    return _distribution(data.calibrated_ns, beyond / data.ticks_per_ns, data.phases, float(data.count))


def p(delays: Delays, delay_ratio: float) -> float:
    """Returns p: the probability that a phase on one node is delayed by more than `delay_ratio` of its grain
    (0.01: 1 %) [Tsafrir05 §2.1, Fig. 5]."""
    if not delay_ratio >= 0:
        raise StatisticsError(f"a delay of {delay_ratio:g} of the grain; give 0 or more")
    return float(delays.share[delays.delay_ns > delay_ratio * delays.grain_ns].sum())
