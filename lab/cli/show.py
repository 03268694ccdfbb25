# SPDX-License-Identifier: BSD-2-Clause
"""`lab show`: shows a file's content and figures in a table, a column per trace; `--json` for programs.

A file that cannot be read is named, and the others are shown. The status is 1 if the command line names such
a file, or if no file could be read; other files of a folder are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab import statistics
from lab.cli.inputs import add_assumed, add_files, assumed_of, files_of
from lab.common.text import percent_text, rate_text, table, time_text
from lab.formats import phase
from lab.formats.phase import PhaseData
from lab.pictures.systems import System
from lab.statistics import DetourFigures

#: The most columns of a table; more traces make another table.
COLUMNS_MAX = 8
#: The longest is one measured detour, not a statistic of many: it has a digit more.
LONGEST_DIGITS = 4


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "show",
        description="Show the content and the figures of measured files. The content gives the format.",
    )
    add_files(parser, "measured data, or a folder, whose files are all shown; with the system's name")
    add_assumed(parser)
    parser.add_argument("--json", action="store_true", help="the figures as JSON, in ns and fractions of one")
    parser.add_argument("--parameters", action="store_true", help="also all parameters that the files state")


@dataclass(frozen=True)
class Figures(DetourFigures):
    """The figures, and the number of detours that were listed one by one."""

    listed: int


def judged(system: System) -> tuple[System, Figures]:
    """Returns the system's figures, and the system without its detours."""
    trace, none = system.trace, np.empty(0)
    figures = Figures(**vars(statistics.detour_figures(trace)), listed=trace.listed)
    bare = replace(trace, start_ns=none, duration_ns=none, samples=None, totals=None, over=0)
    return replace(system, trace=bare), figures


def _length(value: float | None) -> str:
    return "–" if value is None else time_text(value)


def _known(value: float) -> float | None:
    """Returns the number, or None for NaN."""
    return None if math.isnan(value) else value


ROWS: tuple[tuple[str, Callable[[System, Figures], str]], ...] = (
    ("format", lambda s, f: s.trace.format),
    ("measured", lambda s, f: _length(_known(s.trace.span_ns))),
    ("threshold", lambda s, f: _length(s.trace.threshold_ns)),
    (
        "detours",
        lambda s, f: (
            f"{f.detours:,}"
            + " latencies" * s.trace.latencies
            + (f" ({f.listed:,} listed)" if f.detours > f.listed else "")
        ),
    ),
    ("detours a second", lambda s, f: "–" if math.isnan(f.per_second) else rate_text(f.per_second)),
    ("noise ratio", lambda s, f: "–" if math.isnan(f.noise_ratio) else percent_text(f.noise_ratio)),
    ("shortest detour", lambda s, f: _length(f.minimum_ns)),
    ("median", lambda s, f: _length(f.percentiles_ns.get("median"))),
    ("mean", lambda s, f: _length(f.mean_ns)),
    ("99 %", lambda s, f: _length(f.percentiles_ns.get("p99"))),
    ("99.9 %", lambda s, f: _length(f.percentiles_ns.get("p99.9"))),
    ("99.99 %", lambda s, f: _length(f.percentiles_ns.get("p99.99"))),
    ("99.999 %", lambda s, f: _length(f.percentiles_ns.get("p99.999"))),
    ("longest", lambda s, f: "–" if f.maximum_ns is None else time_text(f.maximum_ns, LONGEST_DIGITS)),
)


def figures_json(system: System, figures: Figures) -> dict[str, Any]:
    trace = system.trace
    return {
        "source": trace.source,
        "format": trace.format,
        "system": trace.system,
        "cpu": trace.cpu,
        "span_ns": _known(trace.span_ns),
        "latencies": trace.latencies,
        "doubt": trace.doubt,
        "remarks": list(trace.remarks),
        "threshold_ns": trace.threshold_ns,
        "detours": figures.detours,
        "listed": figures.listed,
        "detours_per_second": _known(figures.per_second),
        "noise_ratio": _known(figures.noise_ratio),
        "minimum_ns": figures.minimum_ns,
        "mean_ns": figures.mean_ns,
        "percentiles_ns": figures.percentiles_ns,
        "maximum_ns": figures.maximum_ns,
        "parameters": dict(trace.parameters),
    }


def phase_json(path: Path, data: PhaseData) -> dict[str, Any]:
    return {
        "source": str(path),
        "format": "phase",
        "grain_ns": data.grain_ns,
        "phases": data.count,
        "minimum_ns": data.minimum_ns,
        "undisturbed_ns": data.floor.mode / data.ticks_per_ns,
        "maximum_ns": data.maximum_ns,
        "p": {f"{100 * delay:g}%": phase.probability(data, delay) for delay in phase.DELAYS},
        "separable": data.separable,
    }


def _phases_print(found: Sequence[tuple[Path, PhaseData]]) -> None:
    header = ["phases", "grain", "count", "shortest", "undisturbed", "longest"]
    rows = [
        [
            path.name,
            time_text(data.grain_ns),
            f"{data.count:,}",
            time_text(data.minimum_ns),
            time_text(data.floor.mode / data.ticks_per_ns) + ("" if data.separable else " ?"),
            time_text(data.maximum_ns),
            *(percent_text(phase.probability(data, delay)) for delay in phase.DELAYS),
        ]
        for path, data in found
    ]
    print(table([*header, *(f"p, {100 * delay:g} %" for delay in phase.DELAYS)], rows), end="\n\n")
    if not all(data.separable for _, data in found):
        print("?: undisturbed phases cannot be distinguished from delayed ones, so p means little\n")


def _traces_print(found: Sequence[tuple[System, Figures]], parameters: bool) -> None:
    for first in range(0, len(found), COLUMNS_MAX):
        part = found[first : first + COLUMNS_MAX]
        print(
            table(
                ["", *(system.name for system, _ in part)],
                [[name, *(text(s, f) for s, f in part)] for name, text in ROWS],
            ),
            end="\n\n",
        )
    for system, _ in found:
        print(
            f"{system.name}: {system.trace.source}"
            + (f": {system.trace.system}" if system.trace.system else "")
        )
        for note in (system.trace.doubt, *system.trace.remarks):
            if note:
                print(f"    note: {note}")
        if parameters:
            print("".join(f"    {key}: {value}\n" for key, value in system.trace.parameters.items()), end="")


def run(options: argparse.Namespace) -> int:
    shown = files_of(options.files, assumed_of(options), judged)
    found = shown.systems
    if options.json:
        rows = [figures_json(system, figures) for system, figures in found]
        print(json.dumps([*rows, *(phase_json(path, data) for path, data in shown.phases)], indent=2))
    else:
        _traces_print(found, options.parameters)
        if shown.phases:
            _phases_print(shown.phases)
    sys.stdout.flush()  # so that a terminal shows the errors below the tables
    for reason in shown.left_out:
        print(f"lab show: left out: {reason}", file=sys.stderr)
    for reason in shown.refused:
        print(f"lab show: {reason}", file=sys.stderr)
    return 0 if (found or shown.phases) and not shown.refused else 1
