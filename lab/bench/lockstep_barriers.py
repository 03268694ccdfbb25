# SPDX-License-Identifier: BSD-2-Clause
"""`lab lockstep-barriers`: compares barriers on nodes of one virtual clock with the simulator's prediction: a
loop of computation and barrier without noise, with noise at the same times on all nodes, and with the same
noise at different times on each node [Tsafrir05 §2] [Hoefler10 §III-A] [Beckman06 §4]. Both sides are exact,
and no parameter is fitted (docs/lockstep.md):

    o, g         measured with `barrier --loggp` on two nodes
    L            the network's latency, counted from the gate at which it takes a frame (`--gate`)
    computation  what `barrier` measured before its loop
    noise        what `selfish` sees on the same nodes with the same service but without the job; each node
                 replays it from the time at which the loop began

Writes

    OUT/lockstep-barriers.json              the figures
    OUT/lockstep-barriers-N-NOISE.dat       the time at which each rank passed each barrier, a column per rank
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.bench.compare import samples
from lab.bench.lockstep_nodes import header, nodes_run
from lab.bench.runner import program_found
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import APPS, REPORT
from lab.common.simulator import sim
from lab.common.text import table, time_ns, time_option
from lab.formats import registry
from lab.formats.trace import Trace, noise_write

SUMMARY = "Compare barriers under noise on nodes of one virtual clock with the simulator: exact, in QEMU."

#: Time at which the loop begins; all ranks have met by then.
BEGIN_NS = 60_000_000
#: A card whose link is up at once.
NETWORK = ["--network", "--card", "e1000e"]
#: Size of a message (apps/barrier/exchange.h).
MESSAGE_BYTES = 16
#: Period and work of the service; and the seed from which each node takes its times.
PERIOD_NS, WORK_NS = 10_000_000, 300_000
SEEDS = {"none": "", "co-scheduled": "1", "unsynchronised": "{node}"}
#: Quantum for nodes that do not communicate.
SILENT_QUANTUM = "1ms"
#: An iteration lasts at most this many times the computation plus ten quanta. This limits how long noise is
#: recorded.
LONGER = 2


@dataclass(frozen=True)
class LogGP:
    """The costs of a datagram, ns."""

    o_send: float
    o_receive: float  #: for a receiver that already waits
    o_receive_late: float  #: for a receiver that comes long after the datagram
    gap: float  #: between two datagrams sent one after the other
    trip: float  #: half of the way there and back, o_send and o_receive included


@dataclass(frozen=True)
class Job:
    """What the ranks of a job measured, ticks; a row per iteration, a column per rank."""

    passed: np.ndarray
    begin_ticks: int
    begin_ns: list[float]
    computed: float
    rate: float  #: ticks per ns of the nodes' clocks


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("lockstep-barriers", description=SUMMARY)

    def numbers(text: str) -> list[int]:
        if not re.fullmatch(r"\d{1,2}(,\d{1,2})*", text) or not all(
            2 <= int(one) <= 16 for one in text.split(",")
        ):
            raise argparse.ArgumentTypeError(f"{text!r}: give numbers of nodes from 2 to 16, such as 2,4")
        return [int(one) for one in text.split(",")]

    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument(
        "--nodes", type=numbers, default=[2, 4, 8], metavar="N,…", help="numbers of nodes (default 2,4,8)"
    )
    parser.add_argument(
        "--iterations", type=samples, default=200, metavar="I", help="number of barriers (default 200)"
    )
    parser.add_argument(
        "--compute",
        type=time_ns,
        default=500_000,
        metavar="TIME",
        help="computation between two barriers (default 500us)",
    )
    parser.add_argument(
        "--quantum",
        type=time_ns,
        default=20_000,
        metavar="TIME",
        help="virtual time between two gates (default 20us)",
    )


# ---- Measured ----


def loggp(quantum_ns: int) -> LogGP:
    """Measures the costs of a datagram between two nodes."""
    words = ["--nodes", "2", *NETWORK, "--quantum", f"{quantum_ns}ns"]
    words += [str(APPS / "barrier"), "--node", "{node}", "--nodes", "2", "--loggp", "--poll"]
    rows: dict[str, list[list[int]]] = {}
    for node in nodes_run(words):
        for line in node.out.splitlines():
            kind, *ticks = line.split("\t")
            rows.setdefault(kind, []).append([int(one) for one in ticks])
    pings, late = np.array(rows["ping"]), np.array(rows["late"])

    def usual(values: np.ndarray) -> float:
        return float(np.median(values))

    return LogGP(
        o_send=usual(pings[:, 1] - pings[:, 0]),
        # A card gets frames at gates, which are multiples of the quantum.
        o_receive=usual(pings[:, 2] % quantum_ns),
        o_receive_late=usual(late[:, 1] - late[:, 0]),
        gap=usual(np.diff(rows["burst"][0])),
        trip=usual(np.diff(pings[:, 2])) / 2,
    )


def service_of(noise: str) -> list[str]:
    """Returns the options of nodes whose service makes this noise."""
    if not SEEDS[noise]:
        return []
    words = f"{APPS / 'daemon'} -p {time_option(PERIOD_NS)} -w {time_option(WORK_NS)} -s {SEEDS[noise]} -r"
    return ["--service", words, "--options", "service_policy=other"]


def job(nodes: int, noise: str, options: argparse.Namespace) -> Job:
    words = ["--nodes", str(nodes), *NETWORK, "--quantum", f"{options.quantum}ns", *service_of(noise)]
    words += [str(APPS / "barrier"), "--node", "{node}", "--nodes", str(nodes), "--at", str(BEGIN_NS)]
    words += ["--iterations", str(options.iterations), "--compute", f"{options.compute}ns", "--poll"]
    ended = nodes_run(words)
    rows = [
        np.array([line.split("\t") for line in one.out.splitlines() if line[:1] != "#"], dtype=np.int64)
        for one in ended
    ]
    if any(one.shape != (options.iterations, 3) for one in rows):
        raise LabError(f"barrier on {nodes} nodes has not written {options.iterations} iterations")
    return Job(
        passed=np.stack([one[:, 2] for one in rows], axis=1),
        begin_ticks=BEGIN_NS,
        begin_ns=[header(one.out, "Begun [ns of CLOCK_MONOTONIC_RAW]", one.name) for one in ended],
        computed=max(header(one.out, "Computation without noise [ticks]", one.name) for one in ended),
        rate=header(ended[0].out, "Ticks per ns", ended[0].name),
    )


@dataclass(frozen=True)
class Noise:
    """What `selfish` saw on one node."""

    trace: Trace
    begin_ns: float


def noise_of(nodes: int, noise: str, until_ns: int, folder: Path) -> list[Noise]:
    """Returns the noise of each node with this service, from its start to `until_ns` of its time."""
    words = ["--nodes", str(nodes), "--quantum", SILENT_QUANTUM, *service_of(noise)]
    words += [str(APPS / "selfish"), "-s", "-r", f"{until_ns}ns"]
    found = []
    for node in nodes_run(words):
        path = folder / f"{noise}-{node.name}.selfish"
        path.write_text(node.out)
        begin = header(node.out, "Begun [ns of CLOCK_MONOTONIC_RAW]", node.name)
        found.append(Noise(registry.read(path)[0], begin))
    return found


# ---- Predicted ----


def in_ticks(trace: Trace, rate: float) -> Trace:
    """Converts a trace from ns to ticks. The kernels measure the clock's rate, with an error of some
    millionths."""
    return replace(
        trace,
        start_ns=trace.start_ns * rate,
        duration_ns=trace.duration_ns * rate,
        span_ns=trace.span_ns * rate,
    )


def noise_words(of: Job, noise: Sequence[Noise], folder: Path) -> list[str]:
    """Returns the simulator's options with which each rank replays its node's noise from the loop's
    beginning."""
    words, places = [], []
    for number, (one, begin_ns) in enumerate(zip(noise, of.begin_ns, strict=True), start=1):
        trace = in_ticks(one.trace, of.rate)
        path = folder / f"rank{number}.noise"
        noise_write(trace, path)
        words += ["--noise", str(path)]
        # The file's first detour begins at 0.
        first = float(trace.start_ns[0]) if trace.listed else 0.0
        places.append((begin_ns - one.begin_ns) * of.rate - first)
    offsets = folder / "offsets"
    offsets.write_text("".join(f"{place:.0f}\n" for place in places))
    return [*words, "--offsets", str(offsets)]


def predicted(of: Job, costs: LogGP, wire: Sequence[str], noise: Sequence[Noise], folder: Path) -> np.ndarray:
    """Returns when the last rank passes each barrier, ns since the beginning. `wire` are the options for
    L."""
    iterations, ranks = of.passed.shape
    words = ["pattern", "dissemination", "-n", str(ranks), "-b", str(MESSAGE_BYTES), "-i", str(iterations)]
    words += [
        "--compute",
        f"{of.computed:.0f}",
        "--os",
        f"{costs.o_send:.0f}",
        "--or",
        f"{costs.o_receive:.0f}",
    ]
    words += ["-g", f"{costs.gap:.0f}", "-G", "0", "--handling", "posted", *wire]
    if noise:
        words += noise_words(of, noise, folder)
    result = sim([*words, "--no-quiet", "--json", "-", "-q"])
    return np.array(json.loads(result)["iteration_ends_ns"])


# ---- Side by side ----


def lengths(ends: np.ndarray) -> np.ndarray:
    return np.diff(ends, prepend=0.0)


def side_by_side(of: Job, gated: np.ndarray, plain: np.ndarray) -> dict[str, float]:
    ends = (of.passed.max(axis=1) - of.begin_ticks).astype(float)
    measured, foretold, by_plain = lengths(ends), lengths(gated), lengths(plain)
    return {
        "measured_mean_ns": float(measured.mean()),
        "measured_max_ns": float(measured.max()),
        "predicted_mean_ns": float(foretold.mean()),
        "predicted_max_ns": float(foretold.max()),
        "difference_ratio": float(foretold.mean() / measured.mean() - 1),
        "end_difference_ns_max": float(np.abs(gated - ends).max()),
        "plain_mean_ns": float(by_plain.mean()),
        "plain_difference_ratio": float(by_plain.mean() / measured.mean() - 1),
    }


def as_table(found: dict[str, dict[str, Any]]) -> str:
    """Returns a table with a row per job."""

    def us(ns: float) -> str:
        return f"{ns / 1000:.2f}"

    def row(one: dict[str, Any]) -> list[str]:
        return [
            str(one["nodes"]),
            one["noise"],
            us(one["measured_mean_ns"]),
            us(one["predicted_mean_ns"]),
            f"{round(100 * one['difference_ratio'], 3) + 0.0:+.3f} %",
            us(one["measured_max_ns"]),
            us(one["predicted_max_ns"]),
            us(one["end_difference_ns_max"]),
            f"{100 * one['plain_difference_ratio']:+.2f} %",
        ]

    head = [
        "nodes",
        "noise",
        "mean, µs",
        "simulated",
        "differs",
        "longest",
        "simulated",
        "ends apart",
        "plain L",
    ]
    return table(head, [row(one) for one in found.values()])


def measure(options: argparse.Namespace, folder: Path, out: TextIO) -> dict[str, Any]:
    def say(text: str) -> None:
        print(text, file=out, flush=True)

    say("costs of a datagram, on 2 nodes …")
    costs = loggp(options.quantum)
    length_ns = options.compute + 10 * options.quantum
    until_ns = BEGIN_NS + LONGER * options.iterations * length_ns
    gated = ["-L", str(options.quantum), "--gate", str(options.quantum)]
    plain = ["-L", f"{costs.trip - costs.o_send - costs.o_receive:.1f}"]
    found: dict[str, Any] = {}
    for noise in SEEDS:
        recorded: list[Noise] = []
        if SEEDS[noise]:
            say(f"noise {noise}: recorded on {max(options.nodes)} nodes …")
            recorded = noise_of(max(options.nodes), noise, until_ns, folder)
        for nodes in options.nodes:
            say(f"noise {noise}: barriers of {nodes} nodes …")
            one = job(nodes, noise, options)
            if int(one.passed.max()) > until_ns:
                raise LabError(
                    f"the loop ended at {one.passed.max()} ns, but noise is known only until {until_ns} ns"
                )
            both = [predicted(one, costs, wire, recorded[:nodes], folder) for wire in (gated, plain)]
            text_write(
                options.out / f"lockstep-barriers-{nodes}-{noise}.dat",
                "".join("\t".join(map(str, row)) + "\n" for row in one.passed.tolist()),
            )
            found[f"{nodes} {noise}"] = {"nodes": nodes, "noise": noise, **side_by_side(one, *both)}
    jobs = {key: found[key] for key in sorted(found, key=lambda key: found[key]["nodes"])}
    shares = [float(one.trace.duration_ns.sum() / one.trace.span_ns) for one in recorded]
    return {"loggp": vars(costs), "noise_ratio": shares, "jobs": jobs}


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    out = out or sys.stdout
    for name in ("barrier", "daemon", "selfish"):
        program_found(APPS / name)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tacet-lockstep-") as folder:
        found = measure(options, Path(folder), out)
    path = options.out / "lockstep-barriers.json"
    text_write(path, json.dumps(found, indent=2) + "\n")
    costs = found["loggp"]
    print(
        f"\no_send {costs['o_send']:.0f} ns, o_receive {costs['o_receive']:.0f} ns "
        f"({costs['o_receive_late']:.0f} of a datagram that waits), g {costs['gap']:.0f} ns\neach node loses "
        f"{100 * max(found['noise_ratio']):.2f} % to the service\n\n{as_table(found['jobs'])}\n\n{path}",
        file=out,
        flush=True,
    )
    return 0
