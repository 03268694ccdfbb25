# SPDX-License-Identifier: BSD-2-Clause
"""Draws lines over the number of ranks or the length of a detour, a panel per case, for the reproductions
[Beckman06 Fig. 6, Hoefler10 Fig. 6]. All panels have the same scales, so that they can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from lab.common.errors import DataError
from lab.pictures.frame import finish, legend_below
from lab.pictures.style import LOOKS, Style, bare, decade_text, figure_new, grid, line_of, log_axis, plt

#: Markers are small if a line has more points than this.
MANY = 200


@dataclass(frozen=True)
class CurvePanel:
    """A panel: its title, and lines by name, each a list of (x, y). `points` are drawn as markers without a
    line, in the look of the line with the same name."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    points: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [name for name in dict.fromkeys([*self.lines, *self.points]) if name]


def curve_picture(
    panels: Sequence[CurvePanel],
    path: Path | str,
    *,
    x: str,
    y: str,
    log_x: bool = True,
    log_y: bool = False,
    log_from: float = 0,
    columns: int = 3,
    title: str = "",
    notes: Sequence[str] = (), width: int = 1400, looks: Mapping[str, Style] | None = None,
) -> None:  # fmt: skip
    """Draws panels in rows of at most `columns`, all with the same axes. With `log_from` the y axis is linear
    up to there and then logarithmic, so it can show 0. `looks` gives a look to each name; otherwise a panel's
    lines take theirs in order, up to eight. If all panels have the same lines, one legend serves all.
    DataError without data."""
    if not any(line for panel in panels for line in [*panel.lines.values(), *panel.points.values()]):
        raise DataError("no curves to draw; give at least one point")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    size = (14, 0.6 + (4.0 if rows == 1 else 2.6) * rows)
    figure, all_axes = figure_new(rows, columns, size, width, sharex=True, sharey=True)
    try:
        for axes, panel in zip(all_axes.flat, panels):
            _panel(axes, panel, looks)
            axes.set_title(panel.title, loc="left", fontsize=11)
            bare(axes)
            grid(axes)
        first: Axes = all_axes[0, 0]
        if log_from:
            first.set_yscale("symlog", linthresh=log_from)
            first.yaxis.set_major_formatter(lambda value, _position: decade_text(value))
            first.set_ylim(bottom=0)
        if log_y:
            first.set_yscale("log")
            log_axis(first.yaxis)
        if log_x:
            first.set_xscale("log")
            log_axis(first.xaxis)
        for number, axes in enumerate(all_axes.flat):
            axes.set_visible(number < len(panels))
            if number + columns >= len(panels):
                axes.set_xlabel(x)
                axes.tick_params(labelbottom=True)
        legend = []
        if all(panel.names == panels[0].names for panel in panels):
            legend = [_handle(panels[0], name, looks) for name in panels[0].names]
        else:
            for axes, panel in zip(all_axes.flat, panels):
                legend_below(axes, [_handle(panel, name, looks) for name in panel.names])
        finish(figure, path, width, title=title, notes=notes, legend=legend, y_label=y)
    finally:
        plt.close(figure)


def _look(panel: CurvePanel, name: str, looks: Mapping[str, Style] | None) -> Style:
    return looks[name] if looks else LOOKS[panel.names.index(name) % len(LOOKS) if name else 0]


def _panel(axes: Axes, panel: CurvePanel, looks: Mapping[str, Style] | None) -> None:
    many = any(len(line) > MANY for line in [*panel.lines.values(), *panel.points.values()])
    for lines, alone in ((panel.lines, False), (panel.points, True)):
        for name, line in lines.items():
            look = _look(panel, name, looks)
            axes.plot(
                *zip(*line),
                color=look.colour,
                linestyle="none" if alone else look.line,
                marker="none" if not alone and name in panel.points else look.marker,
                markersize=2.5 if many else 5,
                linewidth=1.6,
            )


def _handle(panel: CurvePanel, name: str, looks: Mapping[str, Style] | None) -> Line2D:
    """Returns the legend's line for a name: with a marker if its points have one."""
    look = _look(panel, name, looks)
    line = look.line if name in panel.lines else "none"
    return line_of(look, name, linestyle=line, linewidth=1.6, marker=look.marker, markersize=5)
