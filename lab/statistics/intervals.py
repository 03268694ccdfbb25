# SPDX-License-Identifier: BSD-2-Clause
"""Computes the confidence of conclusions: intervals of the slowdown E(Y)/G - 1 and of the largest job, by a
bootstrap of blocks of time; whether one event decides; and the slowdown of nodes with different noise.

A trace's detours come in bursts and periods, so neighbours are not independent; blocks of time that are
longer than both nearly are. The axis of work (delays.py) is cut into blocks; each holds the share of phases
that begin in it, by their delay. A resample draws the same number of blocks with replacement [Efron,
Tibshirani: An Introduction to the Bootstrap, 1993, §8.6]. Its percentiles are too narrow, since a resample
has no event that the data lack; so the interval is Student's of the logarithm, with the resamples' deviation,
and above it allows for one more of the longest events. Few data know nothing of the longest of many phases:
an interval is given for at most one node in NODES_SHARE phases. Measured phases (`apps/phase`) are a
distribution without times, so single phases are drawn: if noise comes in bursts, their interval is too
narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.statistics.confidence import CONFIDENCE, Interval, student
from lab.statistics.delays import Delays, delays_of_phases, delays_of_trace, pieces_of_trace
from lab.statistics.errors import StatisticsError
from lab.statistics.scale import scale_max, slowdown

BLOCKS = 50
#: The least number of blocks. A phase longer than a block belongs to no block.
BLOCKS_MIN = 10
#: The most distinct delays in a resample; if there are more, the shorter ones are put together.
CLASSES_MAX = 2048
RESAMPLES = 400
SEED = 1
#: An interval is given for jobs of at most one node in this number of phases.
NODES_SHARE = 40


@dataclass(frozen=True)
class Blocks:
    """The shares of phases by delay: `share[b, i]` is the share of `delay_ns[i]` in block b; the sum of all
    is 1. `single`: each phase is a block of its own; then there is one row, from which phases are drawn."""

    grain_ns: float
    delay_ns: np.ndarray
    share: np.ndarray
    phases: float
    single: bool = False


def _classes(delays: Delays) -> np.ndarray:
    """Returns the class of each delay: itself, or if there are too many delays, one of equal shares. The
    longest half of the classes hold one delay each."""
    count = len(delays.delay_ns)
    if count <= CLASSES_MAX:
        return np.arange(count)
    apart = CLASSES_MAX // 2
    below = np.cumsum(delays.share[: count - apart])
    together = np.minimum((below / below[-1] * apart).astype(np.int64), apart - 1)
    return np.unique(np.concatenate([together, apart + np.arange(apart)]), return_inverse=True)[1]


def blocks_of_trace(trace: Trace, grain_ns: float, count: int = BLOCKS) -> Blocks:
    """Cuts the trace's phases into blocks of time; into fewer if they would be shorter than two grains.
    StatisticsError if fewer than ten are left."""
    delays, edges, of = pieces_of_trace(trace, grain_ns)
    count = min(count, int(edges[-1] / (2 * grain_ns)))
    if count < BLOCKS_MIN:
        raise StatisticsError(
            f"{trace.source}: fewer than {BLOCKS_MIN} blocks of two phases of {grain_ns:g} ns; measure longer"
        )
    limits = np.arange(1, count) * (edges[-1] / count)
    cut = np.concatenate([edges, limits])
    order = np.argsort(cut, kind="stable")
    cut = cut[order]
    piece = np.searchsorted(edges, (cut[:-1] + cut[1:]) / 2, side="right") - 1
    block = np.minimum(((cut[:-1] + cut[1:]) / 2 * count / edges[-1]).astype(np.int64), count - 1)
    classes = _classes(delays)
    width = int(classes[-1]) + 1
    at = block * width + classes[of[np.clip(piece, 0, len(of) - 1)]]
    share = np.bincount(at, weights=np.diff(cut), minlength=count * width).reshape(count, width)
    return Blocks(grain_ns, _class_delays(delays, classes), share / share.sum(), delays.phases)


def _class_delays(delays: Delays, classes: np.ndarray) -> np.ndarray:
    weight = np.bincount(classes, weights=delays.share)
    mean: np.ndarray = np.bincount(classes, weights=delays.share * delays.delay_ns) / weight
    return mean


def blocks_of_phases(data: PhaseData) -> Blocks:
    """Returns measured phases, each as a block of its own."""
    delays = delays_of_phases(data)
    classes = _classes(delays)
    share = np.bincount(classes, weights=delays.share)[None, :]
    return Blocks(delays.grain_ns, _class_delays(delays, classes), share, delays.phases, single=True)


@dataclass(frozen=True)
class Resampled:
    """Distributions drawn from blocks, the distribution of all, and the degrees of freedom of their
    deviation."""

    whole: Delays
    drawn: list[Delays]
    freedom: int

    @property
    def nodes_max(self) -> float:
        """The largest job for which there is an interval."""
        return self.whole.phases / NODES_SHARE


def resampled(blocks: Blocks, resamples: int = RESAMPLES, seed: int = SEED) -> Resampled:
    """Returns distributions drawn from the blocks; the same for the same seed."""
    generator = np.random.default_rng(seed)
    total = blocks.share.sum(axis=0)
    if blocks.single:
        freedom = max(round(blocks.phases) - 1, 1)
        shares = generator.multinomial(round(blocks.phases), total / total.sum(), resamples).astype(float)
    else:
        count = len(blocks.share)
        freedom = count - 1
        shares = generator.multinomial(count, np.full(count, 1 / count), resamples) @ blocks.share
    whole, *drawn = (_delays(blocks, share) for share in (total, *shares))
    return Resampled(whole, drawn, freedom)


def _delays(blocks: Blocks, share: np.ndarray) -> Delays:
    kept = share > 0
    return Delays(blocks.grain_ns, blocks.delay_ns[kept], share[kept] / share.sum(), blocks.phases)


def slowdown_interval(found: Resampled, nodes: float, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of E(Y)/G - 1 for a step of `nodes` nodes. StatisticsError if there are fewer than
    NODES_SHARE phases for each node, or if resamples may have no delay at all."""
    if nodes > found.nodes_max:
        longer = math.ceil(nodes / found.nodes_max)
        raise StatisticsError(
            f"{found.whole.phases:,.0f} phases; the slowdown of {nodes:,.0f} nodes has an interval from "
            f"{NODES_SHARE * nodes:,.0f} phases on: measure {longer} times as long"
        )
    return Interval(*_slowdown_bounds(found, nodes, confidence), confidence)


def _slowdown_bounds(found: Resampled, nodes: float, confidence: float) -> tuple[float, float]:
    excess = np.array([float(slowdown(delays, nodes)) - 1 for delays in found.drawn])
    if not excess.min() > 0:
        raise StatisticsError("too few delayed phases for an interval; measure longer")
    value = float(slowdown(found.whole, nodes)) - 1
    half = student(confidence, found.freedom) * float(np.log(excess).std(ddof=1))
    half *= math.sqrt((found.freedom + 1) / found.freedom)
    return value * math.exp(-half), value * math.exp(half) + _one_more(found.whole, nodes) - value


def _one_more(delays: Delays, nodes: float) -> float:
    """Returns E(Y)/G - 1 if there had been one more event of the longest delay: it delays one phase, or the
    phases that begin less than a grain before it."""
    share = delays.share.copy()
    share[-1] += 1 / delays.phases
    return float(slowdown(replace(delays, share=share / share.sum()), nodes)) - 1


def scale_interval(found: Resampled, tolerance: float, confidence: float = CONFIDENCE) -> Interval:
    """Returns the interval of the largest job within the tolerance: the jobs whose slowdown's interval holds
    it. The upper bound is infinite if it is beyond `nodes_max`. StatisticsError as for
    `slowdown_interval`."""
    if found.nodes_max < 1:
        raise StatisticsError(
            f"{found.whole.phases:,.0f} phases; the largest job has an interval from {NODES_SHARE} on: "
            "measure longer"
        )
    ends = []
    for end in (1, 0):
        low, high = 0.0, found.nodes_max
        if _slowdown_bounds(found, high, confidence)[end] <= tolerance:
            ends.append(math.inf if end == 0 else math.floor(high))
            continue
        while high - low > max(0.5, 0.01 * low):
            middle = max((low + high) / 2, 1.0)
            inside = _slowdown_bounds(found, middle, confidence)[end] <= tolerance
            low, high = (middle, high) if inside else (low, middle)
            if middle == 1.0 and not inside:
                break
        ends.append(math.floor(low))
    return Interval(float(ends[0]), float(ends[1]), confidence)


# ---- One event that decides ----


def without_longest(source: Trace | PhaseData, grain_ns: float) -> tuple[Delays, float] | None:
    """Returns the delays without the one longest event, and its length, ns; None if there is no event."""
    if isinstance(source, Trace):
        if not source.listed or source.duration_ns.max() <= 0:
            return None
        longest = int(source.duration_ns.argmax())
        length = float(source.duration_ns[longest])
        starts, durations = source.start_ns.copy(), source.duration_ns.copy()
        starts[longest + 1 :] = np.maximum(starts[longest + 1 :] - length, starts[longest])
        durations[longest] = 0.0
        span_ns = max(source.listed_span_ns - length, float(starts[-1]), float(durations.sum()), 1.0)
        rest = Trace(source.source, source.format, starts, durations, span_ns)
        return delays_of_trace(rest, grain_ns), length
    delays = delays_of_phases(source)
    if delays.longest_ns == 0:
        return None
    share = delays.share.copy()
    share[-1] -= min(1 / source.count, share[-1])
    kept = share > 0.5 / source.count
    return Delays(
        delays.grain_ns, delays.delay_ns[kept], share[kept] / share[kept].sum(), delays.phases
    ), delays.longest_ns


def deciding_event_ns(
    source: Trace | PhaseData, delays: Delays, grain_ns: float, tolerance: float
) -> float | None:
    """Returns the length of the event without which the slowdown would be less than half, for the largest job
    that the data are valid for; None if no single event decides. Such an event was seen once, and might have
    been seen twice or not at all, so it has no interval."""
    rest = without_longest(source, grain_ns)
    if rest is None:
        return None
    nodes = max(min(scale_max(delays, tolerance), delays.phases), 1.0)
    excess = float(slowdown(delays, nodes)) - 1
    return rest[1] if float(slowdown(rest[0], nodes)) - 1 < excess / 2 else None


# ---- Nodes with different noise ----


def slowdown_unlike(parts: Sequence[tuple[Delays, float]]) -> float:
    """Computes E(Y)/G of a job whose nodes have different noise: n_i nodes with the i-th distribution. The
    longest phase is not above x if no phase is: P(Y <= x) = prod F_i(x)^n_i. Pooling the distributions
    instead would give each node a share of the others' noise [Tsafrir05 §2.4]. The grain is the mean of the
    nodes' grains."""
    if not parts or min(count for _, count in parts) < 0 or sum(count for _, count in parts) < 1:
        raise StatisticsError("a job without nodes; give one node or more")
    delay_ns = np.unique(np.concatenate([delays.delay_ns for delays, _ in parts]))
    log_not_above = np.zeros(len(delay_ns))
    for delays, count in parts:
        above = np.concatenate([np.cumsum(delays.share[::-1])[::-1][1:], [0.0]])
        place = np.searchsorted(delays.delay_ns, delay_ns, side="right") - 1
        log_above = np.log1p(-np.minimum(above, 1 - 1e-16))
        log_not_above += count * np.where(
            place >= 0, log_above[np.maximum(place, 0)], -np.inf if count else 0.0
        )
    steps = np.diff(np.exp(log_not_above), prepend=0.0)
    grain_ns = sum(delays.grain_ns * count for delays, count in parts) / sum(count for _, count in parts)
    return 1.0 + float((delay_ns * steps).sum()) / grain_ns
