# SPDX-License-Identifier: BSD-2-Clause
"""Draws a bar per system, made of parts: what takes its time [Tsafrir05 Table 3]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.common.errors import DataError
from lab.common.text import rate_text
from lab.pictures.style import GREY, OTHERS, STYLES, bare, figure_new, grid, notes_below, plt, save

LOOKS = (*STYLES.values(), *OTHERS)


@dataclass(frozen=True)
class Bar:
    """A system's parts by name; all bars of a picture have the same parts."""

    name: str
    parts: Mapping[str, float]


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
    """Draws horizontal bars from top to bottom, their parts side by side; `log` is for bars of one part.
    DataError without bars."""
    if not bars:
        raise DataError("no bars to draw; give at least one system")
    figure, ((axes,),) = figure_new(1, 1, (14, 1.8 + 0.75 * len(bars)))
    try:
        rows = range(len(bars))
        before = [0.0] * len(bars)
        for look, part in zip(LOOKS, bars[0].parts):
            values = [bar.parts[part] for bar in bars]
            axes.barh(
                rows, values, left=before, height=0.6, color=look.colour, hatch=look.hatch,
                edgecolor="white", linewidth=0, label=part,
            )  # fmt: skip
            before = [start + value for start, value in zip(before, values)]
        for row, whole in zip(rows, before):
            axes.text(whole, row, f"  {rate_text(whole)}", va="center", fontsize=11, color=GREY)
        axes.set_yticks(rows, [bar.name for bar in bars], fontsize=11)
        axes.invert_yaxis()
        if log:
            axes.set_xscale("log")
            axes.set_xlim(1, 3 * max(before))
        else:
            axes.set_xlim(0, 1.12 * max(before) or 1)
        axes.set_xlabel(x)
        bare(axes)
        grid(axes, "x")
        if len(bars[0].parts) > 1:
            axes.legend(frameon=False, fontsize=10, loc="lower right")
        figure.suptitle(title, x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)
