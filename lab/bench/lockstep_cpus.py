# SPDX-License-Identifier: BSD-2-Clause
"""For `lab lockstep`: measures when one beat reaches all CPUs of all nodes, from their flight logs.

The CPU that takes the frame logs `beat` when it has checked it, and then passes the beat on by one interrupt
to all other CPUs, each of which logs that interrupt. QEMU's CPUs take turns on their node's one clock. The
clock counts the instructions of all CPUs, so a time on it is longer than on a machine whose CPUs run at the
same time, by at most the number of CPUs that compute. A CPU takes the interrupt at its next turn. So turns
are short here, and of two lengths: the difference in the figures is the effect of the turns.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.bench.lockstep_nodes import FIRST_BEAT_NS, QUANTUM_NS, cluster, ended_check, ftq_words
from lab.common.text import table
from lab.formats import klog

#: CPUs of each node, and the length of their turns.
ROWS = ((2, "10us"), (2, "5us"), (4, "10us"))
NODES, RATE, BEATS = 2, 100, 5
PERIOD_NS = 10**9 // RATE
GATES = "1ms"
#: The vector of the interrupt that passes beats on (arch/x86_64: VECTOR_BEAT).
PASSED_ON = 0xF4


@dataclass
class Beat:
    """When the CPUs of one node had one beat: ns after it had reached the card."""

    taken_ns: int | None = None  #: the CPU that took and checked the frame
    others_ns: list[int] = field(default_factory=list)

    def all_ns(self) -> list[int]:
        return [*([] if self.taken_ns is None else [self.taken_ns]), *self.others_ns]


def beats_of(log: klog.FlightLog) -> dict[int, Beat]:
    """Returns the beats by their place after the first one."""
    found: defaultdict[int, Beat] = defaultdict(Beat)
    kinds = [kind.name for kind in log.kinds]
    rows = zip(log.kind.tolist(), log.ticks.tolist(), log.words.tolist(), strict=True)
    for kind, ticks, (first, _) in rows:
        place, after_ns = divmod(ticks - FIRST_BEAT_NS, PERIOD_NS)
        if kinds[kind] == "beat":
            found[place].taken_ns = after_ns
        elif kinds[kind] == "interrupt" and first == PASSED_ON:
            found[place].others_ns.append(after_ns)
    return dict(found)


def figures(nodes: Sequence[dict[int, Beat]], cpus: int) -> dict[str, Any]:
    """Returns the figures of the beats that all CPUs of all nodes took while they computed."""
    common = [
        place
        for place in range(BEATS)
        if all(place in node and len(node[place].all_ns()) == cpus for node in nodes)
    ]
    taken = [node[place].taken_ns for node in nodes for place in common]
    last = [max(node[place].others_ns) for node in nodes for place in common]
    every = [[ns for node in nodes for ns in node[place].all_ns()] for place in common]
    of_nodes = [
        max(times) - min(times)
        for place in common
        for times in zip(*(sorted(node[place].all_ns()) for node in nodes), strict=True)
    ]
    return {
        "beats": len(common),
        "taken_ns": [min(taken), max(taken)] if common else None,
        "last_ns": [min(last), max(last)] if common else None,
        "spread_ns_max": max((max(times) - min(times) for times in every), default=None),
        "spread_of_nodes_ns_max": max(of_nodes, default=None),
    }


def measure(cpus: int, turns: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measures with FTQ on all CPUs."""
    words = ["--nodes", str(NODES), "--cpus", str(cpus), "--beats", str(RATE), "--quantum", GATES]
    words += ["--turns", turns, "--first-beat", f"{FIRST_BEAT_NS}ns"]
    samples = (FIRST_BEAT_NS + BEATS * PERIOD_NS) // QUANTUM_NS
    with cluster([*words, *ftq_words(options, samples)], folder) as (done, _):
        ended_check(done.nodes)
        found = figures([beats_of(klog.read(node.file("klog"))) for node in done.nodes], cpus)
        return {"cpus": cpus, "turns": turns, **found}


def as_table(found: Sequence[dict[str, Any]]) -> str:
    """Returns a table with a row per measurement."""

    def span(ns: list[int] | None) -> str:
        return "-" if ns is None else " ".join(map(str, ns))

    def row(one: dict[str, Any]) -> list[str]:
        shown = [one["spread_ns_max"], one["spread_of_nodes_ns_max"]]
        begin = [
            str(one["cpus"]),
            one["turns"],
            str(one["beats"]),
            span(one["taken_ns"]),
            span(one["last_ns"]),
        ]
        return [*begin, *("-" if ns is None else str(ns) for ns in shown)]

    header = ["CPUs", "turns", "beats", "first CPU, ns", "last CPU, ns", "spread, ns", "of nodes, ns"]
    return table(header, [row(one) for one in found])
