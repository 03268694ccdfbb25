# SPDX-License-Identifier: BSD-2-Clause
"""`lab beats`: what heartbeats take from a program that computes, at several rates, on the nodes of a
cluster, beside Linux at its tick [Betti09 §VI-A, Fig. 3].

Four nodes at a time run `ftq` in QEMU with `icount`, one instruction a nanosecond, on one bridge on which the
conductor beats; then one Linux node does. Writes

    beats.png                    one panel a rate, and one for Linux: operations lost over time
    OUT/beats.json               the figures
    OUT/beats-RATE-nodeN.dat     what FTQ wrote, its format unchanged

What a beat takes is exact: FTQ's time passes with the node's instructions. When a beat comes is this
machine's matter, and a node's second takes several of its own: so the conductor beats that much slower than
the rate that is named, as a run before has found. How many beats came in a second of the nodes', by their
flight logs, stands beside it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.bench import runner
from lab.bench.compare import samples
from lab.bench.comparison import NAMES, options_add, system_run
from lab.bench.runner import Result, Runner
from lab.common.errors import LabError
from lab.common.files import bytes_write, text_write
from lab.common.paths import ROOT
from lab.common.text import percent_text, table, time_text
from lab.formats import ftq, klog
from lab.pictures.ftq import Panel, ftq_picture

SUMMARY = "Compare what heartbeats take from FTQ at several rates with Linux's tick, in QEMU."

QUANTUM_NS = 1_000_000
#: Quanta before those that count: QEMU's card has a link after some 1000 of them, and then delivers at once
#: what has come before.
AHEAD = 1500
#: From a program's start to its first quantum, about: a beat more or less at the window's ends.
START_NS = 7_000_000
#: [Betti09 §VI-A]
RATES = (0, 10, 50, 100)
#: Those, one to find the nodes' pace, and Linux.
STEPS = len(RATES) + 2
#: What the conductor takes: beats a second.
RATE_MIN, RATE_MAX = 1 / 60, 1000.0


@dataclass(frozen=True)
class Node:
    """One node's run at one rate."""

    data: ftq.FtqData
    summary: ftq.FtqSummary
    beats_hz: float  #: by the node's clock
    pace: float  #: seconds of the node's in one of this machine's


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("beats", description=SUMMARY)
    options_add(parser, "ftq")
    parser.add_argument("--samples", type=samples, default=1000, help="quanta of 1 ms (default 1000)")
    parser.add_argument("--nodes", type=int, choices=range(1, 17), default=4, help="1 to 16 (default 4)")
    parser.add_argument(
        "--picture", type=Path, default=ROOT / "build" / "beats.png", help="(default build/beats.png)"
    )


def node_of(result: Result, log_path: Path, name: str, kept: Path) -> Node:
    """What a run has measured. LabError if it failed."""
    runner.result_checked(name, result)
    bytes_write(kept, result.stdout)
    whole = ftq.parse(result.stdout.decode("ascii", errors="replace"), kept.name)[0]
    data = replace(whole, start_ns=whole.start_ns[AHEAD:], counts=whole.counts[AHEAD:])
    log = klog.read(log_path)
    names = np.array([log.kinds[kind].name for kind in log.kind])
    entered = log.time_ns[names == "program_enter"]
    if not len(entered):
        raise LabError(f"{name}: its flight log does not go back to its beginning: fewer --samples")
    begin_ns = int(entered[0]) + START_NS + AHEAD * QUANTUM_NS
    times_ns = log.time_ns[names == "beat"].astype(np.int64) - begin_ns
    came = int(np.count_nonzero((times_ns >= 0) & (times_ns < data.window_ns)))
    pace = int(log.time_ns[-1]) / 1e9 / result.seconds
    return Node(data, ftq.summarise(data), came / (data.window_ns / 1e9), pace)


class Cluster:
    """Nodes on one bridge with the conductor, from `with` to its end."""

    def __init__(self, machines: Any, options: argparse.Namespace, folder: Path) -> None:
        self.machines = machines
        self.options = options
        self.folder = folder
        self.network = importlib.import_module("network")
        self.services = importlib.import_module("rack.services")
        self.layout = importlib.import_module("rack.layout")
        self.space = self.network.Namespace()
        try:
            self.key = self.services.key_new(folder / "key")
            self.control = folder / "control"
            self.conductor = self.services.conductor(
                self.space, folder / "key", self.control, "0", self.network.BRIDGE
            )
        except BaseException:
            self.space.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.conductor.__exit__()
        self.space.close()

    def rate(self, rate_hz: float) -> None:
        """Beats a second of this machine's from now on."""
        hz = 0.0 if rate_hz == 0 else min(max(rate_hz, RATE_MIN), RATE_MAX)
        self.services.rate_set(self.space, self.control, f"{hz:.6f}" if hz else "0")

    def _node(self, number: int, label: str) -> Node:
        name = f"{label}-{self.layout.name_of(number)}"
        mac = self.layout.beats_mac(number)
        log = self.folder / f"{name}.klog"
        result = self.machines.run_tacet(
            self.options.ftq,
            ["-n", str(AHEAD + self.options.samples), "-q", f"{QUANTUM_NS}ns", "-s"],
            icount=0,
            memory=self.options.memory,
            qemu=self.options.qemu,
            time_limit=self.options.time_limit,
            options=" ".join([*self.services.beats_options(mac, self.key), self.options.tacet_options]),
            network=self.machines.Network("bridge", "e1000", mac, enter=self.space.enter),
            klog=log,
        )
        return node_of(result, log, name, self.options.out / f"beats-{name}.dat")

    def measure(self, label: str) -> list[Node]:
        """All nodes at once."""
        numbers = range(1, self.options.nodes + 1)
        with ThreadPoolExecutor(self.options.nodes) as pool:
            return list(pool.map(lambda number: self._node(number, label), numbers))


def measure_all(cluster: Cluster, out: TextIO) -> dict[int, list[Node]]:
    """Every rate. LabError where a node hears nothing."""
    found: dict[int, list[Node]] = {}
    pace = 1.0

    def step(number: int, what: str, rate: int, label: str) -> list[Node]:
        print(f"[{number}/{STEPS}] {what} …", file=out, flush=True)
        cluster.rate(rate * pace)
        nodes = cluster.measure(label)
        if rate and not all(node.beats_hz for node in nodes):
            raise LabError(f"{what}: no beats came to one of the nodes; a longer window (--samples) has some")
        return nodes

    for number, rate in enumerate(RATES, start=1):
        beats = f"{rate} beats a second" if rate else "no beats"
        found[rate] = step(
            number + (number > 1), f"FTQ on {cluster.options.nodes} nodes, {beats}", rate, str(rate)
        )
        if rate == 0:
            pace = float(np.mean([node.pace for node in found[0]]))
            # That had the boot in it. How many beats come says what the pace is while FTQ runs.
            tried = step(2, "how fast nodes run beside each other", RATES[-1], "pace")
            pace *= RATES[-1] / float(np.mean([node.beats_hz for node in tried]))
    return found


def as_table(found: dict[int, list[Node]], linux: ftq.FtqSummary) -> str:
    """A row a rate."""

    def row(name: str, came: str, summaries: Sequence[ftq.FtqSummary]) -> list[str]:
        ratios = [summary.noise_ratio for summary in summaries]
        disturbed = [f"{summary.disturbed_quanta}" for summary in summaries]
        return [
            name,
            came,
            " ".join(disturbed),
            percent_text(float(np.mean(ratios))),
            percent_text(max(ratios)),
            time_text(max(summary.largest_loss_ns for summary in summaries)),
        ]

    header = ["", "came, Hz", "quanta disturbed, a node", "noise, mean", "noise, most", "largest loss"]
    rows = [
        row(
            f"Tacet, {rate} Hz",
            f"{np.mean([node.beats_hz for node in nodes]):.1f}",
            [node.summary for node in nodes],
        )
        for rate, nodes in found.items()
    ]
    rows.append(row("Linux, its tick", f"{linux.detours_per_second:.0f}", [linux]))
    return table(header, rows)


def as_json(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    return [
        {
            "beats_hz": node.beats_hz,
            "disturbed_quanta": node.summary.disturbed_quanta,
            "noise_ratio": node.summary.noise_ratio,
            "largest_loss_ns": node.summary.largest_loss_ns,
        }
        for node in nodes
    ]


def picture(found: dict[int, list[Node]], linux: Panel, options: argparse.Namespace) -> None:
    """One node of each rate; the table has the others."""
    panels = [
        Panel(
            "tacet",
            f"Tacet, node 1 of {len(nodes)}, {rate} beats a second" if rate else "Tacet, no beats",
            nodes[0].data,
            nodes[0].summary,
        )
        for rate, nodes in found.items()
    ]
    note = (
        "The same ELF file on every system, in QEMU, one instruction a nanosecond of guest time. When a beat "
        "comes is the host's matter, what it takes is the node's."
    )
    ftq_picture(
        [*panels, linux],
        options.picture,
        title=f"What heartbeats take: FTQ, {options.samples} quanta of {time_text(QUANTUM_NS)}",
        note=note,
    )


def beats(options: argparse.Namespace, machines: Any, out: TextIO) -> None:
    runner.program_found(options.ftq)
    options.out.mkdir(parents=True, exist_ok=True)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    unavailable = importlib.import_module("network").Unavailable
    try:
        with tempfile.TemporaryDirectory(prefix="tacet-beats-") as folder:
            with Cluster(machines, options, Path(folder)) as cluster:
                found = measure_all(cluster, out)
    except (unavailable, machines.RunnerError) as error:
        raise LabError(str(error)) from None
    title = f"[{STEPS}/{STEPS}] FTQ on {NAMES['linux']}"
    args = ["-n", str(options.samples), "-q", f"{QUANTUM_NS}ns", "-s"]
    result = system_run("linux", "ftq", args, machines, options, out, title)
    data = ftq.parse(result.stdout.decode("ascii", errors="replace"), "ftq-linux.dat")[0]
    summary = ftq.summarise(data)
    picture(found, Panel("linux", "Linux, its tick", data, summary), options)
    figures = {str(rate): as_json(nodes) for rate, nodes in found.items()}
    text_write(options.out / "beats.json", json.dumps(figures, indent=2) + "\n")
    print(
        f"\n{as_table(found, summary)}\n\n{options.picture}\n{options.out / 'beats.json'}",
        file=out,
        flush=True,
    )


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Carries the command out; `machines` and `out` are for tests. LabError or OSError if it fails."""
    beats(options, machines or runner.load(), out or sys.stdout)
    return 0
