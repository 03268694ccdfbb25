# SPDX-License-Identifier: BSD-2-Clause
"""`lab clock-offsets`: measures the offsets between the global clocks of a cluster's nodes at the same
moment, as a distribution over all pairs and moments, in QEMU.

Four nodes run `offsets` (apps/offsets) under beats, once in tools/cluster, where each QEMU has its own clock
and this machine's load delays beats, and once on one virtual clock (docs/lockstep.md). There the cycle
counters of all nodes are that clock, and so is the conductor's: the offset of a node is known exactly,
without measurement. This also checks the exchanges of messages: each must be right to half its delay. Writes

    clock-offsets.png          the share of samples by offset
    OUT/clock-offsets.json     the figures
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from lab.bench import runner
from lab.bench.compare import samples
from lab.bench.comparison import APPS, REPORT
from lab.bench.runner import Runner
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import ROOT
from lab.common.text import table, time_text
from lab.pictures.curves import CurvePanel, curve_picture

SUMMARY = "Measure offsets between the global clocks of nodes under heartbeats, in QEMU."

RATES = (10, 100)
FIRST_BEAT = "1200ms"
#: A node's clock may change its rate by at most this between two of its samples; so it is known between them.
BETWEEN_NS = 50
QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
HERE, LOCKSTEP = "here", "lockstep"
PLACES = {HERE: "cluster", LOCKSTEP: "lockstep"}
#: Time until the clocks' slopes are known, which takes three windows of eight beats; if beats come late,
#: until the first one's error is corrected, at a thousandth of the time.
SETTLE = {HERE: "60s", LOCKSTEP: "5s"}
#: Points of a distribution in the picture.
POINTS = 50
_ROW = re.compile(r"^(?:node)?(\d+): (\d+(?:\.\d+){3}) (\d+) (\d+) (-?\d+) (-?\d+)$", re.MULTILINE)
_OWN = re.compile(r"^(?:node)?(\d+): # offsets of (\S+): ", re.MULTILINE)

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Node:
    """What one node measured: a row for each sample."""

    address: str
    peers: list[str]
    at_ns: Numbers
    ticks: Numbers
    offset_ns: Numbers
    delay_ns: Numbers


@dataclass(frozen=True)
class Distribution:
    """Absolute offsets between clocks; `bound_ns`: the possible error of each."""

    apart_ns: Numbers
    bound_ns: Numbers | None = None

    def figures(self) -> dict[str, Any]:
        def of(values: Numbers) -> dict[str, int]:
            found = {"min": int(values.min())}
            found |= {name: int(np.quantile(values, share)) for name, share in QUANTILES.items()}
            return found | {"max": int(values.max())}

        found: dict[str, Any] = {"samples": len(self.apart_ns), "apart_ns": of(self.apart_ns)}
        return found if self.bound_ns is None else found | {"bound_ns": of(self.bound_ns)}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("clock-offsets", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument("--offsets", type=Path, default=APPS / "offsets", help="path of offsets")
    parser.add_argument(
        "--samples", type=samples, default=100, help="samples of each pair of nodes (default 100)"
    )
    parser.add_argument(
        "--nodes", type=int, choices=range(2, 10), default=4, help="number of nodes, 2 to 9 (default 4)"
    )
    parser.add_argument(
        "--only", choices=tuple(PLACES), help="only in tools/cluster, or only in lockstep (default: both)"
    )
    parser.add_argument(
        "--picture",
        type=Path,
        default=ROOT / "build" / "clock-offsets.png",
        help="picture (default build/clock-offsets.png)",
    )


def parse(text: str, nodes: int) -> list[Node]:
    """Parses the output of all nodes, each line with its node's number. LabError if one has no samples."""
    own = dict(_OWN.findall(text))
    rows: dict[str, list[tuple[str, ...]]] = {number: [] for number in own}
    for number, *row in _ROW.findall(text):
        rows.setdefault(number, []).append(tuple(row))
    if len(own) != nodes or not all(rows.values()):
        there = ", ".join(sorted(address for number, address in own.items() if rows[number])) or "none"
        raise LabError(f"{nodes} nodes must print samples, but only these did: {there}")
    found = []
    for number, address in own.items():
        peers = [row[0] for row in rows[number]]
        columns = np.array([[int(word) for word in row[1:]] for row in rows[number]], dtype=np.int64)
        found.append(Node(address, peers, *columns.T))
    return found


def measured(nodes: Sequence[Node]) -> Distribution:
    """Returns the offsets measured by exchanges of messages; each is right to half its delay."""
    return Distribution(
        np.abs(np.concatenate([node.offset_ns for node in nodes])),
        np.concatenate([node.delay_ns for node in nodes]) // 2,
    )


def known(nodes: Sequence[Node], epoch_ns: int) -> tuple[Distribution, Distribution]:
    """Returns the known offsets on one virtual clock: between nodes, and between node and conductor, whose
    time was `epoch_ns` when all counters were 0. LabError if an exchange differs from them by more than half
    its delay: then the nodes do not share one clock, or `offsets` is wrong."""
    errors = {node.address: node.at_ns - epoch_ns - node.ticks for node in nodes}
    ticks = {node.address: node.ticks for node in nodes}
    apart: list[Numbers] = []
    for node in nodes:
        peers = np.array(node.peers)
        for peer in dict.fromkeys(node.peers):
            rows = peers == peer
            of_peer = np.interp(node.ticks[rows], ticks[peer], errors[peer]).astype(np.int64)
            ahead = of_peer - errors[node.address][rows]
            wrong = np.abs(node.offset_ns[rows] - ahead) - node.delay_ns[rows] / 2
            if wrong.max() > BETWEEN_NS:
                raise LabError(
                    f"{node.address} measured {peer} ahead by {wrong.max():.0f} ns more than half the delay "
                    "allows: the nodes do not share one clock, or `offsets` is wrong"
                )
            apart.append(np.abs(ahead))
    return Distribution(np.concatenate(apart)), Distribution(np.abs(np.concatenate([*errors.values()])))


def words_of(place: str, rate: int, addresses: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Returns the command that runs `offsets` on all nodes."""
    logs = options.out / f"clock-offsets-{place}-{rate}"
    common = ["--nodes", str(len(addresses)), "--logs", str(logs)]
    own = [str(options.offsets), "-n", str(options.samples), "-w", SETTLE[place], *addresses]
    if place == HERE:
        cluster = [str(ROOT / "tools/cluster"), *common, "--rate", str(rate), "--"]
        return [*cluster, "tacetrun", "-i", "none", "--label", "--bcast", *own]
    lockstep = [str(ROOT / "tools/lockstep-run"), *common, "--network", "--beats", str(rate)]
    return [*lockstep, "--first-beat", FIRST_BEAT, *own]


def measure(place: str, rate: int, options: argparse.Namespace) -> list[Node]:
    """Measures all nodes at one rate. LabError if they do not run."""
    layout = importlib.import_module("rack.layout")
    addresses = [layout.address_of(number) for number in range(1, options.nodes + 1)]
    done = subprocess.run(words_of(place, rate, addresses, options), capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{PLACES[place]}, {rate} Hz: status {done.returncode}\n{done.stderr.rstrip()}")
    return parse(done.stdout, options.nodes)


def distributions(place: str, nodes: Sequence[Node]) -> dict[str, Distribution]:
    """Returns the distributions by name."""
    found = {"measured": measured(nodes)}
    if place == LOCKSTEP:
        epoch_ns = importlib.import_module("lockstep.beats").EPOCH_NS
        found["exact"], found["exact, to the conductor"] = known(nodes, epoch_ns)
    return found


Found = dict[tuple[str, int], dict[str, Distribution]]


def as_table(found: Found) -> str:
    """Returns a table with a row for each distribution."""
    names = ["min", *QUANTILES, "max"]
    rows = []
    for (place, rate), several in found.items():
        for kind, distribution in several.items():
            figures = distribution.figures()
            bound = figures.get("bound_ns")
            rows.append(
                [f"{PLACES[place]}, {rate} Hz, {kind}"]
                + [time_text(figures["apart_ns"][name]) for name in names]
                + ([time_text(bound["median"]), time_text(bound["max"])] if bound else ["-", "-"])
            )
    return table(["clocks apart", *names, "± median", "± max"], rows)


def picture(found: Found, path: Path) -> None:
    """Draws the share of samples by offset."""
    panels = []
    for place in dict.fromkeys(place for place, _ in found):
        lines = {}
        for (its, rate), several in found.items():
            for kind, distribution in several.items() if its == place else ():
                # A logarithmic axis has no place for an offset of 0.
                shares = np.linspace(0, 1, POINTS + 1)
                apart = np.quantile(np.maximum(distribution.apart_ns, 1), shares)
                lines[f"{rate} Hz, {kind}"] = list(zip(apart.tolist(), shares.tolist(), strict=True))
        panels.append(CurvePanel(PLACES[place], lines))
    curve_picture(
        panels,
        path,
        x="clocks apart, ns (1: 1 or less)",
        y="share of samples",
        title="Offsets between the global clocks of nodes",
        notes=[
            "Measured: by exchanges of messages, right to half their delay. Exact: from the clock that all "
            "nodes share."
        ],
    )


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    out = out or sys.stdout
    machines = machines or runner.load()
    runner.program_found(options.offsets)
    options.out.mkdir(parents=True, exist_ok=True)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    steps = [(place, rate) for place in PLACES if options.only in (None, place) for rate in RATES]
    found: Found = {}
    for number, (place, rate) in enumerate(steps, start=1):
        what = f"{options.nodes} nodes, {PLACES[place]}, {rate} beats per second"
        print(f"[{number}/{len(steps)}] {what} …", file=out, flush=True)
        found[place, rate] = distributions(place, measure(place, rate, options))
    picture(found, options.picture)
    figures = {
        f"{place} {rate} Hz": {kind: one.figures() for kind, one in several.items()}
        for (place, rate), several in found.items()
    }
    text_write(options.out / "clock-offsets.json", json.dumps(figures, indent=2) + "\n")
    print(f"\n{as_table(found)}\n\n{options.picture}\n{options.out / 'clock-offsets.json'}", file=out)
    out.flush()
    return 0
