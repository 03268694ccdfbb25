# SPDX-License-Identifier: BSD-2-Clause
"""`lab compare-phases`: compares the probability of a delayed computation phase on Tacet and on three
Linuxes.

Runs `phase` [Tsafrir05 §3], the same file, in QEMU on Tacet, on stock Linux, on tuned Linux and on Debian's
PREEMPT_RT kernel, one after the other, with `icount` at one instruction per nanosecond. Writes into the
folder `--out`:

    phase.png            survival functions, a panel per grain, a curve per system [Tsafrir05 Fig. 5]
    phase.json           the figures
    phase-SYSTEM.dat     the program's output, unchanged
    phase-SYSTEM.log     the program's summary and the console

p is the probability that a phase lasts longer than the shortest one by more than a delay; E(Y)/G is the
slowdown of a job of n nodes, where G is the noiseless phase. If Linux is silent, too, the comparison has
measured nothing: it fails.

The tuned Linux needs a second CPU, and the two take turns on QEMU's clock (comparison.py). So phases may
differ by a turn, which does not count as delay (`phase -d`), and only grains of a hundred turns or more are
run: then a turn is at most one percent, the least delay for which p is stated. With `--turns off` its delays
are an upper bound, and marked.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.comparison import NAMES, Absent, options_add, system_run, turns_of, unbounded
from lab.bench.runner import Result, Runner
from lab.common.errors import DataError, LabError
from lab.common.files import text_write
from lab.common.text import table, time_ns, time_text
from lab.formats import phase
from lab.pictures.survival import SurvivalCurves, survival_picture

SUMMARY = "Compare how likely a computation phase is delayed on Tacet and on Linux, in QEMU."

#: The systems of this comparison, in the order of columns and curves.
SYSTEMS = NAMES

REMARKS = {
    "linux_tuned": "QEMU's CPUs take turns of any length on one clock: what CPU 0 executes shows as delay "
    "here. Only the interrupts are this CPU's own."
}

#: The least length of a grain, in turns.
GRAIN_TURNS = 100

#: Sizes of jobs in table and JSON.
NODES = (1, 10, 100, 1_000, 10_000, 100_000)
#: The size in the table.
NODES_SHOWN = 1_000


@dataclass(frozen=True)
class Column:
    """One system: its grains' data and the program's summaries, or why it is absent."""

    key: str
    grains: dict[int, phase.PhaseData] = field(default_factory=dict)
    reports: dict[int, dict[str, str]] = field(default_factory=dict)
    result: Result | None = None
    absent: str = ""
    remark: str = ""
    turns_ns: int = 0

    @property
    def name(self) -> str:
        return SYSTEMS[self.key]

    def kernel_entries(self, grain_ns: int) -> int | None:
        """Kernel entries (Tacet) or interrupts (Linux) in the window of a grain; None if not counted."""
        text = self.reports.get(grain_ns, {}).get("kernel_entries", "")
        return int(text) if text.isdigit() else None


def grains(text: str) -> list[int]:
    """Parses rising grains separated by commas, like `phase -g`, to ns."""
    found = [time_ns(word) for word in text.split(",")]
    if sorted(set(found)) != found or found[0] < 100 or found[-1] > 100 * 10**9:
        raise argparse.ArgumentTypeError(f"{text!r}: give rising grains from 100ns to 100s, such as 1us,1ms")
    return found


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("compare-phases", description=SUMMARY)
    options_add(parser, "phase")
    parser.add_argument(
        "--grains",
        type=grains,
        default="1us,10us,100us,1ms,10ms,100ms",
        help="grains (default 1us to 100ms by tens)",
    )
    parser.add_argument(
        "--limit",
        type=time_ns,
        default="2s",
        metavar="TIME",
        help="most guest time for each grain (default 2s)",
    )


def measure(key: str, machines: Runner, options: argparse.Namespace, out: TextIO, title: str) -> Column:
    """Runs one system, keeps its raw output, and reads its data."""
    turns = turns_of(key, options)
    grains = [grain for grain in options.grains if grain >= GRAIN_TURNS * turns]
    if not grains:
        least = time_text(GRAIN_TURNS * turns)
        return Column(key, absent=f"its turns of {time_text(turns)} need grains of {least} or more")
    args = ["-s", "-g", ",".join(f"{grain}ns" for grain in grains), "-l", f"{options.limit}ns"]
    args += ["-d", f"{turns}ns"] if turns else []
    try:
        result = system_run(key, "phase", args, machines, options, out, title)
    except Absent as absent:
        return Column(key, absent=str(absent))
    try:
        blocks = phase.parse(result.stdout.decode("ascii", errors="replace"), f"phase-{key}.dat")
        reports = phase.parse_reports(result.stderr.decode(errors="replace"))
        phase.check_reports(f"phase-{key}.dat", blocks, reports)
    except DataError as error:
        raise LabError(f"{SYSTEMS[key]}: {error}\n{runner.console_tail(result)}") from None
    missing = set(grains) - {block.grain_ns for block in blocks}
    if missing:
        raise LabError(
            f"{SYSTEMS[key]}: no data for grains of {sorted(missing)} ns\n{runner.console_tail(result)}"
        )
    by_grain = {block.grain_ns: block for block in blocks}
    noisy = any(phase.delayed(data, phase.DELAYS[0]) for data in blocks)
    remark = REMARKS[key] if unbounded(key, options) and noisy else ""
    return Column(key, by_grain, dict(zip(by_grain, reports)), result, remark=remark, turns_ns=turns)


def grain_as_json(column: Column, data: phase.PhaseData) -> dict[str, Any]:
    """Returns one grain's figures on one system; times in ns, probabilities and ratios as fractions of
    one."""
    return {
        "phases": data.count,
        "calibrated_ns": data.calibrated_ns,
        "minimum_ns": data.minimum_ns,
        "mean_ns": data.mean_ns,
        "maximum_ns": data.maximum_ns,
        "p": {f"{100 * delay:g}%": phase.probability(data, delay) for delay in phase.DELAYS},
        "delayed_phases": {f"{100 * delay:g}%": phase.delayed(data, delay) for delay in phase.DELAYS},
        "slowdown": {str(nodes): phase.slowdown(data, nodes) for nodes in NODES},
        "kernel_entries": column.kernel_entries(data.grain_ns),
    }


def as_json(column: Column) -> dict[str, Any]:
    """Returns one system's figures."""
    if not column.grains:
        return {"absent": column.absent}
    return {
        "grains": {str(grain): grain_as_json(column, data) for grain, data in column.grains.items()},
        "turns_ns": column.turns_ns,
        "remark": column.remark,
        "command": shlex.join(column.result.command) if column.result else "",
    }


def probability_text(data: phase.PhaseData, delay: float) -> str:
    """Returns p, or 0 if no phase was delayed."""
    return f"{phase.probability(data, delay):.2e}" if phase.delayed(data, delay) else "0"


def turns_text(column: Column) -> str:
    """Returns how to read the figures of a system whose CPUs take bounded turns."""
    least = GRAIN_TURNS * column.turns_ns
    return (
        f"{column.name}: two CPUs take turns of {time_text(column.turns_ns)} on QEMU's clock, which are at "
        f"most one percent of a grain from {time_text(least)} on."
    )


def as_table(columns: Sequence[Column], grains_ns: Sequence[int]) -> str:
    """Returns a table with systems as columns; for each grain p at each delay, the slowdown, the kernel
    entries."""
    present = [column for column in columns if column.grains]
    rows: list[list[str]] = []

    def row(name: str, cells: list[str]) -> None:
        rows.append([name, *cells])

    def cells(grain: int, text: Callable[[Column, phase.PhaseData], str]) -> list[str]:
        return [text(c, c.grains[grain]) if grain in c.grains else "-" for c in present]

    def entries(column: Column, data: phase.PhaseData) -> str:
        count = column.kernel_entries(data.grain_ns)
        return "not counted" if count is None else str(count)

    def slowdown(_: Column, data: phase.PhaseData) -> str:
        return f"{phase.slowdown(data, NODES_SHOWN):.4f}"

    for grain in grains_ns:
        for delay in phase.DELAYS:
            name = f"{time_text(grain)}: p at +{100 * delay:g} %"
            row(name, cells(grain, lambda _, data, delay=delay: probability_text(data, delay)))
        row(f"  E(Y)/G, {NODES_SHOWN} nodes", cells(grain, slowdown))
        row("  kernel entries", cells(grain, entries))
    counts = ", ".join(f"{present[0].grains[grain].count:,} of {time_text(grain)}" for grain in grains_ns)
    notes = [
        f"phases: {counts}. 0: no phase was delayed.",
        "kernel entries: Tacet counts system calls, exceptions and interrupts; Linux's are interrupts only.",
    ]
    notes += [turns_text(column) for column in present if column.turns_ns]
    notes += [f"* {column.name}: {column.remark}" for column in present if column.remark]
    notes += [f"{column.name}: absent: {column.absent}" for column in columns if not column.grains]
    header = ["", *(column.name + " *" * bool(column.remark) for column in present)]
    return "\n".join([table(header, rows), "", *notes])


def report_write(columns: Sequence[Column], options: argparse.Namespace) -> None:
    """Writes phase.json and phase.png."""
    folder: Path = options.out
    figures: dict[str, Any] = {column.key: as_json(column) for column in columns}
    figures["command"] = options.command_line
    text_write(folder / "phase.json", json.dumps(figures, indent=2) + "\n")
    curves = [
        SurvivalCurves(column.key, column.name + " *" * bool(column.remark), column.grains)
        for column in columns
        if column.grains
    ]
    survival_picture(
        curves,
        folder / "phase.png",
        title="Probability that a computation phase is delayed",
        notes=[
            "The same ELF file on every system, in QEMU, one instruction per nanosecond of guest time.",
            *(turns_text(column) for column in columns if column.turns_ns and column.grains),
            *(f"* {column.name}: {column.remark}" for column in columns if column.remark),
        ],
    )


def compare(options: argparse.Namespace, machines: Runner, out: TextIO) -> None:
    """Runs the whole comparison. LabError if it fails."""
    runner.program_found(options.phase)
    options.out.mkdir(parents=True, exist_ok=True)
    columns = [
        measure(key, machines, options, out, f"[{i}/{len(SYSTEMS)}] phase on {name}")
        for i, (key, name) in enumerate(SYSTEMS.items(), start=1)
    ]
    report_write(columns, options)
    print("\n" + as_table(columns, options.grains), file=out)
    print(f"\n{options.out / 'phase.png'}\n{options.out / 'phase.json'}", file=out, flush=True)
    linux = columns[list(SYSTEMS).index("linux")].grains.values()
    if not any(phase.delayed(data, 0.001) for data in linux):
        raise LabError(
            "Linux delays no phase: the method cannot see noise here, so Tacet's zero proves nothing. Use a "
            "longer window (--limit) or finer grains (--grains) that show Linux's timer ticks."
        )


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    compare(options, machines or runner.load(), out or sys.stdout)
    return 0
