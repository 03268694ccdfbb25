# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-programs`: compares two computing loops, STREAM's triad and a matrix product, on Tacet and on
Linux.

On one CPU, in QEMU with `icount` at one instruction per nanosecond, the quickest of many repetitions takes
the same instructions on both, because nothing is between the program and the processor; a difference is
caused by the kernel. On several CPUs the kernel's own counters must not change from before the first
repetition until after the last. The same ELF files run on both (apps/stream, apps/dgemm). Writes
`bench_programs.json` into `--out`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.costs import parse_cost
from lab.bench.runner import Runner
from lab.common.errors import LabError
from lab.common.paths import APPS, REPORT
from lab.common.text import table

SUMMARY = "Measure two computing loops, STREAM's triad and a matrix product, on Tacet and on Linux."

#: Names and arguments: a repetition fits between two of Linux's ticks (4 ms, so 4 million instructions).
PROGRAMS = {"stream": ["-n", "100000"], "dgemm": ["-n", "64"]}
REPETITIONS = 20
CORES = (2, 4)

#: The aims: the difference in instructions, relative to Linux's; kernel entries.
DIFFERENCE_MAX = 0.001
ENTRIES_MAX = 0


@dataclass
class Figures:
    """One program: instructions of the quickest and of the mean repetition, and kernel entries by number of
    cores (or why there are none)."""

    tacet: int
    linux: int
    tacet_mean: int
    linux_mean: int
    entries: dict[int, int | str] = field(default_factory=dict)

    def difference(self) -> float:
        return abs(self.tacet - self.linux) / self.linux


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-programs", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument("--apps", type=Path, default=APPS, help="folder of the programs")
    parser.add_argument(
        "--qemu", choices=("system", "newest"), default="newest", help="which QEMU (default newest)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="most seconds for each run (default 300)",
    )


def values_of(system: str, result: runner.Result) -> dict[str, int]:
    """Returns the values that a run printed. Raises LabError."""
    values = parse_cost(runner.result_checked(system, result).stdout.decode("ascii", errors="replace"))
    if "least_ticks" not in values or "mean_ticks" not in values:
        raise LabError(f"{system}: the program does not print its ticks\n{runner.console_tail(result)}")
    return values


def entries_on(machines: Runner, app: Path, args: list[str], cores: int, common: dict[str, Any]) -> int | str:
    """Returns the kernel entries in the timed loops on several cores, or why they are unknown."""
    try:
        result = machines.run_tacet(app, [*args, "-t", str(cores)], cpus=cores, options="ranks=1", **common)
        return values_of("Tacet", result)["kernel_entries"]
    except (LabError, KeyError):
        said = result.stderr.decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"{result.outcome}, status {result.status}"


def measure(options: argparse.Namespace, machines: Runner, name: str, out: TextIO) -> Figures:
    app = runner.program_found(options.apps / name)
    args = [*PROGRAMS[name], "-r", str(REPETITIONS)]
    common: dict[str, Any] = {"memory": "256M", "qemu": options.qemu, "time_limit": options.time_limit}
    try:
        tacet = values_of(
            "Tacet",
            runner.run_shown(
                f"{name} on Tacet", out, lambda: machines.run_tacet(app, args, icount=0, **common)
            ),
        )
        linux = values_of(
            "Linux",
            runner.run_shown(
                f"{name} on Linux",
                out,
                lambda: machines.run_linux(app, args, icount=0, variant="stock", **common),
            ),
        )
        figures = Figures(
            tacet["least_ticks"], linux["least_ticks"], tacet["mean_ticks"], linux["mean_ticks"]
        )
        figures.entries[1] = tacet.get("kernel_entries", "not counted")
        for cores in CORES:
            figures.entries[cores] = entries_on(machines, app, args, cores, common)
    except machines.RunnerError as error:
        raise LabError(f"{name}: {error}") from None
    return figures


def held(figures: Figures) -> bool:
    return figures.difference() <= DIFFERENCE_MAX and all(
        entries == ENTRIES_MAX for entries in figures.entries.values()
    )


def as_table(found: dict[str, Figures]) -> str:
    """Returns a table of the figures with their aims."""
    rows = []
    for name, figures in found.items():
        same = figures.difference() <= DIFFERENCE_MAX
        rows.append(
            [
                f"{name}: instructions of a repetition",
                f"{figures.tacet:,}",
                f"within {DIFFERENCE_MAX:.1%}",
                "yes" if same else "NO",
                f"{figures.linux:,}",
            ]
        )
        rows.append(["  of the mean one", f"{figures.tacet_mean:,}", "", "", f"{figures.linux_mean:,}"])
        for cores, entries in figures.entries.items():
            rows.append(
                [
                    f"  kernel entries, {cores} core{'s' if cores > 1 else ''}",
                    str(entries),
                    str(ENTRIES_MAX),
                    "yes" if entries == ENTRIES_MAX else "NO",
                    "",
                ]
            )
    return table(["", "Tacet", "aim", "held", "Linux here"], rows)


def bench(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, Figures]:
    """Runs all programs. LabError if a run on one CPU fails."""
    found = {name: measure(options, machines, name, out) for name in PROGRAMS}
    written = {
        name: {**vars(figures), "difference": figures.difference(), "held": held(figures)}
        for name, figures in found.items()
    }
    runner.figures_keep(options.out / "bench_programs.json", written, as_table(found), out)
    return found


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    bench(options, machines or runner.load(), out or sys.stdout)
    return 0
