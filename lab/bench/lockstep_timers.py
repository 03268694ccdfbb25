# SPDX-License-Identifier: BSD-2-Clause
"""`lab lockstep-timers`: measures the spread of smart timers on nodes that started at different times, with
their own clocks and with heartbeats [Tsafrir05 §4.2] [Betti09 §III] (docs/lockstep.md).

Each node's program sleeps until each multiple of a period since its own start. The nodes start one after the
other, so their clocks differ by the same time from each node to the next. The flight log has the time at
which a timer expired, in ticks of the cycle counter: QEMU's virtual clock, in ns since the node's start. Each
expiry on the first node is compared with the nearest expiry on each other node; the spread is the time from
the first of these to the last.

Writes OUT/lockstep-timers.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.bench.compare import samples
from lab.bench.lockstep_nodes import nodes_run
from lab.bench.runner import program_found
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import APPS, REPORT
from lab.common.text import table, time_ns, time_option, time_text
from lab.formats import klog

SUMMARY = "Smart timers of nodes that start one after the other, without and with heartbeats: exact, in QEMU."

DAEMON = APPS / "daemon"
QUANTUM_NS = 1_000_000
RATES = (0, 10, 50, 100)
#: Time of the first beat: all nodes have their programs by then.
FIRST_BEAT_NS = 100_000_000
#: Expiries from this time on are compared; the nodes follow the beats by then.
COUNTED_NS = 300_000_000
PERIOD_NS, WORK_NS = 10_000_000, 10_000


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("lockstep-timers", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument(
        "--nodes", type=int, choices=range(2, 17), default=4, help="number of nodes, 2 to 16 (default 4)"
    )
    parser.add_argument(
        "--rounds", type=samples, default=100, metavar="N", help="number of expiries (default 100)"
    )
    parser.add_argument(
        "--stagger", type=time_ns, default=1_000_000, metavar="TIME", help="time between starts (default 1ms)"
    )


def end_ns(options: argparse.Namespace) -> int:
    return COUNTED_NS + int(options.rounds) * PERIOD_NS


def counted(ticks: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    return ticks[(ticks >= COUNTED_NS) & (ticks < end_ns(options))]


def expiries(rate: int, options: argparse.Namespace) -> list[np.ndarray]:
    """Returns the expiries of each node, ns of the first node's time."""
    last_ns = end_ns(options) + PERIOD_NS
    words = ["--nodes", str(options.nodes), "--card", "e1000e", "--quantum", f"{QUANTUM_NS}ns"]
    words += ["--beats", str(rate)]
    words += ["--first-beat", f"{FIRST_BEAT_NS}ns", "--stagger", f"{options.stagger}ns"]
    words += [str(DAEMON), "-p", time_option(PERIOD_NS), "-w", time_option(WORK_NS)]
    words += ["-n", str(last_ns // PERIOD_NS)]
    found = []
    for number, node in enumerate(nodes_run(words)):
        log = klog.parse(node.klog, node.name)
        kinds = [which for which, kind in enumerate(log.kinds) if kind.name == "timer_expire"]
        ticks = log.ticks[np.isin(log.kind, kinds)].astype(np.int64) + number * options.stagger
        if not counted(ticks, options).size:
            raise LabError(f"{node.name}: its flight log has no expiry after {COUNTED_NS} ns")
        found.append(ticks)
    return found


def spreads(first: np.ndarray, nodes: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the spread of each expiry on the first node, ns."""
    nearest = np.stack([one[np.abs(one[:, None] - first[None, :]).argmin(axis=0)] for one in nodes])
    apart: np.ndarray = nearest.max(axis=0) - nearest.min(axis=0)
    return apart


def figures(rate: int, options: argparse.Namespace) -> dict[str, Any]:
    nodes = expiries(rate, options)
    apart = spreads(counted(nodes[0], options), nodes)
    return {
        "expiries": [int(counted(one, options).size) for one in nodes],
        "spread_ns_min": int(apart.min()),
        "spread_ns_median": int(np.median(apart)),
        "spread_ns_max": int(apart.max()),
    }


def as_table(found: dict[int, dict[str, Any]]) -> str:
    header = ["beats", "timers expired", "spread: least", "median", "most"]
    rows = [
        [
            f"{rate} Hz",
            " ".join(map(str, one["expiries"])),
            *(time_text(one[f"spread_ns_{which}"]) for which in ("min", "median", "max")),
        ]
        for rate, one in found.items()
    ]
    return table(header, rows)


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    out = out or sys.stdout
    program_found(DAEMON)
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[int, dict[str, Any]] = {}
    for number, rate in enumerate(RATES, start=1):
        print(f"[{number}/{len(RATES)}] {options.nodes} nodes, {rate} beats/s …", file=out, flush=True)
        found[rate] = figures(rate, options)
    path = options.out / "lockstep-timers.json"
    text_write(path, json.dumps(found, indent=2) + "\n")
    print(f"\n{as_table(found)}\n\n{path}", file=out, flush=True)
    return 0
