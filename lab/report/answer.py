# SPDX-License-Identifier: BSD-2-Clause
"""Judges the nodes in one sentence: how far each node's noise lets a job scale, which node is quieter, and by
how much.

A job scales to the largest n for which a step is slowed by at most the tolerance: E(Y)/G <= 1 + tolerance
[Tsafrir05 §2.4]. A step of n nodes draws n phases. Data with m phases of the grain show no event that is
rarer than one in m, so each statement about a node ends at m nodes. For a silent node nothing else is known.
If one single event decides the slowdown, another measurement might have seen it twice or not at all;
statements then end at a tenth of m.

Each conclusion has a 95 % interval by a bootstrap of blocks of time (lab/statistics/intervals.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab import statistics
from lab.common.text import count_text, percent_text, time_text
from lab.formats.phase import PhaseData
from lab.report.nodes import Basis, Node
from lab.statistics import Interval, StatisticsError

#: A size that people can picture, for which each node's slowdown is shown.
NODES_SHOWN = 1_000
#: If one event decides, the data are valid for the usual number of nodes divided by this.
TENTH = 10


#: Names for use in a sentence, for keys that read badly there.
SPOKEN = {"linux-tuned": "the tuned Linux", "linux-rt": "the PREEMPT_RT Linux"}


@dataclass(frozen=True)
class Options:
    """The user's choices. `tolerance` is a fraction; `command` makes this report again."""

    grain_ns: int
    tolerance: float
    title: str
    command: str


@dataclass(frozen=True)
class Verdict:
    """The judgement of one node.

    scale      number of nodes of the largest job within the tolerance; infinite if no job is too large
    known      the largest number of nodes for which the data are valid
    slowdown   E(Y)/G - 1 for NODES_SHOWN nodes; `slowdown_interval` is the interval of the same
    event_ns   length of the one event that decides, or None if no single event does

    An interval is None if the data are too few for one.
    """

    node: Node
    basis: Basis
    slowdown: float
    scale: float
    known: float
    event_ns: float | None = None
    scale_interval: Interval | None = None
    slowdown_interval: Interval | None = None
    p_interval: Interval | None = None

    @property
    def lost_ratio(self) -> float:
        """The share of time lost: from the trace if there is one, else from phases of the grain."""
        if self.basis.trace is not None:
            return statistics.noise_ratio(self.basis.trace)
        mean_ns = self.basis.delays.mean_ns
        return mean_ns / (self.basis.delays.grain_ns + mean_ns)

    @property
    def silent(self) -> bool:
        return self.basis.delays.longest_ns == 0


def _verdict(node: Node, basis: Basis, tolerance: float) -> Verdict:
    delays, grain_ns = basis.delays, basis.delays.grain_ns
    slowdown = float(statistics.slowdown(delays, NODES_SHOWN)) - 1
    scale = statistics.scale_max(delays, tolerance)
    event_ns = statistics.deciding_event_ns(basis.source, delays, grain_ns, tolerance)
    known = delays.phases * (1 + 1e-9) / (1 if event_ns is None else TENTH)
    verdict = Verdict(node, basis, slowdown, scale, max(math.floor(known), 1), event_ns)
    if verdict.silent or event_ns is not None:
        return verdict
    try:
        blocks = (
            statistics.blocks_of_phases(basis.source)
            if isinstance(basis.source, PhaseData)
            else statistics.blocks_of_trace(basis.source, grain_ns)
        )
    except StatisticsError:
        return verdict
    drawn = statistics.resampled(blocks)
    return replace(
        verdict,
        scale_interval=statistics.scale_interval(drawn, tolerance),
        slowdown_interval=statistics.interval(
            drawn, lambda d: float(statistics.slowdown(d, NODES_SHOWN)) - 1
        ),
        p_interval=statistics.interval(drawn, lambda d: statistics.p(d, 0)),
    )


def interval_text(verdict: Verdict) -> str:
    """Returns the interval of the largest job in brackets, or why there is none; empty for a silent node."""
    found = verdict.scale_interval
    if verdict.event_ns is not None:
        return (
            f" (one single event of {time_text(verdict.event_ns)} decides that; it was seen only once, so "
            "there is no interval)"
        )
    if verdict.silent:
        return ""
    if found is None:
        return " (too few phases for an interval)"
    high = f"{count_text(verdict.known)} or more" if found.high > verdict.known else count_text(found.high)
    low = f"{count_text(verdict.known)}" if found.low > verdict.known else count_text(found.low)
    return f" (95 %: {low} to {high})"


def slowed_text(verdict: Verdict) -> str:
    """Returns the slowdown of a job on NODES_SHOWN nodes, with its interval, as text."""
    text = f"{NODES_SHOWN:,} nodes are slowed by {percent_text(verdict.slowdown)}"
    if found := verdict.slowdown_interval:
        text += f" (95 %: {percent_text(found.low)} to {percent_text(found.high)})"
    return text


def verdicts(nodes: Sequence[Node], chosen: Mapping[str, Basis], tolerance: float) -> list[Verdict]:
    """Returns the verdict of each node that has a basis, the quietest first."""
    found = []
    for node in nodes:
        if node.key not in chosen:
            continue
        found.append(_verdict(node, chosen[node.key], tolerance))
    return sorted(found, key=lambda verdict: (verdict.slowdown, verdict.lost_ratio))


def scale_text(verdict: Verdict, tolerance: float) -> str:
    """Returns how far a job scales on this node, without comparison to others, limited to what the data
    show."""
    limit, known = percent_text(tolerance), count_text(verdict.known)
    if verdict.silent:
        return (
            f"not one delay in {known} phases: by these data, no job of up to {known} nodes is slowed; about "
            "larger jobs they say nothing"
        )
    if verdict.scale < 1:
        return f"even a single node is slowed by more than {limit}"
    example = slowed_text(verdict)
    sure = interval_text(verdict)
    if verdict.scale <= verdict.known:
        return f"a step is slowed by at most {limit} up to {count_text(verdict.scale)} nodes{sure}; {example}"
    return (
        f"a step is slowed by at most {limit} up to {known} nodes; about more nodes its data say "
        f"nothing{sure}; {example}"
    )


def together(found: Sequence[Verdict], nodes: float) -> float | None:
    """Returns E(Y)/G of a job on `nodes` nodes, an equal part of each kind, each kind with its own
    distribution. None if there is only one kind, or fewer nodes than kinds."""
    if len(found) < 2 or nodes < len(found):
        return None
    return statistics.slowdown_unlike([(v.basis.delays, nodes / len(found)) for v in found])


def _name(verdict: Verdict) -> str:
    return spoken(verdict.node)


def spoken(node: Node) -> str:
    """Returns a node's name for use in a sentence."""
    return SPOKEN.get(node.key, node.plain_name)


def apart_text(nodes: Sequence[Node], found: Sequence[Verdict]) -> str:
    """Returns a sentence, to follow the answer, that names the nodes left out of it; empty if there are
    none."""
    names = [spoken(node) for node in nodes if all(v.node is not node for v in found)]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    text = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return (
        f" {text[0].upper()}{text[1:]} * {verb} left out of this answer: the measurements there are doubtful "
        "(see the notes marked *)."
    )


def _part(verdict: Verdict) -> str:
    """Returns how far a job scales on this node, as a part of the sentence."""
    known = f"the {count_text(verdict.known)} nodes for which its data are valid"
    example, sure = slowed_text(verdict), interval_text(verdict)
    if verdict.silent:
        return f"to {known}, without a single delay"
    if verdict.scale < 1:
        return f"not even to one node ({example})"
    if verdict.scale <= verdict.known:
        return f"to {count_text(verdict.scale)} nodes{sure} ({example})"
    return f"to {known}{sure} ({example})"


def _quieter(found: Sequence[Verdict]) -> str:
    """Returns which node is quieter, and by how much."""
    quiet, loud = found[0], found[-1]
    if quiet.lost_ratio == loud.lost_ratio:
        return "the nodes are equally quiet"
    lost = percent_text(quiet.lost_ratio), percent_text(loud.lost_ratio)
    both = f"it loses {lost[0]} of its time, {_name(loud)} {lost[1]}"
    if quiet.lost_ratio > 0:
        both += f", {loud.lost_ratio / quiet.lost_ratio:.3g} times as much"
    degree = "quietest" if len(found) > 2 else "quieter"
    return f"{_name(quiet)} is the {degree} node: {both}"


def sentence(found: Sequence[Verdict], grain_ns: int, tolerance: float) -> str:
    """Returns the report's answer as one sentence."""
    first, *others = found
    parts = [
        f"{_name(first)}'s noise lets a job scale {_part(first)}",
        *(f"{_name(v)}'s {_part(v)}" for v in others),
    ]
    text = ", ".join(parts[:-1]) + (", and " if others else "") + parts[-1]
    premise = (
        f"With {time_text(grain_ns)} of computation between synchronisations and {percent_text(tolerance)} "
        "of slowdown tolerated, "
    )
    return premise + text + (f"; {_quieter(found)}." if others else ".")
