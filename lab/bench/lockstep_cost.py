# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-lockstep`: measures the cost of lockstep on this machine: CPU time of nodes at gates, compared
with a node alone.

A number of nodes compute (FTQ), or sleep, for half a second of their time, each at 5,000 gates. Before them
one node does the same with gates 100 ms apart, in effect without gates. For each cluster

gates      gates per second
CPU time   CPU time of this machine that the nodes and the harness take, from the first instruction on
alone      that CPU time as a multiple of the CPU time of the same number of nodes alone
a gate     cost of a gate for a node: (CPU time - nodes * CPU time alone) / (gates * nodes)
harness    the part of that cost in tools/lockstep itself, in Python
memory     memory of the largest QEMU so far

Apart from the caches, CPU time does not depend on other programs of this machine; gates per second do. Writes
`bench_lockstep.json` into the folder `--out`. Without QEMU 10 it says so and writes nothing.
`bench_lockstep.json` into the folder `--out`; without QEMU 10 it says so and writes nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.lockstep_nodes import cluster
from lab.common.files import text_write
from lab.common.paths import APPS, REPORT
from lab.common.text import table

SUMMARY = "Measure the cost of gates for nodes in lockstep, compared with one node alone."

NODES = (1, 2, 4, 8, 16)
UNTIL, GATES, ALONE = "500ms", "100us", "100ms"
MEMORY = "128M"
#: FTQ with more quanta than there is time for.
FTQ = [str(APPS / "ftq"), "-n", "100000", "-s"]


@dataclass(frozen=True)
class Run:
    """A run from the nodes' first instructions to their ends."""

    gates: int
    seconds: float
    cpu_seconds: float
    harness_seconds: float  #: part of cpu_seconds: this process


@dataclass(frozen=True)
class Row:
    """One cluster's run, and the CPU time of one node alone."""

    nodes: int
    program: str
    run: Run
    alone_cpu_seconds: float
    memory_bytes: int

    def times_alone(self) -> float:
        return self.run.cpu_seconds / (self.nodes * self.alone_cpu_seconds)

    def gate_us(self) -> float:
        beside = self.run.cpu_seconds - self.nodes * self.alone_cpu_seconds
        return 1e6 * beside / (self.run.gates * self.nodes)

    def harness_us(self) -> float:
        return 1e6 * self.run.harness_seconds / (self.run.gates * self.nodes)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-lockstep", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        choices=range(1, 65),
        default=NODES,
        metavar="N",
        help="nodes of each cluster",
    )


def largest_bytes() -> int:
    """Returns the largest memory of the child processes that have ended, bytes."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def used_seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def own_seconds(pid: int) -> float:
    """Returns the CPU time of a running process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def passed(words: Sequence[str]) -> Run:
    """Runs nodes and returns their figures. LabError if they cannot run."""
    before: list[tuple[float, float]] = []

    def begun(nodes: Any) -> None:
        earlier = sum(own_seconds(node.process.pid) for node in nodes)
        earlier += used_seconds(resource.RUSAGE_CHILDREN)
        before.append((earlier, used_seconds(resource.RUSAGE_SELF)))

    with tempfile.TemporaryDirectory(prefix="tacet-lockstep-") as folder:
        begin = ["--until", UNTIL, "--memory", MEMORY]
        with cluster([*begin, *words], Path(folder), begun) as (_, summary):
            # The nodes are child processes that have ended.
            of_nodes = used_seconds(resource.RUSAGE_CHILDREN) - before[0][0]
            harness = used_seconds(resource.RUSAGE_SELF) - before[0][1]
            return Run(summary.gates, summary.seconds, of_nodes + harness, harness)


def measure(
    nodes: Sequence[int],
    programs: dict[str, list[str]],
    say: Callable[[str], None],
    run: Callable[[Sequence[str]], Run] = passed,
) -> list[Row]:
    rows = []
    for name, program in programs.items():
        say(f"one node alone: {name}")
        alone = run(["--nodes", "1", "--quantum", ALONE, *program])
        for count in nodes:
            say(f"{count} in lockstep: {name}")
            done = run(["--nodes", str(count), "--quantum", GATES, *program])
            rows.append(Row(count, name, done, alone.cpu_seconds, largest_bytes()))
    return rows


def as_table(rows: Sequence[Row]) -> str:
    def shown(row: Row) -> list[str]:
        run = row.run
        speed = [f"{run.gates / run.seconds:.0f}", f"{run.cpu_seconds:.1f} s", f"{row.times_alone():.1f}"]
        memory = f"{row.memory_bytes / 2**20:.0f} MiB"
        return [
            str(row.nodes),
            row.program,
            *speed,
            f"{row.gate_us():.0f} µs",
            f"{row.harness_us():.0f} µs",
            memory,
        ]

    header = ["nodes", "they", "gates a second", "CPU time", "times alone", "a gate", "harness", "memory"]
    return table(header, [shown(row) for row in rows])


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command. Raises LabError or OSError."""
    out = out or sys.stdout
    machines = runner.load()
    runner.program_found(Path(FTQ[0]))
    try:
        importlib.import_module("lockstep.node").options_check()
    except machines.RunnerError as error:
        print(f"bench-lockstep: {error}", file=out)
        return 0
    programs = {"compute": FTQ, "sleep": ["/bin/busybox", "sleep", "100"]}
    rows = measure(options.nodes, programs, lambda what: print(f"{what} …", file=out, flush=True))
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "bench_lockstep.json"
    text_write(kept, json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    print(f"\n{as_table(rows)}\n\n{kept}", file=out, flush=True)
    return 0
