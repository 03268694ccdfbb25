# SPDX-License-Identifier: BSD-2-Clause
"""Draws a bar per system, made of parts: what takes its time [Tsafrir05 Table 3]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.patches import Patch

from lab.common.errors import DataError
from lab.common.text import rate_text
from lab.pictures.frame import finish
from lab.pictures.style import GREY, LOOKS, bare, figure_new, grid, log_axis, plt

#: Room right of the longest bar for its number, as a share of the axis.
NUMBER_SHARE = 0.12


@dataclass(frozen=True)
class Bar:
    """A system's parts by name; all bars of a picture have the same parts."""

    name: str
    parts: Mapping[str, float]

    @property
    def whole(self) -> float:
        return sum(self.parts.values())


def bar_picture(
    bars: Sequence[Bar],
    path: Path | str,
    *,
    x: str,
    log: bool = False,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws horizontal bars from top to bottom, their parts side by side, with the sum; `log` is for bars of
    one part. DataError without bars."""
    if not bars:
        raise DataError("no bars to draw; give at least one system")
    figure, ((axes,),) = figure_new(1, 1, (14, 0.7 + 0.75 * len(bars)), width)
    try:
        rows = range(len(bars))
        before = [0.0] * len(bars)
        handles = []
        for look, part in zip(LOOKS, bars[0].parts):
            values = [bar.parts[part] for bar in bars]
            looks = {"facecolor": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0}
            axes.barh(rows, values, left=before, height=0.6, **looks)
            handles.append(Patch(**looks, label=part))
            before = [start + value for start, value in zip(before, values)]
        for row, bar in zip(rows, bars):
            axes.text(bar.whole, row, f"  {rate_text(bar.whole)}", va="center", fontsize=11, color=GREY)
        axes.set_yticks(rows, [bar.name for bar in bars], fontsize=11)
        axes.invert_yaxis()
        longest = max(bar.whole for bar in bars) or 1.0
        if log:
            axes.set_xscale("log")
            axes.set_xlim(1, longest ** (1 + NUMBER_SHARE) * 2)
            log_axis(axes.xaxis)
        else:
            axes.set_xlim(0, (1 + NUMBER_SHARE) * longest)
        axes.set_xlabel(x)
        bare(axes)
        grid(axes, "x")
        finish(figure, path, width, title=title, notes=notes, legend=handles if len(handles) > 1 else ())
    finally:
        plt.close(figure)
