# SPDX-License-Identifier: BSD-2-Clause
"""`lab plot KIND FILE…`: draws the field's pictures, to build/lab/KIND.png unless `-o` names a file. A kind
is a row of `KINDS`; lab/pictures/ draws."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import statistics
from lab.cli.inputs import (
    Input,
    add_assumed,
    add_files,
    assumed_of,
    grains_apart,
    phases_of,
    positive,
    systems_of,
    told_apart,
)
from lab.common.errors import DataError
from lab.common.text import time_ns, time_text
from lab.formats import ftq
from lab.formats.registry import Assumed
from lab.pictures.collectives import collective_picture, latencies_read
from lab.pictures.detours import scatter_picture, series_picture
from lab.pictures.distributions import DelayCurve, cdf_picture
from lab.pictures.ftq import Panel, ftq_picture
from lab.pictures.law import law_picture, slowdown_picture
from lab.pictures.spectrum import spectrum_picture
from lab.pictures.survival import SurvivalCurves, survival_picture, trace_curves


def curves_of(given: Input, assumed: Assumed, grain_ns: int) -> list[DelayCurve]:
    """Returns the delays of one grain: measured phases, or derived from a trace's detours."""
    phases = phases_of(given.path, assumed)
    if phases is None:
        systems = systems_of([given], assumed)
        return [DelayCurve(s.key, s.name, statistics.delays_of_trace(s.trace, grain_ns)) for s in systems]
    grains = grains_apart(phases, given.path)
    if grain_ns not in grains:
        raise DataError(
            f"{given.path}: no phases of {time_text(grain_ns)}; give a grain that it has with --grain: "
            f"{', '.join(map(time_text, grains))}"
        )
    return [DelayCurve(given.key, given.name, statistics.delays_of_phases(grains[grain_ns]))]


def all_curves(options: argparse.Namespace) -> list[DelayCurve]:
    return [
        curve for given in options.files for curve in curves_of(given, assumed_of(options), options.grain)
    ]


def survival_curves(given: Input, assumed: Assumed) -> list[SurvivalCurves]:
    """Returns a system's delays at several grains."""
    phases = phases_of(given.path, assumed)
    if phases is not None:
        return [SurvivalCurves(given.key, given.name, grains_apart(phases, given.path))]
    return [trace_curves(s.key, s.name, s.trace) for s in systems_of([given], assumed)]


def ftq_panels(options: argparse.Namespace) -> list[Panel]:
    panels = []
    for system in systems_of(options.files, assumed_of(options)):
        if not isinstance(system.trace.samples, ftq.FtqData):
            raise DataError(
                f"{system.trace.source}: {system.trace.format}, not FTQ; this picture needs samples of FTQ: "
                "try `lab plot series`"
            )
        panels.append(
            Panel(system.key, system.name, system.trace.samples, ftq.summarise(system.trace.samples))
        )
    return panels


Draw = Callable[[argparse.Namespace, dict[str, Any]], None]


@dataclass(frozen=True)
class Kind:
    """A picture: its name, what it shows, the function that draws it, and whether it is of one grain."""

    name: str
    summary: str
    draw: Draw
    grain: bool = False


def _law(options: argparse.Namespace, common: dict[str, Any]) -> None:
    law_picture(all_curves(options), options.out, delay_ratio=options.delay / 100, **common)


def _slowdown(options: argparse.Namespace, common: dict[str, Any]) -> None:
    slowdown_picture(all_curves(options), options.out, tolerance=options.tolerance / 100, **common)


def _survival(options: argparse.Namespace, common: dict[str, Any]) -> None:
    curves = [curve for given in options.files for curve in survival_curves(given, assumed_of(options))]
    survival_picture(curves, options.out, **common)


def _boxes(options: argparse.Namespace, common: dict[str, Any]) -> None:
    merged: dict[str, dict[int, list[float]]] = {}
    for given in options.files:
        for system, by_ranks in latencies_read(given.path, given.key).items():
            for ranks, values in by_ranks.items():
                merged.setdefault(system, {}).setdefault(ranks, []).extend(values)
    collective_picture(merged, options.out, **common)


KINDS = (
    Kind(
        "ftq",
        "operations lost in each quantum, a panel per system [Betti09 Fig. 3]",
        lambda o, c: ftq_picture(ftq_panels(o), o.out, **c),
    ),
    Kind(
        "series",
        "detours over time, and sorted by length [Beckman06 Fig. 3-5]",
        lambda o, c: series_picture(systems_of(o.files, assumed_of(o)), o.out, **c),
    ),
    Kind(
        "scatter",
        "every detour as a point [Hoefler10 Fig. 1]",
        lambda o, c: scatter_picture(systems_of(o.files, assumed_of(o)), o.out, **c),
    ),
    Kind(
        "spectrum",
        "frequencies of the noise [Hoefler10 §II]",
        lambda o, c: spectrum_picture(systems_of(o.files, assumed_of(o)), o.out, **c),
    ),
    Kind(
        "cdf",
        "how long a phase lasts, and its tail [Tsafrir05 Fig. 3, 4]",
        lambda o, c: cdf_picture(all_curves(o), o.out, **c),
        True,
    ),
    Kind("survival", "the probability of delays at several grains [Tsafrir05 Fig. 5]", _survival),
    Kind("law", "the probability that a step of n nodes is delayed [Tsafrir05 Fig. 2]", _law, True),
    Kind("slowdown", "how much a step of n nodes is slowed, E(Y)/G [Tsafrir05 §2.4]", _slowdown, True),
    Kind(
        "boxes",
        "latencies of collectives by ranks, from the simulator's or other JSON [Hoefler10 Fig. 5-7]",
        _boxes,
    ),
)


#: Where pictures go by default, in the current folder.
OUT = Path("build/lab")


def picture_file(text: str) -> Path:
    if not text.endswith((".png", ".svg")):
        raise argparse.ArgumentTypeError(f"{text!r}: give a name that ends in .png or .svg")
    return Path(text)


def pixels(text: str) -> int:
    if not text.isdigit() or not 200 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a width; give 200 to 10000 pixels")
    return int(text)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "plot", description="Draw one of the field's pictures. `lab plot KIND -h` lists a kind's options."
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind in KINDS:
        one = kinds.add_parser(kind.name, help=kind.summary, description=f"{kind.name}: {kind.summary}.")
        add_files(one)
        one.add_argument(
            "-o",
            "--out",
            type=picture_file,
            default=OUT / f"{kind.name}.png",
            metavar="OUT",
            help=f"a .png or .svg (default {OUT}/{kind.name}.png)",
        )
        one.add_argument("--title", help="a title instead of the default one")
        one.add_argument(
            "--note",
            action="append",
            default=[],
            metavar="TEXT",
            help="small print below the picture; may be repeated",
        )
        one.add_argument(
            "--width",
            type=pixels,
            default=1400,
            help="width of a PNG in pixels (default 1400; up to 1000 few colours, up to 800 larger letters)",
        )
        if kind.grain:
            one.add_argument(
                "--grain",
                type=time_ns,
                default="1ms",
                metavar="TIME",
                help="length of the computation phase (default 1ms)",
            )
        if kind.name == "law":
            one.add_argument(
                "--delay",
                type=positive,
                default=1.0,
                metavar="PERCENT",
                help="a phase is delayed if its delay exceeds this percentage of its grain (default 1)",
            )
        if kind.name == "slowdown":
            one.add_argument(
                "--tolerance",
                type=positive,
                default=1.0,
                metavar="PERCENT",
                help="percentage of slowdown at which to draw a line (default 1)",
            )
        add_assumed(one)


def run(options: argparse.Namespace) -> int:
    kind = next(known for known in KINDS if known.name == options.kind)
    common: dict[str, Any] = {"width": options.width}
    if options.title:
        common["title"] = options.title
    if options.note:
        common["note" if kind.name == "ftq" else "notes"] = (
            "\n".join(options.note) if kind.name == "ftq" else options.note
        )
    if options.out.parent == OUT:
        OUT.mkdir(parents=True, exist_ok=True)
    options.files = told_apart(options.files)
    kind.draw(options, common)
    print(options.out)
    return 0
