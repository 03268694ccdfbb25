# SPDX-License-Identifier: BSD-2-Clause
"""Draws how long a phase of a given grain lasts: cumulative distribution, and its tail as survival function
[Tsafrir05 Fig. 3, 4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from lab.common.errors import DataError
from lab.common.text import time_text
from lab.pictures.frame import finish, legend_below
from lab.pictures.style import SHADE, Style, bare, figure_new, grid, line_of, log_axis, looks_of, plt
from lab.statistics import Delays


@dataclass(frozen=True)
class DelayCurve:
    """A system's distribution of delays for one grain."""

    key: str
    name: str
    delays: Delays


def _steps(delays: Delays, left: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the corners of the distribution function, from the picture's left edge to its right edge."""
    below = np.cumsum(delays.share)
    x = np.concatenate([[left], np.maximum(delays.delay_ns, left), [right]])
    return x, np.concatenate([[0.0], below, [1.0]])


def _delay_axis(axes: Axes, grain_ns: float, most: float, log_from_ns: float) -> None:
    if log_from_ns:
        axes.set_xscale("log")
        axes.set_xlim(log_from_ns, 2 * most)
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
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


def _look(style: Style) -> dict[str, Any]:
    return {"where": "post", "color": style.colour, "linestyle": style.line, "linewidth": 2.0}


def _handles(curves: Sequence[DelayCurve]) -> list[Any]:
    return [line_of(style, curve.name) for curve, style in zip(curves, _looks(curves))]


def _looks(curves: Sequence[DelayCurve]) -> list[Style]:
    return looks_of([curve.key for curve in curves])


def cdf_picture(
    curves: Sequence[DelayCurve],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
    tails: Sequence[DelayCurve] = (),
    log_from_ns: float = 0,
) -> None:
    """Draws the distribution (left) and its tail (right), or that of `tails` if given. DataError if the
    curves are not all of one grain. `log_from_ns`: the axis of delays is logarithmic and begins there;
    shorter delays, and none, are at its left edge."""
    everything = [*curves, *tails]
    if not curves or len({curve.delays.grain_ns for curve in everything}) > 1 and not _near(everything):
        raise DataError("the curves are of different grains; give files with the same grain")
    grain_ns = curves[0].delays.grain_ns
    most, most_tail = (
        1.12 * max(curve.delays.longest_ns for curve in shown) or 0.01 * grain_ns
        for shown in (curves, tails or curves)
    )
    phases = max(curve.delays.phases for curve in tails or curves)
    figure, ((left, right),) = figure_new(1, 2, (14, 4.4), width)
    try:
        for curve, style in zip(curves, _looks(curves)):
            x, below = _steps(curve.delays, log_from_ns or -0.04 * most, 2 * most)
            left.step(x, below, **_look(style))
        for curve, style in zip(tails or curves, _looks(tails or curves)):
            x, below = _steps(curve.delays, log_from_ns or -0.04 * most_tail, 2 * most_tail)
            right.step(x, np.maximum(1 - below, 1e-15), **_look(style))
        left.set_ylim(0, 1.03)
        left.set_ylabel("share of phases that are done")
        right.set_yscale("log")
        least = min(0.5 / phases, 0.05)
        right.set_ylim(least, 2)
        right.axhspan(least, max(1 / phases, least), color=SHADE, linewidth=0, zorder=0)
        log_axis(right.yaxis)
        right.set_ylabel("share of phases delayed more")
        _delay_axis(left, grain_ns, most, log_from_ns)
        _delay_axis(right, grain_ns, most_tail, log_from_ns)
        if tails:
            legend_below(left, _handles(curves))
            legend_below(right, _handles(tails))
        read = "Grey band: less than one of the measured phases, so the data show nothing there."
        if log_from_ns:
            read += f" Left edge: phases delayed by up to {time_text(log_from_ns)}, or not at all."
        finish(
            figure, path, width, title=title or f"How long a phase of {time_text(grain_ns)} lasts",
            notes=[read, *notes], legend=() if tails else _handles(curves),
        )  # fmt: skip
    finally:
        plt.close(figure)


def _near(curves: Sequence[DelayCurve]) -> bool:
    """Whether the grains differ only by calibration, which gives each system a slightly different one."""
    grains = [curve.delays.grain_ns for curve in curves]
    return max(grains) <= 1.02 * min(grains)
