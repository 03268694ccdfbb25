# SPDX-License-Identifier: BSD-2-Clause
"""Draws the probability that a computation phase is delayed by more than x: survival functions, a panel per
grain [Tsafrir05 Fig. 5].

The data are measured phases (apps/phase), or delays of phases that are derived from a trace's detours. The
grey band is what the data cannot show: less than one of their phases.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from lab.common.text import time_text
from lab.formats import phase
from lab.formats.trace import Trace
from lab.pictures.frame import finish
from lab.pictures.style import GREY, SHADE, Style, bare, figure_new, line_of, looks_of, plt, power_text
from lab.statistics import Delays, delays_of_trace


@dataclass(frozen=True)
class SurvivalCurves:
    """One system of the survival picture: its key (for the colour), its name, and its durations by grain in
    ns."""

    key: str
    name: str
    grains: Mapping[int, phase.PhaseData | Delays]


def _points(data: phase.PhaseData | Delays) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns delays relative to the grain, the share of phases with a longer delay, and the number of
    phases."""
    if isinstance(data, phase.PhaseData):
        delays, above = phase.survival(data)
        return delays, above, float(data.count)
    above = np.concatenate([np.cumsum(data.share[::-1])[::-1][1:], [0.0]])
    delays = data.delay_ns / data.grain_ns
    if delays[0] > 0:  # all phases are delayed
        delays, above = np.concatenate([[0.0], delays]), np.concatenate([[1.0], above])
    return delays, above, data.phases


#: Marks on the x axis: the delays for which the text has figures.
SURVIVAL_MARKS = (0.01, 0.10, 1.00)
SURVIVAL_LEAST_DELAY = 1e-5


#: The grains that the picture shows of a trace, ns [Tsafrir05 Fig. 5], and the least number of phases that
#: the trace must hold for a grain to be shown.
GRAINS_NS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
PHASES_MIN = 50


def trace_curves(key: str, name: str, trace: Trace) -> SurvivalCurves:
    """Returns a trace's delays at all grains of which it holds enough phases. DataError if starts and lengths
    of its detours are unknown."""
    grains: dict[int, phase.PhaseData | Delays] = {
        grain: delays_of_trace(trace, grain)
        for grain in GRAINS_NS
        if PHASES_MIN * grain <= trace.listed_span_ns or grain == GRAINS_NS[0]
    }
    return SurvivalCurves(key, name, grains)


def _delay_label(value: float, _position: int) -> str:
    """Returns a delay in percent, without needless digits."""
    return f"+{100 * value:g} %"


def _shown_from(delays: np.ndarray) -> int:
    """Returns the index of the last delay that lies left of the panel, or at its edge."""
    return int(np.searchsorted(delays, SURVIVAL_LEAST_DELAY, side="right")) - 1


def _is_silent(data: phase.PhaseData | Delays) -> bool:
    """Whether no phase was visibly delayed, so that there is no curve to draw."""
    delays, above, _ = _points(data)
    return bool(above[_shown_from(delays)] == 0)


def _survival_curve(axes: Axes, data: phase.PhaseData | Delays, style: Style, most: float) -> None:
    delays, above, _ = _points(data)
    # Above its last duration the function is zero. A logarithmic scale has no zero, so the curve leaves the
    # panel.
    floor = 1e-12
    left = _shown_from(delays)
    x = np.concatenate([[SURVIVAL_LEAST_DELAY], delays[left + 1 :]])
    y = np.concatenate([[above[left]], above[left + 1 :]])
    axes.step(
        x[x <= most],
        np.maximum(y, floor)[x <= most],
        where="post",
        color=style.colour,
        linestyle=style.line,
        linewidth=1.8,
    )


#: Systems without a delayed phase that a panel names, at most, and the room for each, a share of the panel.
SILENT_MAX, SILENT_ROOM = 4, 0.13


def _silent_words(axes: Axes, silent: Sequence[tuple[str, str]]) -> None:
    """Names the systems without a curve, each in its colour. The words are above p = 1, where no curve is."""
    if len(silent) > SILENT_MAX:
        silent = [(f"{len(silent)} systems", GREY)]
    for row, (name, colour) in enumerate(silent):
        axes.text(
            0.98,
            0.99 - 0.1 * row,
            f"{textwrap.shorten(name, 26, placeholder='…')}: no phase delayed",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=10,
            style="italic",
            color=colour,
        )


def _survival_panel(axes: Axes, phases: float, grain_ns: int, limits: tuple[float, float, float]) -> None:
    """Draws a panel's axes; `limits` are those of all panels: the longest delay, the least and highest p."""
    most, least, top = limits
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(SURVIVAL_LEAST_DELAY, most)
    axes.set_ylim(least, top)
    axes.set_title(f"{time_text(grain_ns)}", loc="left", fontsize=13, fontweight="bold", color="#222222")
    axes.set_title(f"{phases:,.0f} phases", loc="right", fontsize=9.5, color=GREY)
    axes.axhspan(least, 1 / phases, color=SHADE, linewidth=0, zorder=0)
    for mark in SURVIVAL_MARKS:
        axes.axvline(mark, color="#d8d8d8", linewidth=0.8, zorder=0)
    axes.xaxis.set_major_locator(FixedLocator([1e-4, 0.01, 1.0]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_delay_label))
    axes.yaxis.set_major_locator(FixedLocator([10.0**i for i in range(int(np.ceil(np.log10(least))), 1, 2)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: power_text(round(np.log10(value)))))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=9)
    bare(axes)


def survival_picture(
    systems: Sequence[SurvivalCurves],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Writes the survival functions of the phase durations as PNG or SVG, a panel per grain, all on one
    scale. ValueError without data."""
    grains_ns = sorted({grain for system in systems for grain in system.grains})
    if not grains_ns:
        raise ValueError("no system of the picture has data")
    columns = min(3, len(grains_ns))
    rows = -(-len(grains_ns) // columns)
    styles = looks_of([system.key for system in systems])
    drawn = {
        grain: [(one, one.grains[grain], style) for one, style in zip(systems, styles) if grain in one.grains]
        for grain in grains_ns
    }
    everything = [_points(data) for panel in drawn.values() for _, data, _ in panel]
    most = max(2.0, 1.5 * max(float(delays[-1]) for delays, _, _ in everything))
    least = 0.5 / max(phases for _, _, phases in everything)
    silent = {
        grain: [(one.name, style.colour) for one, data, style in panel if _is_silent(data)]
        for grain, panel in drawn.items()
    }
    room = SILENT_ROOM * min(SILENT_MAX, max(map(len, silent.values())))
    limits = most, least, 2 * (2 / least) ** room
    figure, all_axes = figure_new(rows, columns, (14, 0.5 + 2.9 * rows), width)
    try:
        for axes in list(all_axes.flat)[len(grains_ns) :]:
            axes.set_visible(False)
        for number, (axes, (grain_ns, panel)) in enumerate(zip(all_axes.flat, drawn.items())):
            phases = max(_points(data)[2] for _, data, _ in panel)
            _survival_panel(axes, phases, grain_ns, limits)
            for _, data, style in panel:
                if not _is_silent(data):
                    _survival_curve(axes, data, style, most)
            _silent_words(axes, silent[grain_ns])
            if number + columns >= len(grains_ns):
                axes.set_xlabel("x: delay against the shortest phase")
        legend = "Grey band: less than one of the measured phases. Lines: delays of 1, 10 and 100 %."
        finish(
            figure, path, width, title=title or "How likely a computation phase is delayed",
            notes=[legend, *notes], y_label="p: share of phases delayed by more than x",
            legend=[line_of(style, one.name, linewidth=1.8) for one, style in zip(systems, styles)],
        )  # fmt: skip
    finally:
        plt.close(figure)
