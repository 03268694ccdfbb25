# SPDX-License-Identifier: BSD-2-Clause
"""The report's HTML: one file without a single reference to another one. Pictures are SVG (PNG where that is
smaller) in data URIs; there is no script; a content security policy in the page forbids everything else, so
that a slip shows as an error of the browser's console.
"""

from __future__ import annotations

import base64
import html
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import statistics
from lab.common.text import count_text, percent_text, rate_text, time_option, time_text
from lab.formats import ftq, phase
from lab.formats.trace import Trace
from lab.pictures.detours import series_picture
from lab.pictures.distributions import DelayCurve, cdf_picture
from lab.pictures.ftq import Panel, ftq_picture
from lab.pictures.law import law_picture, slowdown_picture
from lab.pictures.spectrum import spectrum_picture
from lab.pictures.style import System
from lab.pictures.survival import SurvivalCurves, survival_picture, trace_curves
from lab.report.answer import Verdict, scale_text, sentence
from lab.report.nodes import Collection
from lab.statistics import StatisticsError

NODES_SHOWN = (1, 10, 100, 1_000, 10_000, 100_000)
#: Larger SVGs become PNGs.
SVG_MAX = 300_000
#: Of the noise ratio's interval: fewer detours are no sample.
DETOURS_MIN = 10

STYLE = """
body { font: 16px/1.5 "DejaVu Sans", "Segoe UI", sans-serif; color: #1d1d1d; background: #fff;
  max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.7rem; margin-bottom: .4rem; }
h2 { font-size: 1.25rem; margin-top: 2.6rem; border-bottom: 1px solid #d8d8d8; padding-bottom: .2rem; }
.answer { font-size: 1.2rem; border-left: .35rem solid #14375e;
  padding: .4rem 0 .4rem 1rem; margin: 1.2rem 0; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .88rem; color: #555; padding-bottom: .3rem; }
th, td { padding: .28rem .8rem .28rem 0; text-align: right; border-bottom: 1px solid #e6e6e0;
  vertical-align: top; }
td.words, th.words { text-align: left; } th { font-weight: 600; }
.beyond { color: #8a8a8a; font-style: italic; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .88rem; color: #444; }
code, pre { font: .82rem/1.4 "DejaVu Sans Mono", monospace; background: #f5f5f2; }
code { padding: .05rem .25rem; } pre { padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.small { font-size: .88rem; color: #444; }
"""


@dataclass(frozen=True)
class Options:
    """What the user chose, ns and fractions; `command` is the report's own."""

    grain_ns: int
    tolerance: float
    title: str
    command: str


@dataclass(frozen=True)
class Picture:
    """A picture of the page: its name, what it shows, who draws it into a file, and the command that draws it
    again."""

    name: str
    caption: str
    draw: Callable[[Path], None]
    command: str


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)


def table_html(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int] = (0,)
) -> str:
    """A table; cells are HTML already. `words` are the columns of text, which stand left."""

    def cells(row: Sequence[str]) -> str:
        return "".join(
            f'<td class="words">{cell}</td>' if i in words else f"<td>{cell}</td>"
            for i, cell in enumerate(row)
        )

    head = "".join(
        f'<th class="words">{_escaped(name)}</th>' if i in words else f"<th>{_escaped(name)}</th>"
        for i, name in enumerate(header)
    )
    body = "\n".join(f"<tr>{cells(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


# ---- Tables ----


def _ratio_cell(trace: Trace) -> str:
    """The noise ratio with its interval, where there are detours enough for one."""
    try:
        text = percent_text(statistics.noise_ratio(trace))
        if trace.complete and trace.listed >= DETOURS_MIN and trace.listed == trace.detours:
            interval = statistics.noise_ratio_interval(trace)
            text += f" [{100 * interval.low:.3g}, {100 * interval.high:.3g}]"
        return text
    except StatisticsError:
        return "–"


def _rate_cell(trace: Trace) -> str:
    """Detours a second; of a silent trace, what its silence proves."""
    if trace.detours:
        return rate_text(trace.detours * 1e9 / trace.span_ns)
    return f"0 (&lt; {rate_text(statistics.silent_rate_max(trace.span_ns))})"


def _length(value: float | None) -> str:
    return "–" if value is None else time_text(value)


def measured_table(collection: Collection) -> str:
    rows = []
    for node in collection.nodes:
        for trace in node.traces:
            f = statistics.detour_figures(trace)
            rows.append(
                [
                    _escaped(node.name),
                    trace.format + ("" if trace.cpu is None else f", CPU {trace.cpu}"),
                    time_text(trace.span_ns),
                    _length(trace.threshold_ns),
                    f"{f.detours:,}",
                    _rate_cell(trace),
                    _ratio_cell(trace),
                    _length(f.percentiles_ns.get("median")),
                    _length(f.percentiles_ns.get("p99")),
                    _length(f.maximum_ns),
                ]
            )
    caption = (
        "Detours. Threshold: the shortest that the method sees. Ratio: share of the time, with its 95 % "
        "bootstrap interval over 50 blocks of time. In brackets after a rate of 0: what such a silence "
        "leaves possible with 95 % confidence."
    )
    header = [
        "node",
        "method",
        "measured",
        "threshold",
        "detours",
        "a second",
        "noise ratio",
        "median",
        "99 %",
        "longest",
    ]
    return table_html(caption, header, rows, (0, 1)) if rows else ""


def job_table(found: Sequence[Verdict], options: Options) -> str:
    rows = []
    for v in found:
        delays = v.basis.delays
        cells = []
        for nodes in NODES_SHOWN:
            text = percent_text(float(statistics.slowdown(delays, nodes)) - 1)
            cells.append(text if nodes <= v.known else f'<span class="beyond">{text}</span>')
        scale = f"{count_text(v.known)} or more" if v.scale > v.known else count_text(v.scale)
        rows.append(
            [
                _escaped(v.node.name),
                _escaped(v.basis.method),
                f"{delays.phases:,.0f}",
                percent_text(statistics.p(delays, 0)),
                percent_text(statistics.p(delays, 0.01)),
                *cells,
                scale,
            ]
        )
    caption = (
        f"A step of n nodes with phases of {time_text(options.grain_ns)}. p: how likely one node's phase is "
        "delayed at all, and by more than 1 %. Then the slowdown E(Y)/G - 1; grey and slanted: for more "
        "nodes than the data hold phases, an extrapolation. Last: the largest job that is slowed by at most "
        f"{percent_text(options.tolerance)}."
    )
    header = [
        "node",
        "judged by",
        "phases in it",
        "p",
        "p, 1 %",
        *(f"n = {nodes:,}" for nodes in NODES_SHOWN),
        f"within {percent_text(options.tolerance)}",
    ]
    return table_html(caption, header, rows, (0, 1))


def phase_table(collection: Collection) -> str:
    rows = [
        [
            _escaped(node.name),
            time_text(data.grain_ns),
            f"{data.count:,}",
            time_text(data.minimum_ns),
            time_text(data.mean_ns),
            time_text(data.maximum_ns),
            *(percent_text(phase.probability(data, delay)) for delay in phase.DELAYS),
            f"{phase.slowdown(data, 1000):.4f}",
        ]
        for node in collection.nodes
        for _, data in node.phases
    ]
    header = [
        "node",
        "grain",
        "phases",
        "shortest",
        "mean",
        "longest",
        *(f"p, {100 * delay:g} %" for delay in phase.DELAYS),
        "E(Y)/G, n = 1,000",
    ]
    return table_html("Measured phases [Tsafrir05 §3.1].", header, rows, (0, 1)) if rows else ""


def source_table(collection: Collection) -> str:
    rows = []
    for node in collection.nodes:
        for trace in node.traces:
            parameters = ", ".join(
                f"{key} {value}" for key, value in trace.parameters.items() if len(value) < 60
            )
            rows.append(
                [
                    _escaped(node.name),
                    f"<code>{_escaped(trace.source)}</code>",
                    trace.format,
                    _escaped(trace.system or "unknown"),
                    _escaped(parameters),
                ]
            )
        for path in dict.fromkeys(path for path, _ in node.phases):
            grains = ", ".join(time_text(data.grain_ns) for of, data in node.phases if of == path)
            rows.append(
                [
                    _escaped(node.name),
                    f"<code>{_escaped(str(path))}</code>",
                    "phase",
                    "unknown",
                    f"grains {grains}",
                ]
            )
    return table_html(
        "What each file says of itself.",
        ["node", "file", "format", "system", "parameters"],
        rows,
        (0, 1, 2, 3, 4),
    )


# ---- Pictures ----


def _plot_command(kind: str, files: Sequence[tuple[str, Path]], *further: str) -> str:
    return shlex.join(
        ["tools/lab", "plot", kind, *(f"{key}={path}" for key, path in files), *further, "-o", f"{kind}.svg"]
    )


def pictures(found: Sequence[Verdict], collection: Collection, options: Options) -> list[Picture]:
    """Those that the data allow."""
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
            "How much longer than its grain a phase lasts, and the tail of that [Tsafrir05 Fig. 3].",
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
            "How likely phases of several grains are delayed [Tsafrir05 Fig. 5].",
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
        of_ftq = [(s.key, Path(s.trace.source.partition(":")[0])) for s in sampled]
        panels = [
            Panel(s.key, s.name, s.trace.samples, ftq.summarise(s.trace.samples))
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
                "At which frequencies noise comes.",
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
    """Draws it and puts it into a data URI."""
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
        f'alt="{_escaped(picture.caption)}"><figcaption>{_escaped(picture.caption)}<br>'
        f"<code>{_escaped(picture.command)}</code></figcaption></figure>"
    )


# ---- The page ----

DEFINITIONS = (
    ("detour", "a time in which the CPU did not work for the program [Beckman06 §3]"),
    (
        "noise ratio",
        "the share of the measured time that detours took [Beckman06 Table 4]; it compares only between "
        "methods with the same threshold",
    ),
    (
        "p",
        "the probability that one node's phase of the grain is delayed [Tsafrir05 §2.1]; from a trace: of a "
        "phase that begins at a random time of it",
    ),
    (
        "d_p(n)",
        "1 - (1 - p)^n, the probability that a step of n independent nodes is delayed [Tsafrir05 Eq. 1]; "
        "near p n up to n = 1/(10 p)",
    ),
    (
        "E(Y)/G",
        "the mean of the longest of n phases over the grain: the slowdown of a step of n nodes [Tsafrir05 "
        "§2.4]",
    ),
    (
        "assumed",
        "nodes are alike and their noise independent; noise that comes on all nodes at once slows less. The "
        "data of a node stand for its future.",
    ),
)


def page_html(collection: Collection, found: Sequence[Verdict], options: Options, folder: Path) -> str:
    """The whole page; pictures are drawn in `folder`."""
    shown = [figure_html(picture, folder) for picture in pictures(found, collection, options)]
    remarks = [f"* {node.name.removesuffix(' *')}: {node.remark}" for node in collection.nodes if node.remark]
    methods = {v.basis.method for v in found}
    if len(methods) > 1:
        remarks.append(
            f"The nodes are judged by different methods ({', '.join(sorted(methods))}): no method was used "
            "on all of them."
        )
    finite = [
        v.basis.trace.threshold_ns
        for v in found
        if v.basis.trace is not None and v.basis.trace.threshold_ns is not None
    ]
    if finite and not math.isclose(min(finite), max(finite), rel_tol=0.02):
        remarks.append(
            f"The thresholds differ, from {time_text(min(finite))} to {time_text(max(finite))}: shorter "
            "detours count on one node and not on another."
        )
    left = [
        f"<li><code>{_escaped(str(path))}</code> was left out: {_escaped(reason)}</li>"
        for path, reason in collection.left_out
    ]
    notes = "".join(f"<li>{_escaped(note)}</li>" for note in [*remarks, *collection.notes]) + "".join(left)
    scales = "".join(
        f"<li><strong>{_escaped(v.node.name)}</strong>: {_escaped(scale_text(v, options.tolerance))}.</li>"
        for v in found
    )
    commands = "\n".join(_escaped(command) for command in [*collection.commands, options.command])
    definitions = "".join(
        f"<li><strong>{_escaped(name)}</strong>: {_escaped(text)}</li>" for name, text in DEFINITIONS
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{_escaped(options.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{_escaped(options.title)}</h1>
<p class="answer">{_escaped(sentence(found, options.grain_ns, options.tolerance))}</p>
<ul class="small">{scales}</ul>
{f'<ul class="small">{notes}</ul>' if notes else ""}
<h2>What a job feels</h2>
{job_table(found, options)}
{shown[0]}
<h2>What each node takes</h2>
{measured_table(collection)}
{phase_table(collection)}
<h2>Pictures</h2>
{"".join(shown[1:])}
<h2>Parameters and files</h2>
{source_table(collection)}
<h2>To repeat it</h2>
<pre>{commands}</pre>
<h2>Definitions</h2>
<ul class="small">{definitions}</ul>
</body>
</html>
"""
