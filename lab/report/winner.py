# SPDX-License-Identifier: BSD-2-Clause
"""Says which node loses the least time, if that is sure.

Nodes are ranked by the time that they lose per second of measured time, and the sentence argues by the same
figure. A node is a winner if the interval of its difference to each other node excludes zero, with Holm's
correction for all pairs (lab/statistics/differences.py). Otherwise the sentence says that there is none, and
why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab import statistics
from lab.common.text import percent_text, signed_percent_text, times_text
from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.statistics import Figure, StatisticsError

#: Thresholds that differ by less count as the same.
SAME_THRESHOLD = 1.02


@dataclass(frozen=True)
class Ranked:
    """A node by its name, the share of time that it loses, and the sentence's words for it."""

    name: str
    figure: Figure

    @property
    def lost(self) -> str:
        return percent_text(self.figure.value)


def figures_of(sources: Sequence[Trace | PhaseData]) -> list[Figure]:
    """Returns what each source loses, so that the figures can be compared: only detours count that every
    source would have seen. StatisticsError if a source has no such figure."""
    limit_ns = max((s.threshold_ns or 0.0 for s in sources if isinstance(s, Trace)), default=0.0)
    seen = [above(s, limit_ns) if isinstance(s, Trace) else s for s in sources]
    longest_ns = max((_longest_ns(source) for source in seen), default=0.0)
    return [statistics.lost_figure(source, longest_ns) for source in seen]


def above(trace: Trace, limit_ns: float) -> Trace:
    """Returns the trace as a method with the threshold `limit_ns` would have seen it; the trace itself if its
    threshold is about the same, or unknown."""
    if trace.threshold_ns is None or trace.threshold_ns * SAME_THRESHOLD >= limit_ns or not trace.complete:
        return trace
    kept = trace.duration_ns >= limit_ns
    return replace(
        trace, start_ns=trace.start_ns[kept], duration_ns=trace.duration_ns[kept], threshold_ns=limit_ns
    )


def _longest_ns(source: Trace | PhaseData) -> float:
    if isinstance(source, PhaseData):
        return statistics.delays_of_phases(source).longest_ns
    return float(statistics.detour_figures(source).maximum_ns or 0.0)


def rank(nodes: Sequence[Ranked]) -> list[Ranked]:
    """Returns the nodes, that which loses least first; of equals in the given order."""
    return sorted(nodes, key=lambda node: node.figure.value)


def without_interval(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Returns the nodes whose loss has no interval, so that they cannot be compared."""
    return [node for node in ranked if refusal(node)]


def refusal(node: Ranked) -> str:
    """Returns why a node's loss has no interval; empty if it has one."""
    try:
        node.figure.interval(0.95)
    except StatisticsError as error:
        return str(error)
    return ""


def _pairs_sure(one: Ranked, others: Sequence[Ranked], count: int, less: bool) -> bool:
    """Whether one of `count` nodes surely loses less (or more) than each of the others that has an
    interval."""
    known = [other for other in others if not refusal(other)]
    pairs = [(other.figure, one.figure) if less else (one.figure, other.figure) for other in known]
    return bool(pairs) and all(statistics.surely_different(pairs, family=count * (count - 1) // 2))


def winner_sure(ranked: Sequence[Ranked]) -> bool:
    """Returns whether the first of the ranked nodes surely loses less than each other one that has an
    interval."""
    return len(ranked) > 1 and _pairs_sure(ranked[0], ranked[1:], len(ranked), less=True)


def loser_sure(ranked: Sequence[Ranked]) -> bool:
    """Returns whether the last of the ranked nodes surely loses more than each other one that has an
    interval."""
    return len(ranked) > 1 and _pairs_sure(ranked[-1], ranked[:-1], len(ranked), less=False)


def winner_text(nodes: Sequence[Ranked]) -> str:
    """Returns the sentences on the node that loses least; empty for less than two nodes."""
    if len(nodes) < 2:
        return ""
    ranked = rank(nodes)
    if not winner_sure(ranked):
        return _no_winner(ranked)
    first, last = ranked[0], ranked[-1]
    times = f", {times_text(last.figure.value / first.figure.value)} as much" if first.figure.value else ""
    if len(ranked) == 2:
        return (
            f"{first.name} loses less time than {last.name}: {first.lost} against {last.lost}{times}"
            f"{_difference(last, first)}."
        )
    return (
        f"{first.name} loses the least time, {first.lost}; the others lose {ranked[1].lost} "
        f"({ranked[1].name}) to {last.lost} ({last.name}{times}). Each difference to "
        f"{first.name} is sure (95 %, Holm's correction for {len(ranked) * (len(ranked) - 1) // 2} pairs)."
        f"{_left_out(ranked)}"
    )


def _difference(more: Ranked, less: Ranked) -> str:
    found = statistics.difference_interval(more.figure, less.figure)
    return f" (difference, 95 %: {signed_percent_text(found.low)} to {signed_percent_text(found.high)})"


def _left_out(ranked: Sequence[Ranked]) -> str:
    """Returns a sentence on the nodes that have no interval; empty if all have one."""
    left = without_interval(ranked)
    if not left:
        return ""
    names = ", ".join(node.name for node in left[:4]) + (
        f" and {len(left) - 4} more" if len(left) > 4 else ""
    )
    return f" Not compared, without an interval: {names} ({refusal(left[0])})."


def _no_winner(ranked: Sequence[Ranked]) -> str:
    """Returns why no node is a winner: an interval that cannot be had, or one that holds zero."""
    first, second = ranked[0], ranked[1]
    for node in (first, second):
        if why := refusal(node):
            return f"No node is a winner: the time that {node.name} loses has no interval ({why})."
    both = f"{first.name} ({first.lost}) and {second.name} ({second.lost})"
    if first.figure.value == second.figure.value:
        return f"No node is a winner: {both} lose the same."
    found = statistics.difference_interval(second.figure, first.figure)
    if found.holds(0.0):
        return (
            f"No node is a winner: {both} lose different shares of time, but the difference may be "
            f"zero (95 %: {signed_percent_text(found.low)} to {signed_percent_text(found.high)})."
        )
    return (
        f"No node is a winner: of {len(ranked)} nodes {both} lose least, and their difference is not sure "
        f"after Holm's correction for {len(ranked) * (len(ranked) - 1) // 2} pairs."
        f"{_left_out(ranked)}"
    )
