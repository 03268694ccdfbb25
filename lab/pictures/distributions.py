# SPDX-License-Identifier: BSD-2-Clause
"""How long a phase of a given grain lasts: cumulative distribution, and its tail as survival function
[Tsafrir05 Fig. 3, 4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lab.common.errors import DataError
from lab.common.text import time_text
from lab.pictures.style import SHADE, bare, figure_new, grid, notes_below, plt, save, style_of
from lab.statistics import Delays


@dataclass(frozen=True)
class DelayCurve:
    """A system's distribution of delays of one grain."""

    key: str
    name: str
    delays: Delays


def _steps(delays: Delays, left: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """The distribution function as corners, from the picture's left edge to its right one."""
    below = np.cumsum(delays.share)
    x = np.concatenate([[left], delays.delay_ns, [right]])
    return x, np.concatenate([[0.0], below, [1.0]])


def _delay_axis(axes: Axes, grain_ns: float, most: float) -> None:
    axes.set_xlim(-0.04 * most, most)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(
        FuncFormatter(
            lambda value, _position: "0" if value == 0 else f"+{time_text(value)}" if value > 0 else ""
        )
    )
    axes.set_xlabel(f"a phase of {time_text(grain_ns)} lasts so much longer")
    bare(axes)
    grid(axes)


def cdf_picture(
    curves: Sequence[DelayCurve],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """The distribution (left) and its tail (right). All curves are of one grain. DataError if they are
    not."""
    if not curves or len({curve.delays.grain_ns for curve in curves}) > 1 and not _near(curves):
        raise DataError("a picture of one grain needs curves of that grain; give files with the same one")
    grain_ns = curves[0].delays.grain_ns
    most = 1.12 * max((curve.delays.longest_ns for curve in curves), default=0.0) or 0.01 * grain_ns
    phases = max(curve.delays.phases for curve in curves)
    figure, ((left, right),) = figure_new(1, 2, (14, 4.8))
    try:
        for i, curve in enumerate(curves):
            style = style_of(curve.key, i)
            x, below = _steps(curve.delays, -0.04 * most, most)
            look = {
                "where": "post",
                "color": style.colour,
                "linestyle": style.line,
                "linewidth": 2.0,
                "label": curve.name,
            }
            left.step(x, below, **look)
            right.step(x, np.maximum(1 - below, 1e-15), **look)
        left.set_ylim(0, 1.03)
        left.set_ylabel("share of phases that are done")
        right.set_yscale("log")
        least = min(0.5 / phases, 0.05)
        right.set_ylim(least, 2)
        right.axhspan(least, max(1 / phases, least), color=SHADE, linewidth=0, zorder=0)
        right.set_ylabel("share of phases delayed more")
        _delay_axis(left, grain_ns, most)
        _delay_axis(right, grain_ns, most)
        left.legend(frameon=False, loc="lower right", fontsize=10)
        figure.suptitle(
            title or f"How long a phase of {time_text(grain_ns)} lasts", x=0.01, ha="left", fontsize=14
        )
        notes_below(figure, ["Grey band: less than one phase of those that the data hold.", *notes])
        save(figure, path, width)
    finally:
        plt.close(figure)


def _near(curves: Sequence[DelayCurve]) -> bool:
    """Calibration gives each system a slightly different grain."""
    grains = [curve.delays.grain_ns for curve in curves]
    return max(grains) <= 1.02 * min(grains)
