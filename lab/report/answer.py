# SPDX-License-Identifier: BSD-2-Clause
"""The report's judgement: how far each node's noise lets a job scale, which node is quieter, and by how much,
in one sentence.

A job scales as far as a step of it is slowed by no more than the tolerance: the largest n with E(Y)/G <= 1 +
tolerance [Tsafrir05 §2.4]. Data that hold m phases of the grain show nothing that is rarer than one in m, and
a step of n nodes draws n phases: for more than m nodes they cannot speak. So what is said of a node ends at
m, and of a silent node nothing else is known than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab import statistics
from lab.common.text import count_text, percent_text, time_text
from lab.report.nodes import Basis, Node

#: A size that people can picture, for which each node's slowdown is shown.
NODES_SHOWN = 1_000


#: Names that would trip in a sentence.
SPOKEN = {"linux-tuned": "the tuned Linux", "linux-rt": "the PREEMPT_RT Linux"}


@dataclass(frozen=True)
class Options:
    """What the user chose, ns and fractions; `command` is the report's own."""

    grain_ns: int
    tolerance: float
    title: str
    command: str


@dataclass(frozen=True)
class Verdict:
    """One node's. `scale` is the largest job within the tolerance, infinite if none is too large, and `known`
    how many nodes the data speak for."""

    node: Node
    basis: Basis
    slowdown: float
    scale: float
    known: float

    @property
    def lost_ratio(self) -> float:
        """The share of time lost: by the trace, or as phases of the grain show it."""
        if self.basis.trace is not None:
            return statistics.noise_ratio(self.basis.trace)
        mean_ns = self.basis.delays.mean_ns
        return mean_ns / (self.basis.delays.grain_ns + mean_ns)

    @property
    def silent(self) -> bool:
        return self.basis.delays.longest_ns == 0


def verdicts(nodes: Sequence[Node], chosen: Mapping[str, Basis], tolerance: float) -> list[Verdict]:
    """Each node's, the quietest first."""
    found = []
    for node in nodes:
        if node.key not in chosen:
            continue
        basis = chosen[node.key]
        slowdown = float(statistics.slowdown(basis.delays, NODES_SHOWN)) - 1
        scale = statistics.scale_max(basis.delays, tolerance)
        found.append(
            Verdict(node, basis, slowdown, scale, max(math.floor(basis.delays.phases * (1 + 1e-9)), 1))
        )
    return sorted(found, key=lambda verdict: (verdict.slowdown, verdict.lost_ratio))


def scale_text(verdict: Verdict, tolerance: float) -> str:
    """How far a job scales on that node, by itself, in words that stay true."""
    limit, known = percent_text(tolerance), count_text(verdict.known)
    if verdict.silent:
        return (
            f"not one delay in {known} phases: as far as its data show, no job of up to so many nodes is "
            "slowed; of larger ones they say nothing"
        )
    if verdict.scale < 1:
        return f"a single node is slowed by more than {limit} already"
    example = f"a job of {NODES_SHOWN:,} nodes is slowed by {percent_text(verdict.slowdown)}"
    if verdict.scale <= verdict.known:
        return f"a step is slowed by at most {limit} up to {count_text(verdict.scale)} nodes; {example}"
    return (
        f"a step is slowed by at most {limit} up to {known} nodes and perhaps beyond, where its data say "
        f"nothing; {example}"
    )


def _name(verdict: Verdict) -> str:
    return spoken(verdict.node)


def spoken(node: Node) -> str:
    """A node's name in a sentence."""
    return SPOKEN.get(node.key, node.plain_name)


def apart_text(nodes: Sequence[Node], found: Sequence[Verdict]) -> str:
    """Which nodes take no part in the answer, as a sentence that follows it; empty if all do."""
    names = [spoken(node) for node in nodes if all(v.node is not node for v in found)]
    if not names:
        return ""
    verb = "takes" if len(names) == 1 else "take"
    text = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return f" {text[0].upper()}{text[1:]} * {verb} no part in this answer: what was measured there is marked."


def _part(verdict: Verdict) -> str:
    """How far, as a part of the sentence."""
    known = f"the {count_text(verdict.known)} nodes that its data can speak for"
    example = f"{NODES_SHOWN:,} nodes are slowed by {percent_text(verdict.slowdown)}"
    if verdict.silent:
        return f"to {known}, without a single delay"
    if verdict.scale < 1:
        return f"not even to one node ({example})"
    return (
        f"to {count_text(verdict.scale)} nodes ({example})"
        if verdict.scale <= verdict.known
        else f"to {known} ({example})"
    )


def _quieter(found: Sequence[Verdict]) -> str:
    """Which node is quieter, and by how much."""
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
    """The answer."""
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
