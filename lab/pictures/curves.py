# SPDX-License-Identifier: BSD-2-Clause
"""Draws lines over the number of ranks or the length of a detour, a panel per case, for the reproductions
[Beckman06 Fig. 6, Hoefler10 Fig. 6(b)]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.ticker import LogFormatter, NullFormatter

from lab.common.errors import DataError
from lab.pictures.style import OTHERS, STYLES, Style, bare, figure_new, grid, notes_below, plt, save

#: The looks of the lines, in their order.
LOOKS = (*STYLES.values(), *OTHERS)
#: Markers are small if a line has more points than this.
MANY = 200
#: The share of the sheet's height for a legend below all panels.
LEGEND_SHARE = 0.16


@dataclass(frozen=True)
class CurvePanel:
    """A panel: its title, and lines by name, each a list of (x, y). `points` are drawn as markers without a
    line, in the look of the line with the same name."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    points: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


def curve_picture(
    panels: Sequence[CurvePanel],
    path: Path | str,
    *,
    x: str,
    y: str,
    log_x: bool = True,
    log_y: bool = False,
    log_from: float = 0,
    title: str = "",
    notes: Sequence[str] = (), width: int = 1400, looks: Mapping[str, Style] | None = None,
) -> None:  # fmt: skip
    """Draws panels side by side with one y axis. With `log_from` the axis is linear up to there and then
    logarithmic, so it can show 0. A panel's lines take their looks in order, up to eight. With `looks`, which
    gives a look to each name in all panels, each panel has its own y axis, and one legend below serves all.
    DataError without data."""
    if not any(line for panel in panels for line in [*panel.lines.values(), *panel.points.values()]):
        raise DataError("no curves to draw; give at least one point")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    size = (
        2.5
        if any(
            len(line) > MANY for panel in panels for line in [*panel.lines.values(), *panel.points.values()]
        )
        else 5
    )
    figure, all_axes = figure_new(rows, columns, (14, 1.2 + 4.2 * rows), sharex=not log_x, sharey=not looks)
    try:
        for axes, panel in zip(all_axes.flat, panels):
            names = list(dict.fromkeys([*panel.lines, *panel.points]))
            for lines, bare_points in ((panel.lines, False), (panel.points, True)):
                for name, line in lines.items():
                    look = looks[name] if looks else LOOKS[names.index(name) % len(LOOKS)]
                    dash = "none" if bare_points else look.line
                    marker = "none" if not bare_points and name in panel.points else look.marker
                    label = "_again" if bare_points and (name in panel.lines or not name) else name
                    axes.plot(
                        *zip(*line),
                        color=look.colour,
                        linestyle=dash,
                        marker=marker,
                        markersize=size,
                        linewidth=1.6,
                        label=label,
                    )
            if log_x:
                axes.set_xscale("log")
                axes.xaxis.set_minor_formatter(NullFormatter())
            if log_y:
                axes.set_yscale("log")
            if log_from:
                axes.set_yscale("symlog", linthresh=log_from)
            axes.set_title(panel.title, loc="left", fontsize=11)
            axes.set_xlabel(x)
            bare(axes)
            grid(axes)
            if looks and log_y:
                axes.yaxis.set_major_formatter(LogFormatter())
                axes.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(1, 0.5)))
            if not looks and any(name for name in [*panel.lines, *panel.points]):
                axes.legend(frameon=False, fontsize=9)
        if looks:
            handles, names = all_axes[0][0].get_legend_handles_labels()
            figure.legend(handles, names, loc="lower center", ncols=3, frameon=False, fontsize=10)
            figure.get_layout_engine().set(rect=(0, LEGEND_SHARE, 1, 1 - LEGEND_SHARE))
        for axes in list(all_axes.flat)[len(panels) :]:
            axes.set_visible(False)
        if log_from:
            all_axes[0][0].set_ylim(bottom=0)
        for row in all_axes:
            row[0].set_ylabel(y)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)
