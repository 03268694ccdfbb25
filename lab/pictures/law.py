# SPDX-License-Identifier: BSD-2-Clause
"""Draws the effect of noise on a job of n nodes: the probability that a step is delayed, d_p(n) [Tsafrir05
Fig. 2], and its slowdown, E(Y)/G [§2.4]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lab import statistics
from lab.common.errors import DataError
from lab.common.text import percent_text, time_text
from lab.pictures.distributions import DelayCurve
from lab.pictures.style import GREY, bare, figure_new, grid, notes_below, plt, save, style_of

#: The values of p in [Tsafrir05 Fig. 2].
REFERENCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
NODES_MAX = 1e6


def _nodes() -> np.ndarray:
    return np.logspace(0, np.log10(NODES_MAX), 241)


def _node_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, NODES_MAX)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:,.0f}"))
    axes.set_xlabel("nodes of the job")
    bare(axes)
    grid(axes)


def _references(axes: Axes, nodes: np.ndarray, logarithmic: bool) -> None:
    for p in REFERENCES:
        axes.plot(nodes, statistics.delayed_probability(p, nodes), color="#b5b5b5", linewidth=1.0, zorder=1)
        # A label below each curve, at a place without other curves.
        x = min(0.2 / p if logarithmic else 0.55 / p, NODES_MAX / 5)
        y = float(statistics.delayed_probability(p, x))
        if not logarithmic and y < 0.1:
            continue
        place = {"xytext": (5, -3), "textcoords": "offset points", "ha": "left", "va": "top"}
        axes.annotate(
            f"p = 10$^{{{round(np.log10(p))}}}$", (x, y), fontsize=8.5, color=GREY, zorder=2, **place
        )


def law_picture(
    curves: Sequence[DelayCurve],
    path: Path | str,
    *,
    delay_ratio: float = 0.01,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws d_p(n) of each system over the paper's curves in grey [Tsafrir05 Fig. 2]; p is the probability of
    a delay of more than `delay_ratio` of the grain.

    The mark on a curve is the end of the linear law: up to there p n is right to 5 %."""
    nodes = _nodes()
    figure, ((left, right),) = figure_new(1, 2, (14, 5.2))
    try:
        silent = []
        for axes, logarithmic in ((left, True), (right, False)):
            _references(axes, nodes, logarithmic)
            for i, curve in enumerate(curves):
                style = style_of(curve.key, i)
                p = statistics.p(curve.delays, delay_ratio)
                if p == 0:
                    silent += [curve.name] if logarithmic else []
                    continue
                label = f"{curve.name}, p = {p:.2g}"
                axes.plot(
                    nodes,
                    statistics.delayed_probability(p, nodes),
                    color=style.colour,
                    linestyle=style.line,
                    linewidth=2.2,
                    label=label,
                    zorder=3,
                )
                most = statistics.linear_nodes_max(p)
                if 1 <= most <= NODES_MAX:
                    axes.plot(
                        [most],
                        [float(statistics.delayed_probability(p, most))],
                        marker=style.marker,
                        markersize=8,
                        color=style.colour,
                        zorder=4,
                    )
            _node_axis(axes)
        left.set_yscale("log")
        left.set_ylim(1e-7, 1.6)
        left.set_ylabel("probability that a step is delayed, d$_p$(n)")
        right.set_ylim(0, 1.05)
        if len(silent) < len(curves):
            left.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="lower right", fontsize=10)
        grain = (
            f"a phase of {time_text(curves[0].delays.grain_ns)} delayed by more than "
            f"{percent_text(delay_ratio)}"
            if curves
            else "a phase delayed"
        )
        figure.suptitle(title or f"The law of noise: {grain}", x=0.01, ha="left", fontsize=14)
        words = (
            [f"Mark: up to here the linear law p n is right to {percent_text(statistics.LINEAR_ERROR)}."]
            if len(silent) < len(curves)
            else []
        )
        words += [
            f"{name}: no curve: no phase is delayed by more than {percent_text(delay_ratio)} (p = 0)."
            for name in silent
        ]
        notes_below(figure, [*words, *notes])
        save(figure, path, width)
    finally:
        plt.close(figure)


def slowdown_picture(
    curves: Sequence[DelayCurve],
    path: Path | str,
    *,
    tolerance: float | None = None,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws E(Y)/G - 1 in percent by nodes. A curve is thin and dotted for more nodes than its data hold
    phases: there it is an extrapolation."""
    if not curves:
        raise DataError("no system to draw; give one file or more")
    nodes = _nodes()
    figure, ((axes,),) = figure_new(1, 1, (11, 5.0))
    try:
        most = 0.0
        for i, curve in enumerate(curves):
            style = style_of(curve.key, i)
            percent = 100 * (np.asarray(statistics.slowdown(curve.delays, nodes)) - 1)
            most = max(most, float(percent.max()))
            known = nodes <= max(curve.delays.phases, 1)
            axes.plot(
                nodes[known],
                percent[known],
                color=style.colour,
                linestyle=style.line,
                linewidth=2.4,
                label=curve.name,
                clip_on=False,
                zorder=3,
            )
            axes.plot(
                nodes[~known],
                percent[~known],
                color=style.colour,
                linestyle=(0, (1, 2.5)),
                linewidth=1.4,
                clip_on=False,
                zorder=3,
            )
            if known.any() and not known.all():
                axes.plot(
                    nodes[known][-1:],
                    percent[known][-1:],
                    marker=style.marker,
                    markersize=8,
                    color=style.colour,
                    zorder=4,
                    clip_on=False,
                )
        top = 1.15 * max(most, 100 * (tolerance or 0.0)) or 1.0
        axes.set_ylim(0, top)
        if tolerance is not None:
            axes.axhline(100 * tolerance, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
            axes.text(
                1.1,
                100 * tolerance + 0.01 * top,
                f"tolerated: {percent_text(tolerance)}",
                fontsize=9,
                color=GREY,
                va="bottom",
            )
        _node_axis(axes)
        axes.set_ylabel("slowdown of a step, E(Y)/G - 1, %")
        axes.legend(frameon=False, loc="upper left", fontsize=10)
        figure.suptitle(
            title or f"How far a job scales: phases of {time_text(curves[0].delays.grain_ns)}",
            x=0.01,
            ha="left",
            fontsize=14,
        )
        notes_below(
            figure,
            [
                "Mark: the number of phases in the data; for more nodes (dotted), events too rare for the "
                "data decide.",
                *notes,
            ],
        )
        save(figure, path, width)
    finally:
        plt.close(figure)
