# SPDX-License-Identifier: BSD-2-Clause
"""Makes the report's pictures, as far as the data allow, each with the command that draws it again."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.common.text import time_option
from lab.formats import ftq
from lab.pictures.detours import series_picture
from lab.pictures.distributions import DelayCurve, cdf_picture
from lab.pictures.ftq import Panel, ftq_picture
from lab.pictures.law import law_picture, slowdown_picture
from lab.pictures.spectrum import spectrum_picture
from lab.pictures.style import System
from lab.pictures.survival import SurvivalCurves, survival_picture, trace_curves
from lab.report.answer import Options, Verdict
from lab.report.markup import escaped
from lab.report.nodes import Collection

#: Larger SVGs become PNGs.
SVG_MAX = 300_000


@dataclass(frozen=True)
class Picture:
    """A picture of the page: its name, its caption, the function that draws it into a file, and the command
    that draws it again."""

    name: str
    caption: str
    draw: Callable[[Path], None]
    command: str


def _plot_command(kind: str, files: Sequence[tuple[str, Path]], *further: str) -> str:
    return shlex.join(
        ["tools/lab", "plot", kind, *(f"{key}={path}" for key, path in files), *further, "-o", f"{kind}.svg"]
    )


def pictures(found: Sequence[Verdict], collection: Collection, options: Options) -> list[Picture]:
    """Returns the pictures that the data allow."""
    curves = [DelayCurve(v.node.key, v.node.name, v.basis.delays) for v in found]
    files = [(v.node.key, v.basis.path) for v in found]
    grain = time_option(options.grain_ns)
    shown = [
        Picture(
            "slowdown",
            "How far a job scales: the slowdown of a step by the number of nodes, E(Y)/G [Tsafrir05 §2.4].",
            lambda path: slowdown_picture(curves, path, tolerance=options.tolerance),
            _plot_command("slowdown", files, "--grain", grain),
        ),
        Picture(
            "cdf",
            "How much longer than its grain a phase lasts: the distribution and its tail [Tsafrir05 Fig. 3].",
            lambda path: cdf_picture(curves, path),
            _plot_command("cdf", files, "--grain", grain),
        ),
        Picture(
            "law",
            "The probability that a step of a job is delayed [Tsafrir05 Fig. 2].",
            lambda path: law_picture(curves, path),
            _plot_command("law", files, "--grain", grain),
        ),
        Picture(
            "survival",
            "The probability that phases of several grains are delayed [Tsafrir05 Fig. 5].",
            lambda path: survival_picture(_survival(found), path),
            _plot_command("survival", files),
        ),
    ]
    traces = [System(v.node.key, v.node.name, v.basis.trace) for v in found if v.basis.trace is not None]
    if len(traces) < len(found):
        traces = [
            System(node.key, node.name, trace)
            for node in collection.nodes
            for trace in node.traces[:1]
            if trace.durations_known
        ]
    if traces:
        of = [(s.key, Path(s.trace.source.partition(":")[0])) for s in traces]
        caption = "Every detour over time, and sorted by length [Beckman06 Fig. 3-5]."
        shown.append(
            Picture("series", caption, lambda path: series_picture(traces, path), _plot_command("series", of))
        )
    sampled = [
        System(node.key, node.name, trace)
        for node in collection.nodes
        for trace in node.traces
        if isinstance(trace.samples, ftq.FtqData)
    ]
    if sampled:
        marks = {node.name: node.doubts[0] for node in collection.nodes if node.doubts}
        of_ftq = [(s.key, Path(s.trace.source.partition(":")[0])) for s in sampled]
        panels = [
            Panel(
                s.key, s.name, s.trace.samples, ftq.summarise(s.trace.samples), remark=marks.get(s.name, "")
            )
            for s in sampled
            if isinstance(s.trace.samples, ftq.FtqData)
        ]
        shown.append(
            Picture(
                "ftq",
                "Operations lost in each quantum [Betti09 Fig. 3].",
                lambda path: ftq_picture(panels, path),
                _plot_command("ftq", of_ftq),
            )
        )
        shown.append(
            Picture(
                "spectrum",
                "The frequencies of the noise.",
                lambda path: spectrum_picture(sampled, path),
                _plot_command("spectrum", of_ftq),
            )
        )
    return shown


def _survival(found: Sequence[Verdict]) -> list[SurvivalCurves]:
    curves = []
    for v in found:
        if v.basis.trace is None:
            curves.append(
                SurvivalCurves(v.node.key, v.node.name, {data.grain_ns: data for _, data in v.node.phases})
            )
        else:
            curves.append(trace_curves(v.node.key, v.node.name, v.basis.trace))
    return curves


def figure_html(picture: Picture, folder: Path) -> str:
    """Draws the picture and returns it as HTML, as a data URI."""
    svg = folder / f"{picture.name}.svg"
    picture.draw(svg)
    data, kind = svg.read_bytes(), "image/svg+xml"
    if len(data) > SVG_MAX:
        png = folder / f"{picture.name}.png"
        picture.draw(png)
        data, kind = png.read_bytes(), "image/png"
    uri = f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return (
        f'<figure id="{picture.name}"><img src="{uri}" '
        f'alt="{escaped(picture.caption)}"><figcaption>{escaped(picture.caption)}<br>'
        f"<code>{escaped(picture.command)}</code></figcaption></figure>"
    )
