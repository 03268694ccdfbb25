# SPDX-License-Identifier: BSD-2-Clause
"""Makes the report's HTML page: one file that refers to no other file and holds no script.

Pictures are SVG, or PNG if the SVG is too large, in data URIs. The page's content security policy forbids
everything else, so a mistake shows as an error in the browser's console.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from lab.common.text import time_text
from lab.common.version import version
from lab.report.answer import Options, Verdict, details, leading, scale_text
from lab.report.figures import figure_html, pictures
from lab.report.markup import STYLE, escaped
from lab.report.nodes import Collection
from lab.report.tables import job_table, measured_table, phase_table, source_table
from lab.statistics.intervals import SEED

DEFINITIONS = (
    ("detour", "an interval during which the CPU did not run the program [Beckman06 §3]"),
    (
        "noise ratio",
        "the share of the measured time that detours took [Beckman06 Table 4]; two ratios can be compared "
        "only if their methods have the same threshold",
    ),
    (
        "p",
        "the probability that a phase of the grain is delayed on one node [Tsafrir05 §2.1]; if it comes "
        "from a trace, the phase begins at a random time in the trace",
    ),
    (
        "d_p(n)",
        "1 - (1 - p)^n, the probability that a step of n independent nodes is delayed [Tsafrir05 Eq. 1]; "
        "near p n up to n = 1/(10 p)",
    ),
    (
        "E(Y)/G",
        "the mean of the longest of n phases, divided by the grain: the slowdown of a step of n nodes "
        "[Tsafrir05 §2.4]",
    ),
    (
        "assumed",
        "all nodes of a job have the same noise, except in the row of a job on all kinds; the noise of "
        "different nodes is independent (noise that comes on all nodes at the same time slows a job less); "
        "a node's future noise is like its measured noise",
    ),
)


def page_html(collection: Collection, found: Sequence[Verdict], options: Options, folder: Path) -> str:
    """Returns the whole page as HTML. Draws its pictures in `folder`."""
    shown = [figure_html(picture, folder) for picture in pictures(found, collection, options)]
    remarks = [f"* {node.plain_name}: {doubt}" for node in collection.nodes for doubt in node.doubts]
    methods = {v.basis.method for v in found}
    if len(methods) > 1:
        remarks.append(
            "No method was used on all nodes, so they are judged by different methods "
            f"({', '.join(sorted(methods))})."
        )
    finite = [
        v.basis.trace.threshold_ns
        for v in found
        if v.basis.trace is not None and v.basis.trace.threshold_ns is not None
    ]
    if finite and not math.isclose(min(finite), max(finite), rel_tol=0.02):
        remarks.append(
            f"The thresholds differ, from {time_text(min(finite))} to {time_text(max(finite))}: detours "
            "between these lengths count on some nodes and not on others."
        )
    left = [
        f"<li><code>{escaped(str(path))}</code> was left out: {escaped(reason)}</li>"
        for path, reason in collection.left_out
    ]
    notes = "".join(f"<li>{escaped(note)}</li>" for note in [*remarks, *collection.notes]) + "".join(left)
    scales = "".join(
        f"<li><strong>{escaped(v.node.name)}</strong>: {escaped(scale_text(v, options.tolerance))}.</li>"
        for v in found
    )
    commands = "\n".join(escaped(command) for command in [*collection.commands, options.command])
    definitions = "".join(
        f"<li><strong>{escaped(name)}</strong>: {escaped(text)}</li>" for name, text in DEFINITIONS
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escaped(options.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escaped(options.title)}</h1>
<p class="answer">{escaped(leading(found))}</p>
<p>{escaped(details(collection.nodes, found, options))}</p>
<ul class="small">{scales}</ul>
{f'<ul class="small">{notes}</ul>' if notes else ""}
<h2>Effect on a job</h2>
{job_table(found, options)}
{shown[0]}
<h2>Noise of each node</h2>
{measured_table(collection)}
{phase_table(collection)}
<h2>Pictures</h2>
{"".join(shown[1:])}
<h2>Parameters and files</h2>
{source_table(collection)}
<h2>How to repeat this</h2>
<pre>{commands}</pre>
<p class="small">Made by {escaped(version())}; seed of the resampling: {SEED}.</p>
<h2>Definitions</h2>
<ul class="small">{definitions}</ul>
</body>
</html>
"""
