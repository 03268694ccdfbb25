# SPDX-License-Identifier: BSD-2-Clause
"""Lines over the number of ranks or the length of a detour, a panel a case: what the reproductions share [Beckman06 Fig. 6, Hoefler10 Fig. 6(b)]."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.pictures.style import bare, figure_new, grid, notes_below, plt, save, style_of
from lab.reading import DataError


@dataclass(frozen=True)
class CurvePanel:
    """A panel: its title, and lines by name, each a list of (x, y). `points` are drawn as bare markers, without a line."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    points: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


def curve_picture(
    panels: Sequence[CurvePanel], path: Path | str, *, x: str, y: str, log_y: bool = False, title: str = "", notes: Sequence[str] = (), width: int = 1400
) -> None:
    """Panels side by side with one y axis; x is logarithmic. Lines of one name look alike in all panels. DataError without data."""
    if not any(line for panel in panels for line in [*panel.lines.values(), *panel.points.values()]):
        raise DataError("no curves to draw; there must be a point")
    names = list(dict.fromkeys(name for panel in panels for name in [*panel.lines, *panel.points]))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, all_axes = figure_new(rows, columns, (14, 1.2 + 4.2 * rows), sharey=True)
    try:
        for axes, panel in zip(all_axes.flat, panels):
            for kind, dash in ((panel.lines, True), (panel.points, False)):
                for name, line in kind.items():
                    style = style_of(name, names.index(name))
                    look = style.line if dash else "none"
                    axes.plot(*zip(*line), color=style.colour, linestyle=look, marker=style.marker, markersize=5, linewidth=1.6, label=name or "_unnamed")
            axes.set_xscale("log")
            if log_y:
                axes.set_yscale("log")
            axes.set_title(panel.title, loc="left", fontsize=11)
            axes.set_xlabel(x)
            bare(axes)
            grid(axes)
            if any(name for name in [*panel.lines, *panel.points]):
                axes.legend(frameon=False, fontsize=9)
        for axes in list(all_axes.flat)[len(panels) :]:
            axes.set_visible(False)
        for row in all_axes:
            row[0].set_ylabel(y)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)
