# SPDX-License-Identifier: BSD-2-Clause
"""`lab lockstep` (docs/lockstep.md) without machines: beats in flight logs, and the tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from lab.bench import lockstep, lockstep_cost, lockstep_cpus
from lab.bench.lockstep_cpus import PASSED_ON, PERIOD_NS, Beat
from lab.bench.lockstep_nodes import FIRST_BEAT_NS
from lab.formats import klog

KINDS = tuple(klog.Kind(name, "interrupt", ("first", "second")) for name in ("interrupt", "beat"))
INTERRUPT, BEAT = range(2)
TIMER = 0xF3

Row = tuple[int, int, int, int]


def log_of(*rows: Row) -> klog.FlightLog:
    """A flight log of events: CPU, ticks, kind, first word."""
    cpu, ticks, kind, first = (np.array(column) for column in zip(*rows, strict=True))
    words = np.stack([first, np.zeros_like(first)], axis=1)
    return klog.FlightLog("node", 10**9, KINDS, (), ticks - 100, cpu, kind, words, ticks)


def rows_of(place: int, taken_ns: int, *others_ns: int) -> list[Row]:
    due = FIRST_BEAT_NS + place * PERIOD_NS
    others = [(cpu, due + ns, INTERRUPT, PASSED_ON) for cpu, ns in enumerate(others_ns, start=1)]
    return [(0, due + 70, INTERRUPT, TIMER), (0, due + taken_ns, BEAT, place + 1), *others]


def test_a_beat_s_way_to_each_cpu_is_counted_from_the_card() -> None:
    log = log_of(*rows_of(0, 900, 2_000, 3_000), *rows_of(4, 800, 1_500))
    assert lockstep_cpus.beats_of(log) == {0: Beat(900, [2_000, 3_000]), 4: Beat(800, [1_500])}


def test_the_spread_is_over_all_cpus_of_all_nodes_and_of_beats_that_all_took() -> None:
    nodes = [
        lockstep_cpus.beats_of(log_of(*rows_of(0, 900, 2_000), *rows_of(1, 910, 2_500), *rows_of(2, 5))),
        lockstep_cpus.beats_of(log_of(*rows_of(0, 950, 2_100), *rows_of(1, 910, 2_500), *rows_of(3, 1, 9))),
    ]
    assert lockstep_cpus.figures(nodes, 2) == {
        "beats": 2,
        "taken_ns": [900, 950],
        "last_ns": [2_000, 2_500],
        "spread_ns_max": 2_500 - 910,
        "spread_of_nodes_ns_max": 100,
    }
    none = lockstep_cpus.figures([{}, {}], 2)
    assert none["beats"] == 0 and none["spread_ns_max"] is None
    rows = [{"cpus": 2, "turns": "5us", **one} for one in (lockstep_cpus.figures(nodes, 2), none)]
    shown = lockstep_cpus.as_table(rows).splitlines()
    assert shown[2].split() == ["2", "5us", "2", "900", "950", "2000", "2500", "1590", "100"]
    assert shown[3].split() == ["2", "5us", "0", "-", "-", "-", "-"]


def test_a_beat_that_is_taken_twice_counts_once() -> None:
    log = log_of(*rows_of(0, 900), *rows_of(1, 950), (0, FIRST_BEAT_NS + 990, BEAT, 1))
    assert lockstep.delays(log, PERIOD_NS) == {1: 900, 2: 950}


# ---- What gates cost ----


def test_what_a_gate_costs_is_beside_what_as_many_nodes_take_alone() -> None:
    said: list[str] = []

    def run(words: Sequence[str]) -> lockstep_cost.Run:
        nodes, quantum = int(words[1]), words[3]
        if quantum == lockstep_cost.ALONE:
            return lockstep_cost.Run(5, 0.5, 0.5, 0.1)
        return lockstep_cost.Run(5_000, 2.0 * nodes, 1.5 * nodes, 0.05 * nodes)

    rows = lockstep_cost.measure([1, 4], {"compute": ["ftq"]}, said.append, run)
    assert [row.times_alone() for row in rows] == [3, 3]
    assert [round(row.gate_us()) for row in rows] == [200, 200]
    shown = lockstep_cost.as_table(rows).splitlines()[3].split()
    assert shown[:10] == ["4", "compute", "625", "6.0", "s", "3.0", "200", "µs", "10", "µs"]
    assert said == ["one node alone: compute", "1 in lockstep: compute", "4 in lockstep: compute"]
