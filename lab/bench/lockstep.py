# SPDX-License-Identifier: BSD-2-Clause
"""`lab lockstep`: measures the noise of heartbeats by FTQ on nodes that share one virtual clock, and the
spread of one beat's times over nodes and over the CPUs of a node; for comparison FTQ on Linux, with its tick,
on the same clock. All figures are exact and the same in every run (docs/lockstep.md) [Betti09 §VI-A].

A beat reaches all nodes' cards at the same instant. The flight log has the time at which each CPU has it, in
ticks of the cycle counter, which is QEMU's virtual clock in ns: one CPU logs the event `beat` when it has
checked the frame; the other CPUs of a node log the interrupt that passes the beat on. With several CPUs that
clock counts the instructions of all (lockstep_cpus.py). Writes

    OUT/lockstep.json                  the figures
    OUT/lockstep-RATE-nodeN.dat        FTQ's output, unchanged; RATE is linux for Linux
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.bench import lockstep_cpus, runner
from lab.bench.compare import samples
from lab.bench.comparison import APPS, REPORT
from lab.bench.lockstep_nodes import FIRST_BEAT_NS, cluster, ended_check, ftq_words
from lab.bench.runner import Runner
from lab.common.files import bytes_write, text_write
from lab.common.text import percent_text, table, time_text
from lab.formats import ftq, klog

SUMMARY = "FTQ on nodes of one virtual clock under heartbeats: exact figures, in QEMU."

#: Beats per second [Betti09 §VI-A].
RATES = (0, 10, 50, 100)
#: Quanta before the counted ones.
AHEAD = 1_200
#: Time between gates if no frames are carried at them.
LINUX_GATES = "10ms"


@dataclass(frozen=True)
class Node:
    """The run of one node at one rate."""

    summary: ftq.FtqSummary
    #: by a beat's number: ns from the beat's arrival at the card to the kernel's event
    delays_ns: dict[int, int]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("lockstep", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument("--ftq", type=Path, default=APPS / "ftq", help="path of ftq")
    parser.add_argument(
        "--samples", type=samples, default=1000, help="number of quanta of 1 ms (default 1000)"
    )
    parser.add_argument(
        "--nodes", type=int, choices=range(1, 17), default=4, help="number of nodes, 1 to 16 (default 4)"
    )
    parser.add_argument("--cpus", type=int, choices=range(1, 9), default=1, help="CPUs per node (default 1)")
    for name, what in (("linux", "FTQ on Linux"), ("spread", "one beat's way to the CPUs of a node")):
        parser.add_argument(
            f"--{name}", action=argparse.BooleanOptionalAction, default=True, help=f"{what}, too"
        )


def delays(log: klog.FlightLog, period_ns: int) -> dict[int, int]:
    """Returns the delay of each beat in a log, ns, by its number; of several CPUs, that of the CPU that took
    the frame."""
    found: dict[int, int] = {}
    first = -(-FIRST_BEAT_NS // period_ns)
    kinds = [kind.name for kind in log.kinds]
    if "beat" in kinds:
        of_beats = log.select(log.kind == kinds.index("beat"))
        for (sequence, _), ticks in zip(of_beats.words.tolist(), of_beats.ticks.tolist(), strict=True):
            found.setdefault(sequence, ticks - (first + sequence - 1) * period_ns)
    return found


def node_of(node: Any, rate: int, kept: Path) -> Node:
    """Returns the figures of a node. LabError if it failed."""
    ended_check([node])
    content = node.file("out").read_bytes()
    bytes_write(kept, content)
    whole = ftq.parse(content.decode("ascii", errors="replace"), kept.name)[0]
    data = replace(whole, start_ns=whole.start_ns[AHEAD:], counts=whole.counts[AHEAD:])
    taken = delays(klog.read(node.file("klog")), 10**9 // rate) if rate else {}
    # Later beats come when FTQ has ended.
    last = rate * data.window_ns // 10**9
    return Node(ftq.summarise(data), {beat: ns for beat, ns in taken.items() if beat <= last})


def measure(rate: int, options: argparse.Namespace, folder: Path) -> list[Node]:
    """Measures all nodes at one rate."""
    words = ["--nodes", str(options.nodes), "--cpus", str(options.cpus), "--beats", str(rate)]
    words += ["--first-beat", f"{FIRST_BEAT_NS}ns", *ftq_words(options, AHEAD + options.samples)]
    with cluster(words, folder) as (done, _):
        return [node_of(node, rate, options.out / f"lockstep-{rate}-{node.name}.dat") for node in done.nodes]


def measure_linux(options: argparse.Namespace, folder: Path) -> list[Node]:
    """Measures one node with Linux; more nodes would be the same."""
    words = ["--nodes", "0", "--linux", "1", "--quantum", LINUX_GATES]
    with cluster([*words, *ftq_words(options, AHEAD + options.samples)], folder) as (done, _):
        return [node_of(node, 0, options.out / f"lockstep-linux-{node.name}.dat") for node in done.nodes]


def spreads(nodes: Sequence[Node]) -> list[int]:
    """Returns, for each beat that all nodes took, the ns from the first node to the last."""
    common = set.intersection(*(set(node.delays_ns) for node in nodes))
    return [
        max(node.delays_ns[beat] for node in nodes) - min(node.delays_ns[beat] for node in nodes)
        for beat in sorted(common)
    ]


def figures(nodes: Sequence[Node]) -> dict[str, Any]:
    every = [delay for node in nodes for delay in node.delays_ns.values()]
    apart = spreads(nodes)
    return {
        "beats": len(apart),
        "delay_ns_min": min(every, default=None),
        "delay_ns_median": int(np.median(every)) if every else None,
        "delay_ns_max": max(every, default=None),
        "spread_ns_max": max(apart, default=None),
        "disturbed_quanta": [node.summary.disturbed_quanta for node in nodes],
        "noise_ratio": [node.summary.noise_ratio for node in nodes],
        "largest_loss_ns": [node.summary.largest_loss_ns for node in nodes],
    }


def as_table(found: dict[str, dict[str, Any]]) -> str:
    """Returns a table with a row for each rate and for Linux."""

    def row(name: str, one: dict[str, Any]) -> list[str]:
        shown = [one[f"delay_ns_{which}"] for which in ("min", "median", "max")]
        return [
            name,
            str(one["beats"]),
            " ".join(map(str, one["disturbed_quanta"])),
            percent_text(max(one["noise_ratio"])),
            time_text(max(one["largest_loss_ns"])),
            " ".join("-" if ns is None else str(ns) for ns in shown),
            "-" if one["spread_ns_max"] is None else str(one["spread_ns_max"]),
        ]

    header = ["beats", "taken", "quanta disturbed", "noise, most", "largest loss", "delay, ns", "spread, ns"]
    return table(header, [row(name, one) for name, one in found.items()])


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    machines, out = machines or runner.load(), out or sys.stdout
    runner.program_found(options.ftq)
    options.out.mkdir(parents=True, exist_ok=True)
    nodes = f"FTQ on {options.nodes} nodes"
    steps: list[tuple[str, Callable[[Path], dict[str, Any]]]] = []
    for rate in RATES:
        steps.append((f"{nodes}, {rate} beats/s", lambda at, r=rate: figures(measure(r, options, at))))
    if options.linux:
        steps.append(("FTQ on Linux", lambda at: figures(measure_linux(options, at))))
    rows = lockstep_cpus.ROWS if options.spread else ()
    for cpus, turns in rows:
        one = f"{lockstep_cpus.NODES} nodes of {cpus} CPUs that take turns of {turns}"
        steps.append((one, lambda at, c=cpus, t=turns: lockstep_cpus.measure(c, t, options, at)))
    done = []
    for number, (what, step) in enumerate(steps, start=1):
        print(f"[{number}/{len(steps)}] {what} …", file=out, flush=True)
        with tempfile.TemporaryDirectory(prefix="tacet-lockstep-") as folder:
            done.append(step(Path(folder)))
    names = [f"{rate} Hz" for rate in RATES] + (["Linux"] if options.linux else [])
    by_rate, by_cpus = dict(zip(names, done, strict=False)), done[len(names) :]
    kept = options.out / "lockstep.json"
    text_write(kept, json.dumps({"rates": by_rate, "cpus": by_cpus}, indent=2) + "\n")
    print(f"\n{as_table(by_rate)}\n", file=out)
    if by_cpus:
        print(f"{lockstep_cpus.as_table(by_cpus)}\n", file=out)
    print(kept, file=out, flush=True)
    return 0
