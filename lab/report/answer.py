# SPDX-License-Identifier: BSD-2-Clause
"""Judges the nodes. A leading sentence of at most LEADING_WORDS words says how far each node lets a job
scale; then come the premise, which node loses least (winner.py), and each node's details.

A job scales to the largest n for which a step is slowed by at most the tolerance: E(Y)/G <= 1 + tolerance
[Tsafrir05 §2.4]. A step of n nodes draws n phases. Data with m phases of the grain show no event that is
rarer than one in m, so each statement about a node ends at m nodes. For a silent node nothing else is known.
If one single event decides the slowdown, another measurement might have seen it twice or not at all;
statements then end at a tenth of m.

Nodes are ranked by the time that they lose per second of measured time, everywhere on the page. Intervals of
p, slowdown and scale: lab/statistics/intervals.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lab import statistics
from lab.common.text import count_text, percent_text, time_text
from lab.formats.phase import PhaseData
from lab.report.nodes import Basis, Node
from lab.report.winner import Ranked, figures_of, rank, winner_sure, winner_text
from lab.statistics import Interval, StatisticsError

Result = TypeVar("Result")

#: A size that people can picture, for which each node's slowdown is shown.
NODES_SHOWN = 1_000
#: If one event decides, the data are valid for the usual number of nodes divided by this.
TENTH = 10


#: The leading sentence has no more words; longer ones become a summary.
LEADING_WORDS = 20

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
    return _with_intervals(verdict, tolerance)


def _with_intervals(verdict: Verdict, tolerance: float) -> Verdict:
    """Returns the verdict with the intervals that its data have."""
    source, grain_ns = verdict.basis.source, verdict.basis.delays.grain_ns
    if isinstance(source, PhaseData):
        p = _had(lambda: statistics.phases_delayed_interval(source))
        drawn = _had(lambda: statistics.resampled(statistics.blocks_of_phases(source)))
    else:
        p = _had(lambda: statistics.delayed_interval(source, grain_ns))
        drawn = _had(lambda: statistics.resampled(statistics.blocks_of_trace(source, grain_ns)))
    if drawn is None:
        return replace(verdict, p_interval=p)
    return replace(
        verdict,
        p_interval=p,
        scale_interval=_had(lambda: statistics.scale_interval(drawn, tolerance)),
        slowdown_interval=_had(lambda: statistics.slowdown_interval(drawn, NODES_SHOWN)),
    )


def _had(figure: Callable[[], Result]) -> Result | None:
    """Returns a figure, or None if the data do not have it."""
    try:
        return figure()
    except StatisticsError:
        return None


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
    if math.isinf(found.high):
        return f" (95 %: {count_text(found.low)} or more; the data are too few for an upper bound)"
    return f" (95 %: {count_text(found.low)} to {count_text(found.high)})"


def slowed_by(excess: float) -> str:
    """Returns a slowdown E(Y)/G - 1 in words: a percentage, or how many times the grain."""
    text = percent_text(excess)
    return f"{text} the grain" if text.endswith("times") else text


def slowed_text(verdict: Verdict) -> str:
    """Returns the slowdown of a step of NODES_SHOWN nodes, with its interval, as text."""
    text = f"a step of {NODES_SHOWN:,} nodes is slowed by {slowed_by(verdict.slowdown)}"
    if found := verdict.slowdown_interval:
        text += f" (95 %: {percent_text(found.low)} to {percent_text(found.high)})"
    return text


def verdicts(nodes: Sequence[Node], chosen: Mapping[str, Basis], tolerance: float) -> list[Verdict]:
    """Returns the verdict of each node that has a basis, that which loses least time first."""
    found = []
    for node in nodes:
        if node.key not in chosen:
            continue
        found.append(_verdict(node, chosen[node.key], tolerance))
    return sorted(found, key=lambda verdict: verdict.lost_ratio)


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


def _nodes_text(verdict: Verdict) -> str:
    """Returns the largest job in a few words."""
    if verdict.silent or verdict.scale > verdict.known:
        return "no limit found"
    if verdict.scale < 1:
        return "not even one node"
    return "1 node" if verdict.scale == 1 else f"{count_text(verdict.scale)} nodes"


def leading(found: Sequence[Verdict]) -> str:
    """Returns the leading sentence: the largest job on each node, the noisiest node first; of many nodes the
    smallest and the largest one."""
    text = "; ".join(f"{v.node.name}: {_nodes_text(v)}" for v in reversed(found)) + "."
    if len(text.split()) <= LEADING_WORDS:
        return text
    ends = sorted(found, key=_reach)
    text = f"{len(found)} nodes: from {_nodes_text(ends[0])} to {_nodes_text(ends[-1])}."
    named = (
        f"{len(found)} nodes: from {_nodes_text(ends[0])} ({ends[0].node.name}) to {_nodes_text(ends[-1])} "
        f"({ends[-1].node.name})."
    )
    return named if len(named.split()) <= LEADING_WORDS else text


def _reach(verdict: Verdict) -> tuple[bool, float]:
    """Orders verdicts by the largest job; without a limit by the number of nodes that the data speak for."""
    endless = verdict.silent or verdict.scale > verdict.known
    return endless, verdict.known if endless else verdict.scale


def premise_text(grain_ns: int, tolerance: float) -> str:
    """Returns what the leading sentence means."""
    return (
        f"The largest job whose steps, with {time_text(grain_ns)} of computation between synchronisations, "
        f"are slowed by at most {percent_text(tolerance)}."
    )


def compared_text(found: Sequence[Verdict]) -> str:
    """Returns which node loses the least time, or why no node is a winner; empty for one node."""
    if len(found) < 2:
        return ""
    methods = sorted({v.basis.method for v in found})
    if len(methods) > 1:
        return (
            f"No node is a winner: they are judged by different methods ({', '.join(methods)}), which do not "
            "see the same detours."
        )
    try:
        figures = figures_of([v.basis.source for v in found])
    except StatisticsError as error:
        return f"No node is a winner: {error}."
    text = winner_text([Ranked(spoken(v.node), one) for v, one in zip(found, figures)])
    first = found[0]
    if winner_sure(rank([Ranked("", one) for one in figures])):
        further = [spoken(v.node) for v in found[1:] if _reach(v) > _reach(first)]
        if further and not _reach(first)[0]:
            text += (
                f" By these data {further[0]} lets a job scale further all the same: its long detours are "
                "rarer."
            )
    return text


def details(nodes: Sequence[Node], found: Sequence[Verdict], options: Options) -> str:
    """Returns the sentences after the leading one: its premise, the winner, and the nodes left out."""
    parts = [premise_text(options.grain_ns, options.tolerance), compared_text(found)]
    return " ".join(filter(None, parts)) + apart_text(nodes, found)
