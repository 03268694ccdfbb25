# SPDX-License-Identifier: BSD-2-Clause
"""`lab beats`: the noise of heartbeats at several rates on a program that computes, on the nodes of a
cluster, compared with Linux and its tick [Betti09 §VI-A, Fig. 3].

Four nodes at a time run `ftq` in QEMU with `icount`, one instruction per nanosecond, on one bridge on which
the conductor sends beats; then one Linux node does. Writes

    beats.png                    one panel per rate, and one for Linux: operations lost over time
    OUT/beats.json               the figures
    OUT/beats-RATE-nodeN.dat     FTQ's output, unchanged

The time that a beat takes is exact, because FTQ's time passes with the node's instructions. When a beat comes
depends on this machine, and a second of a node takes several of its seconds. So the conductor's rate is
reduced by that factor, which an earlier run has measured. The table has the number of beats per second of the
nodes, by their flight logs.
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

SUMMARY = "Compare the noise of heartbeats at several rates, by FTQ, with that of Linux's tick, in QEMU."

QUANTUM_NS = 1_000_000
#: Quanta before the counted ones. QEMU's card gets its link after some 1000 quanta, and then delivers at once
#: all frames that came before.
AHEAD = 1500
#: Approximate time from a program's start to its first quantum; an error is a beat at the window's ends.
START_NS = 7_000_000
#: Beats per second [Betti09 §VI-A].
RATES = (0, 10, 50, 100)
#: Each rate, one run to measure the nodes' pace, and Linux.
STEPS = len(RATES) + 2
#: The conductor's limits, beats per second.
RATE_MIN, RATE_MAX = 1 / 60, 1000.0


@dataclass(frozen=True)
class Node:
    """The run of one node at one rate."""

    data: ftq.FtqData
    summary: ftq.FtqSummary
    beats_hz: float  #: by the node's clock
    pace: float  #: seconds of the node per second of this machine


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("beats", description=SUMMARY)
    options_add(parser, "ftq")
    parser.add_argument(
        "--samples", type=samples, default=1000, help="number of quanta of 1 ms (default 1000)"
    )
    parser.add_argument(
        "--nodes", type=int, choices=range(1, 17), default=4, help="number of nodes, 1 to 16 (default 4)"
    )
    parser.add_argument(
        "--picture", type=Path, default=ROOT / "build" / "beats.png", help="picture (default build/beats.png)"
    )


def node_of(result: Result, log_path: Path, name: str, kept: Path) -> Node:
    """Returns the figures of a run. LabError if it failed."""
    runner.result_checked(name, result)
    bytes_write(kept, result.stdout)
    whole = ftq.parse(result.stdout.decode("ascii", errors="replace"), kept.name)[0]
    data = replace(whole, start_ns=whole.start_ns[AHEAD:], counts=whole.counts[AHEAD:])
    log = klog.read(log_path)
    names = np.array([log.kinds[kind].name for kind in log.kind])
    entered = log.time_ns[names == "program_enter"]
    if not len(entered):
        raise LabError(f"{name}: its flight log lost the program's start; measure fewer --samples")
    begin_ns = int(entered[0]) + START_NS + AHEAD * QUANTUM_NS
    times_ns = log.time_ns[names == "beat"].astype(np.int64) - begin_ns
    came = int(np.count_nonzero((times_ns >= 0) & (times_ns < data.window_ns)))
    pace = int(log.time_ns[-1]) / 1e9 / result.seconds
    return Node(data, ftq.summarise(data), came / (data.window_ns / 1e9), pace)


class Cluster:
    """Nodes and the conductor on one bridge, in a `with` block."""

    def __init__(self, machines: Any, options: argparse.Namespace, folder: Path) -> None:
        self.machines = machines
        self.options = options
        self.folder = folder
        self.network = importlib.import_module("network")
        self.services = importlib.import_module("rack.services")
        self.layout = importlib.import_module("rack.layout")
        self.space = self.network.Namespace()
        try:
            self.services.key_new(folder / "key")
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
        """Sets the rate in beats per second of this machine."""
        hz = 0.0 if rate_hz == 0 else min(max(rate_hz, RATE_MIN), RATE_MAX)
        self.services.rate_set(self.space, self.control, f"{hz:.6f}" if hz else "0")

    def _node(self, number: int, label: str) -> Node:
        name = f"{label}-{self.layout.name_of(number)}"
        mac = self.layout.beats_mac(number)
        log = self.folder / f"{name}.klog"
        keys = self.services.node_keys(self.space, self.control, number)
        result = self.machines.run_tacet(
            self.options.ftq,
            ["-n", str(AHEAD + self.options.samples), "-q", f"{QUANTUM_NS}ns", "-s"],
            icount=0,
            memory=self.options.memory,
            qemu=self.options.qemu,
            time_limit=self.options.time_limit,
            options=" ".join([*self.services.beats_options(mac, keys), self.options.tacet_options]),
            network=self.machines.Network("bridge", "e1000", mac, enter=self.space.enter),
            klog=log,
        )
        return node_of(result, log, name, self.options.out / f"beats-{name}.dat")

    def measure(self, label: str) -> list[Node]:
        """Measures all nodes at the same time."""
        numbers = range(1, self.options.nodes + 1)
        with ThreadPoolExecutor(self.options.nodes) as pool:
            return list(pool.map(lambda number: self._node(number, label), numbers))


def measure_all(cluster: Cluster, out: TextIO) -> dict[int, list[Node]]:
    """Measures every rate. LabError if a node receives no beats."""
    found: dict[int, list[Node]] = {}
    pace = 1.0

    def step(number: int, what: str, rate: int, label: str) -> list[Node]:
        print(f"[{number}/{STEPS}] {what} …", file=out, flush=True)
        cluster.rate(rate * pace)
        nodes = cluster.measure(label)
        if rate and not all(node.beats_hz for node in nodes):
            raise LabError(f"{what}: a node received no beats; measure longer (--samples)")
        return nodes

    for number, rate in enumerate(RATES, start=1):
        beats = f"{rate} beats per second" if rate else "no beats"
        found[rate] = step(
            number + (number > 1), f"FTQ on {cluster.options.nodes} nodes, {beats}", rate, str(rate)
        )
        if rate == 0:
            pace = float(np.mean([node.pace for node in found[0]]))
            # That pace includes the boot. The number of beats that come gives the pace while FTQ runs.
            tried = step(2, "pace of the nodes when all run", RATES[-1], "pace")
            pace *= RATES[-1] / float(np.mean([node.beats_hz for node in tried]))
    return found


def as_table(found: dict[int, list[Node]], linux: ftq.FtqSummary) -> str:
    """Returns a table with a row per rate."""

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

    header = ["", "beats, Hz", "quanta disturbed, by node", "noise, mean", "noise, most", "largest loss"]
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
    """Draws one node of each rate; the table has the others."""
    panels = [
        Panel(
            "tacet",
            f"Tacet, node 1 of {len(nodes)}, {rate} beats per second" if rate else "Tacet, no beats",
            nodes[0].data,
            nodes[0].summary,
        )
        for rate, nodes in found.items()
    ]
    note = (
        "The same ELF file on every system, in QEMU, one instruction per nanosecond of guest time. When a "
        "beat comes depends on the host; the time that it takes does not."
    )
    ftq_picture(
        [*panels, linux],
        options.picture,
        title=f"Noise of heartbeats: FTQ, {options.samples:,} quanta of {time_text(QUANTUM_NS)}",
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
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    beats(options, machines or runner.load(), out or sys.stdout)
    return 0
