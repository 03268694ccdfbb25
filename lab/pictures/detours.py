# SPDX-License-Identifier: BSD-2-Clause
"""Draws single detours: over time and sorted by length [Beckman06 Fig. 3-5], or as a scatter plot [Hoefler10
Fig. 1].

Each system has a row or a panel, all on the same scales. Lengths are on a logarithmic axis. The panel of a
system without detours says so in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from lab.common.errors import DataError
from lab.common.text import percent_text, rate_text, time_text
from lab.formats.trace import Trace
from lab.pictures.style import (
    GREY,
    System,
    bare,
    figure_new,
    grid,
    log_time_axis,
    name_axes,
    notes_below,
    nothing,
    plt,
    save,
    style_of,
)

#: More points are drawn as an image inside the SVG; as vectors they would take minutes to show.
VECTORS_MAX = 5_000
#: Up to this number, points have a line down to the axis, as in the papers.
STEMS_MAX = 3_000


def _checked(systems: Sequence[System]) -> None:
    for system in systems:
        if not system.trace.durations_known:
            raise DataError(
                f"{system.trace.source}: the {system.trace.format} format does not hold the lengths of "
                "detours, so there is nothing to draw"
            )
        if system.trace.starts_known and math.isnan(system.trace.span_ns):
            raise DataError(
                f"{system.trace.source}: the measured time is unknown; give it with --span SECONDS"
            )
    if not systems:
        raise DataError("no system to draw; give one file or more")


def _lengths(systems: Sequence[System]) -> tuple[float, float]:
    """Returns the limits of the shared axis of lengths, ns."""
    everything = [s.trace.duration_ns[s.trace.duration_ns > 0] for s in systems]
    known = [lengths for lengths in everything if len(lengths)]
    if not known:
        return 100.0, 1e5
    return 0.5 * min(float(lengths.min()) for lengths in known), 2.0 * max(
        float(lengths.max()) for lengths in known
    )


def _remark(trace: Trace) -> str:
    if not trace.detours:
        return f"{time_text(trace.span_ns)} measured"
    rate, ratio = trace.detours * 1e9 / trace.span_ns, trace.noise_ns / trace.span_ns
    return f"{rate_text(rate)} detours a second, {percent_text(ratio)} of the time"


def _silent(axes: Axes, system: System, index: int) -> bool:
    """Writes into the panel that there is nothing to draw, and returns True; False if there is something."""
    if system.trace.listed:
        return False
    counted = system.trace.detours
    nothing(
        axes,
        f"{counted:,} detours, none of them listed"
        if counted
        else f"zero detours in {time_text(system.trace.span_ns)}",
        system.key,
        index,
    )
    return True


def _over_time(axes: Axes, system: System, index: int, least: float) -> None:
    trace, style = system.trace, style_of(system.key, index)
    if not trace.starts_known:
        nothing(axes, "the source does not say when", system.key, index)
        return
    many = trace.listed > VECTORS_MAX
    if trace.listed <= STEMS_MAX:
        axes.vlines(
            trace.start_ns / 1e9, least, trace.duration_ns, colors=style.colour, linewidth=0.7, alpha=0.6
        )
    axes.plot(
        trace.start_ns / 1e9,
        trace.duration_ns,
        linestyle="none",
        marker=style.marker,
        markersize=2.0 if many else 3.0,
        markeredgewidth=0,
        color=style.colour,
        rasterized=many,
    )


def _sorted(axes: Axes, system: System, index: int) -> None:
    """Draws length by rank: a flat stretch is a kind of detour, and its width shows how common it is."""
    style = style_of(system.key, index)
    axes.set_title("sorted by length", loc="left", fontsize=10.5)
    rising = np.sort(system.trace.duration_ns)
    share = np.arange(len(rising) + 1) / len(rising)
    axes.stairs(rising, 100 * share, baseline=None, color=style.colour, linewidth=2.0)


def series_picture(
    systems: Sequence[System],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws detours over time (left) and sorted by length (right), a row per system [Beckman06 Fig. 3-5]."""
    _checked(systems)
    least, most = _lengths(systems)
    span_s = max(s.trace.span_ns for s in systems) / 1e9
    figure, all_axes = figure_new(
        len(systems),
        2,
        (14, 1.7 + 2.3 * len(systems)),
        sharey=True,
        sharex="col",
        gridspec_kw={"width_ratios": [2.4, 1]},
    )
    try:
        for i, (system, (left, right)) in enumerate(zip(systems, all_axes)):
            name_axes(left, system.name, _remark(system.trace), system.key, i)
            for axes in (left, right):
                axes.set_yscale("log")
                axes.set_ylim(least, most)
                log_time_axis(axes.yaxis, least, most)
                bare(axes)
                grid(axes, "y")
            if _silent(left, system, i):
                right.set_visible(False)
                continue
            _over_time(left, system, i, least)
            _sorted(right, system, i)
        all_axes[-1, 0].set_xlim(0, span_s)
        all_axes[-1, 0].set_xlabel("time since the beginning, s")
        all_axes[-1, 1].set_xlim(0, 100)
        all_axes[-1, 1].set_xlabel("detours no longer than that, %")
        figure.supylabel("length of a detour", fontsize=11)
        figure.suptitle(title or "Detours over time, and sorted by length", x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)


def scatter_picture(
    systems: Sequence[System],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws every detour as a point by time and length [Hoefler10 Fig. 1]; two panels per row."""
    _checked(systems)
    least, most = _lengths(systems)
    columns = min(2, len(systems))
    rows = -(-len(systems) // columns)
    figure, all_axes = figure_new(rows, columns, (7 * columns, 1.4 + 3.0 * rows), sharey=True)
    try:
        for axes in list(all_axes.flat)[len(systems) :]:
            axes.set_visible(False)
        for i, (system, axes) in enumerate(zip(systems, all_axes.flat)):
            trace, style = system.trace, style_of(system.key, i)
            name_axes(axes, system.name, "", system.key, i)
            axes.text(
                0.99, 0.97, _remark(trace), transform=axes.transAxes, ha="right", va="top", fontsize=9.5,
                color=GREY, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, zorder=4,
            )  # fmt: skip
            axes.set_yscale("log")
            axes.set_ylim(least, 4 * most)
            log_time_axis(axes.yaxis, least, most)
            axes.set_xlim(0, trace.span_ns / 1e9)
            axes.set_xlabel("time since the beginning, s")
            bare(axes)
            grid(axes)
            if _silent(axes, system, i):
                continue
            if not trace.starts_known:
                nothing(axes, "the source does not say when", system.key, i)
                continue
            axes.plot(
                trace.start_ns / 1e9,
                trace.duration_ns,
                linestyle="none",
                marker=style.marker,
                markersize=3.6,
                markeredgewidth=0,
                alpha=0.55,
                color=style.colour,
                rasterized=trace.listed > VECTORS_MAX,
            )
        figure.supylabel("length of a detour", fontsize=11)
        figure.suptitle(title or "Every detour", x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)
