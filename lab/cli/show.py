# SPDX-License-Identifier: BSD-2-Clause
"""`lab show`: what a file holds, and its figures. One table, a column a trace; `--json` for programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

from lab import statistics
from lab.cli.inputs import add_assumed, add_files, assumed_of, systems_of
from lab.common.text import percent_text, rate_text, table, time_text
from lab.pictures.style import System
from lab.statistics import DetourFigures

#: More are no table.
COLUMNS_MAX = 8


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "show",
        description="What measured files hold, and their figures: the format is recognised by the content.",
    )
    add_files(parser)
    add_assumed(parser)
    parser.add_argument("--json", action="store_true", help="the figures as JSON, in ns and fractions of one")
    parser.add_argument(
        "--parameters", action="store_true", help="also everything that the files say of themselves"
    )


def _length(value: float | None) -> str:
    return "–" if value is None else time_text(value)


ROWS: tuple[tuple[str, Callable[[System, DetourFigures], str]], ...] = (
    ("format", lambda s, f: s.trace.format),
    ("measured", lambda s, f: time_text(s.trace.span_ns)),
    ("threshold", lambda s, f: _length(s.trace.threshold_ns)),
    (
        "detours",
        lambda s, f: (
            f"{f.detours:,}" + (f" ({s.trace.listed:,} listed)" if f.detours > s.trace.listed else "")
        ),
    ),
    ("detours a second", lambda s, f: rate_text(f.per_second)),
    ("noise ratio", lambda s, f: "–" if math.isnan(f.noise_ratio) else percent_text(f.noise_ratio)),
    ("shortest detour", lambda s, f: _length(f.minimum_ns)),
    ("median", lambda s, f: _length(f.percentiles_ns.get("median"))),
    ("mean", lambda s, f: _length(f.mean_ns)),
    ("99 %", lambda s, f: _length(f.percentiles_ns.get("p99"))),
    ("99.9 %", lambda s, f: _length(f.percentiles_ns.get("p99.9"))),
    ("longest", lambda s, f: _length(f.maximum_ns)),
)


def figures_json(system: System, figures: DetourFigures) -> dict[str, Any]:
    trace = system.trace
    return {
        "source": trace.source,
        "format": trace.format,
        "system": trace.system,
        "cpu": trace.cpu,
        "span_ns": trace.span_ns,
        "threshold_ns": trace.threshold_ns,
        "detours": figures.detours,
        "listed": trace.listed,
        "detours_per_second": figures.per_second,
        "noise_ratio": None if math.isnan(figures.noise_ratio) else figures.noise_ratio,
        "minimum_ns": figures.minimum_ns,
        "mean_ns": figures.mean_ns,
        "percentiles_ns": figures.percentiles_ns,
        "maximum_ns": figures.maximum_ns,
        "parameters": dict(trace.parameters),
    }


def run(options: argparse.Namespace) -> int:
    systems = systems_of(options.files, assumed_of(options))
    found = [(system, statistics.detour_figures(system.trace)) for system in systems]
    if options.json:
        print(json.dumps([figures_json(system, figures) for system, figures in found], indent=2))
        return 0
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
        if options.parameters:
            print("".join(f"    {key}: {value}\n" for key, value in system.trace.parameters.items()), end="")
    return 0
