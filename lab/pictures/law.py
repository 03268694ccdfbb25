# SPDX-License-Identifier: BSD-2-Clause
"""Draws the effect of noise on a job of n nodes: the probability that a step is delayed, d_p(n) [Tsafrir05
Fig. 2], and its slowdown, E(Y)/G [§2.4]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from lab import statistics
from lab.common.errors import DataError
from lab.common.text import percent_text, time_text
from lab.pictures.distributions import DelayCurve
from lab.pictures.frame import finish
from lab.pictures.style import GREY, bare, figure_new, grid, line_of, log_axis, looks_of, plt, power_text

#: Powers of ten: the values of p in [Tsafrir05 Fig. 2].
REFERENCES = (-3, -4, -5, -6, -7)
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


def _references(axes: Axes, nodes: np.ndarray) -> Line2D:
    """Draws the curves of the paper. Their names are in the legend alone, where they cover no other curve:
    on logarithmic axes each begins at its p, and in both panels they come in the order of p."""
    look = {"color": "#b5b5b5", "linewidth": 1.0, "zorder": 1}
    for exponent in REFERENCES:
        axes.plot(nodes, statistics.delayed_probability(10.0**exponent, nodes), **look)
    first, last = (power_text(exponent) for exponent in (REFERENCES[0], REFERENCES[-1]))
    return Line2D([], [], **look, label=f"p = {first} (leftmost) to {last}")


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
    figure, ((left, right),) = figure_new(1, 2, (14, 4.6), width)
    try:
        silent, handles = [], []
        for axes, logarithmic in ((left, True), (right, False)):
            grey = _references(axes, nodes)
            for curve, style in zip(curves, looks_of([curve.key for curve in curves])):
                p = statistics.p(curve.delays, delay_ratio)
                if p == 0:
                    silent += [curve.name] if logarithmic else []
                    continue
                if logarithmic:
                    handles.append(line_of(style, f"{curve.name}, p = {p:.2g}"))
                axes.plot(
                    nodes,
                    statistics.delayed_probability(p, nodes),
                    color=style.colour,
                    linestyle=style.line,
                    linewidth=2.2,
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
        log_axis(left.yaxis)
        left.set_ylabel("probability that a step is delayed, d_p(n)")
        right.set_ylim(0, 1.05)
        grain = (
            f"a phase of {time_text(curves[0].delays.grain_ns)} delayed by more than "
            f"{percent_text(delay_ratio)}"
            if curves
            else "a phase delayed"
        )
        words = (
            [f"Mark: up to here the linear law p n is right to {percent_text(statistics.LINEAR_ERROR)}."]
            if len(silent) < len(curves)
            else []
        )
        words += [
            f"{name}: no curve: no phase is delayed by more than {percent_text(delay_ratio)} (p = 0)."
            for name in silent
        ]
        finish(
            figure, path, width, title=title or f"The law of noise: {grain}", notes=[*words, *notes],
            legend=[*handles, grey],
        )  # fmt: skip
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
    figure, ((axes,),) = figure_new(1, 1, (11, 4.6), width)
    try:
        most = 0.0
        handles = []
        for curve, style in zip(curves, looks_of([curve.key for curve in curves])):
            percent = 100 * (np.asarray(statistics.slowdown(curve.delays, nodes)) - 1)
            most = max(most, float(percent.max()))
            handles.append(line_of(style, curve.name))
            known = nodes <= max(curve.delays.phases, 1)
            axes.plot(
                nodes[known],
                percent[known],
                color=style.colour,
                linestyle=style.line,
                linewidth=2.4,
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
            look = {"color": GREY, "linewidth": 0.9, "linestyle": "--", "zorder": 1}
            axes.axhline(100 * tolerance, **look)
            handles.append(Line2D([], [], **look, label=f"tolerated: {percent_text(tolerance)}"))
        _node_axis(axes)
        axes.set_ylabel("slowdown of a step, E(Y)/G - 1, %")
        read = (
            "Mark: the number of phases in the data; for more nodes (dotted), events too rare for the data "
            "decide."
        )
        grain = time_text(curves[0].delays.grain_ns)
        finish(
            figure, path, width, title=title or f"How far a job scales: phases of {grain}",
            notes=[read, *notes], legend=handles,
        )  # fmt: skip
    finally:
        plt.close(figure)
