# SPDX-License-Identifier: BSD-2-Clause
"""Draws lost operations over time, a panel per system, like [Betti09 Fig. 3, 4].

All panels share one scale, so bars of different systems can be compared. It is linear up to the floor and
logarithmic above (symlog): a single lost count is visible next to a detour of thousands, and nothing is cut
off. Losses within the quantisation floor are dots in a band; noise is drawn as bars from zero.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lab.common.text import percent_text, time_text
from lab.formats.ftq import DISTURBED_LOSS, FtqData, FtqSummary
from lab.pictures.frame import finish
from lab.pictures.style import GREY, SHADE, bare, figure_new, plt, style_of

#: The band of the floor ends this far below the least loss that is noise, counts.
FLOOR_BAND = 0.5
#: The panels' share of the sheet's width, about.
PANEL_SHARE = 0.88
#: The panels' width for which the bars' least widths are meant, inches. On a smaller sheet bars are narrower.
WIDE_INCHES = PANEL_SHARE * 14.0
#: A line of the words in a panel without data, letters.
ABSENT_LETTERS = 80
#: A line of a remark.
REMARK_LETTERS = 110
#: If bars wider than a quantum cover more than this share of the panel, it is drawn as shades instead.
SOLID_SHARE = 0.4


@dataclass(frozen=True)
class Panel:
    """One system of the picture: its key (for the colour), its title, and its data with figures, or why there
    are none (`absent`).

    `remark` says why the bars are not this CPU's noise. It is written into the panel, whose bars and figures
    are drawn paler.
    """

    key: str
    title: str
    data: FtqData | None = None
    summary: FtqSummary | None = None
    absent: str = ""
    remark: str = ""


def _tick_label(value: float, _position: int) -> str:
    """Returns a label such as 1, 10, 100, 1000, 10k."""
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:.0f}"


def disturbed_text(count: int) -> str:
    """Returns the least loss of a disturbed quantum as text."""
    return "two" if count == DISTURBED_LOSS else f"{count:,}"


def _figures(summary: FtqSummary) -> str:
    """Returns the line of figures on a panel's right."""
    return (
        f"{summary.disturbed_quanta:,} of {summary.samples:,} quanta disturbed   ·   noise "
        f"{percent_text(summary.noise_ratio)}   ·   largest loss {time_text(summary.largest_loss_ns)}"
    )


def _scale(axes: Axes, top: float) -> None:
    """Sets the shared y scale: linear to 2 counts, logarithmic above."""
    axes.set_yscale("symlog", linthresh=DISTURBED_LOSS, linscale=0.45)
    axes.set_ylim(0, top)
    decades = [10.0**i for i in range(1, 1 + int(np.ceil(np.log10(top)))) if 10.0**i <= top]
    axes.yaxis.set_major_locator(FixedLocator([0.0, float(DISTURBED_LOSS), *decades]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_tick_label))


def _right_scale(axes: Axes, top: float, operation_ns: float) -> None:
    """Draws the same scale as time, on the right."""
    right = axes.twinx()
    right.set_yscale("symlog", linthresh=DISTURBED_LOSS, linscale=0.45)
    right.set_ylim(0, top)
    times_ns = [
        t for t in (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9) if DISTURBED_LOSS < t / operation_ns <= top
    ]
    right.yaxis.set_major_locator(FixedLocator([t / operation_ns for t in times_ns]))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: time_text(value * operation_ns)))
    right.tick_params(axis="y", length=3, colors=GREY, labelsize=9)
    for side in right.spines.values():
        side.set_visible(False)


def _bars(axes: Axes, panel: Panel, width_points: float) -> None:
    """Draws bars for disturbed quanta, and dots for losses within the floor."""
    assert panel.data is not None and panel.summary is not None
    start_s = (panel.data.start_ns - panel.data.start_ns[0]) / 1e9
    losses = panel.summary.losses
    disturbed = losses >= panel.summary.disturbed_from
    colour = style_of(panel.key).colour
    axes.plot(
        start_s[~disturbed],
        losses[~disturbed],
        linestyle="none",
        marker="o",
        markersize=2.2,
        markeredgewidth=0,
        color=colour,
        alpha=0.8,
        clip_on=False,
        zorder=3,
        rasterized=True,
    )
    axes.vlines(
        start_s[disturbed], 0, losses[disturbed], colors=colour, linewidth=width_points, zorder=2,
        alpha=0.45 if panel.remark else 1.0,
    )  # fmt: skip


#: Width of a column of the density view, points.
COLUMN_POINTS = 3.0


def _density(axes: Axes, panel: Panel, width_points: float) -> None:
    """Draws shades for the number of quanta by time and loss, instead of bars that would cover each other."""
    assert panel.data is not None and panel.summary is not None
    losses = panel.summary.losses
    disturbed = losses >= panel.summary.disturbed_from
    start_s = (panel.data.start_ns - panel.data.start_ns[0]) / 1e9
    columns = np.linspace(0, axes.get_xlim()[1], 1 + int(width_points / COLUMN_POINTS))
    rows = np.geomspace(float(panel.summary.disturbed_from), float(losses.max()) * 1.1, 36)
    counts, _, _ = np.histogram2d(start_s[disturbed], losses[disturbed], bins=(columns, rows))
    colour = to_rgb(style_of(panel.key).colour)
    shades = LinearSegmentedColormap.from_list("shades", [(*colour, 0.35), (*colour, 1.0)])
    seen = np.ma.masked_equal(counts.T, 0)
    axes.pcolormesh(columns, rows, np.sqrt(seen), cmap=shades, rasterized=True, zorder=2)
    axes.text(
        0.996, 0.94, "shades: how many quanta", transform=axes.transAxes, ha="right", va="top", fontsize=9.5,
        color=GREY, zorder=4,
    )  # fmt: skip


def _silence(axes: Axes, panel: Panel, summary: FtqSummary) -> None:
    """Writes the words on a panel without bars."""
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 3}
    axes.text(
        0.5, 0.6, "zero detours", transform=axes.transAxes, ha="center", va="center", fontsize=20,
        color=style_of(panel.key).colour, style="italic", bbox=paper,
    )  # fmt: skip
    seconds = summary.samples * summary.quantum_ns / 1e9
    axes.text(
        0.5,
        0.42,
        f"no quantum lost {disturbed_text(summary.disturbed_from)} operations or more in {seconds:g} s",
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=10,
        color=GREY,
        bbox=paper,
    )


def _panel(axes: Axes, panel: Panel, top: float, window_s: float, width_inches: float) -> None:
    axes.set_title(panel.title, loc="left", fontsize=13, fontweight="bold", color=style_of(panel.key).colour)
    axes.set_xlim(0, window_s)
    bare(axes)
    if panel.data is None or panel.summary is None:
        axes.text(
            0.5,
            0.5,
            textwrap.fill(f"not measured: {panel.absent}", ABSENT_LETTERS, max_lines=4),
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=11,
            color=GREY,
        )
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return
    axes.set_title(
        _figures(panel.summary), loc="right", fontsize=10.5, color=GREY if panel.remark else "#222222"
    )
    _scale(axes, top)
    axes.axhspan(0, panel.summary.disturbed_from - FLOOR_BAND, color=SHADE, linewidth=0, zorder=0)
    axes.grid(axis="y", color="#d8d8d8", linewidth=0.6, zorder=1)
    axes.set_axisbelow(True)
    # A bar is as wide as its quantum, but at least visible.
    points_a_quantum = width_inches * 72 / len(panel.data.counts)
    narrowest = (1.6 if panel.summary.disturbed_quanta < 100 else 0.6) * width_inches / WIDE_INCHES
    bar_points = float(np.clip(0.8 * points_a_quantum, narrowest, 3))
    solid = bar_points * panel.summary.disturbed_quanta > SOLID_SHARE * width_inches * 72
    if solid and points_a_quantum < narrowest:
        _density(axes, panel, width_inches * 72)
    else:
        _bars(axes, panel, bar_points)
    _right_scale(axes, top, panel.summary.floor_ns)
    if panel.summary.detours == 0:
        _silence(axes, panel, panel.summary)
    if panel.remark:
        axes.text(
            0.004,
            0.94,
            textwrap.fill(panel.remark, REMARK_LETTERS),
            transform=axes.transAxes,
            ha="left",
            va="top",
            fontsize=9.5,
            color="#222222",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
            zorder=4,
        )


def ftq_picture(
    panels: Sequence[Panel], path: Path | str, *, title: str = "", note: str = "", width: int = 1400
) -> None:
    """Writes the picture of FTQ on several systems as PNG or SVG, `width` by about 900 points. Raises
    ValueError without data."""
    shown = [panel for panel in panels if panel.data is not None and panel.summary is not None]
    if not shown:
        raise ValueError("no system of the picture has data")
    most = max(int(panel.summary.losses.max()) for panel in shown if panel.summary)
    room = 10.0 if any(panel.remark for panel in shown) else 2.0
    top = max(30.0, room * most)
    window_s = max(panel.data.window_ns for panel in shown if panel.data) / 1e9
    size = (14, max(3.0, 0.6 + 2.4 * len(panels)))
    figure, all_axes = figure_new(len(panels), 1, size, width, sharex=True)
    try:
        for axes, panel in zip(all_axes[:, 0], panels):
            _panel(axes, panel, top, window_s, PANEL_SHARE * figure.get_size_inches()[0])
        all_axes[-1, 0].set_xlabel("time in the measuring window, s", fontsize=11)
        operation_ns = shown[0].summary.operation_ns if shown[0].summary else 0.0
        floor = (
            "Grey band: quantisation floor. A quantum is not a whole number of operations, so that of a "
            f"silent core may lack one operation ({operation_ns:.0f} ns); a loss of two or more is noise."
        )
        finish(
            figure, path, width, title=title or "What the system takes: FTQ", notes=[floor, note],
            y_label="operations lost in a quantum", right_label="the same as time",
        )  # fmt: skip
    finally:
        plt.close(figure)
