# SPDX-License-Identifier: BSD-2-Clause
"""Draws single detours: over time and sorted by length [Beckman06 Fig. 3-5], or as a scatter plot [Hoefler10
Fig. 1].

Each system has a row or a panel, all on the same scales. Lengths are on a logarithmic axis. The panel of a
system without detours says so in words. If only the beginning of a trace is drawn, all numbers are still
those of the whole trace, as in a table of it.
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
from lab.pictures.frame import finish
from lab.pictures.style import (
    System,
    bare,
    figure_new,
    grid,
    log_time_axis,
    name_axes,
    nothing,
    plt,
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
    if trace.latencies:
        return f"{trace.detours:,} latencies"
    if not trace.detours:
        return f"{time_text(trace.span_ns)} measured"
    rate, ratio = trace.detours * 1e9 / trace.span_ns, trace.noise_ns / trace.span_ns
    return f"{rate_text(rate)} detours a second, {percent_text(ratio)} of the time"


def _beginning(trace: Trace, span_ns: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns starts and lengths of the detours that end within the span."""
    keep = trace.start_ns + trace.duration_ns <= span_ns
    return trace.start_ns[keep], trace.duration_ns[keep]


def _silent(axes: Axes, system: System, index: int) -> bool:
    """Writes into the panel that there is nothing to draw, and returns True; False if there is something."""
    trace = system.trace
    if trace.listed:
        return False
    words = f"zero detours in {time_text(trace.span_ns)}" if not trace.latencies else "no latencies"
    nothing(
        axes, f"{trace.detours:,} detours, none of them listed" if trace.detours else words, system.key, index
    )
    return True


def _without_starts(axes: Axes, system: System, index: int) -> bool:
    """Writes into the panel that starts are unknown, and returns True; False if they are known."""
    if not system.trace.starts_known:
        nothing(axes, "the source does not say when", system.key, index)
    return not system.trace.starts_known


def _cut(systems: Sequence[System], shown_ns: float) -> list[str]:
    """Returns the note on traces of which only the beginning is drawn."""
    if not any(system.trace.span_ns > shown_ns for system in systems):
        return []
    first = f"at most the first {time_text(shown_ns)} of each system"
    return [f"Drawn over time: {first}. Numbers are of its whole time."]


def _over_time(axes: Axes, system: System, index: int, least: float, shown_ns: float) -> None:
    if _without_starts(axes, system, index):
        return
    style = style_of(system.key, index)
    start_ns, duration_ns = _beginning(system.trace, shown_ns)
    many = len(start_ns) > VECTORS_MAX
    if len(start_ns) <= STEMS_MAX:
        axes.vlines(start_ns / 1e9, least, duration_ns, colors=style.colour, linewidth=0.7, alpha=0.6)
    axes.plot(
        start_ns / 1e9,
        duration_ns,
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


def _time_axis(axes: Axes, span_ns: float) -> None:
    if np.isfinite(span_ns):
        axes.set_xlim(0, span_ns / 1e9)
    axes.set_xlabel("time since the beginning, s")


def series_picture(
    systems: Sequence[System],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
    shown_ns: float = np.inf,
) -> None:
    """Draws detours over time (left) and sorted by length (right), a row per system [Beckman06 Fig. 3-5].
    Over time only the first `shown_ns` are drawn."""
    _checked(systems)
    least, most = _lengths(systems)
    size = (14, 0.6 + 2.2 * len(systems))
    figure, all_axes = figure_new(
        len(systems), 2, size, width, sharey=True, sharex="col", gridspec_kw={"width_ratios": [2.4, 1]}
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
            _over_time(left, system, i, least, shown_ns)
            _sorted(right, system, i)
        spans = [system.trace.span_ns for system in systems if np.isfinite(system.trace.span_ns)]
        _time_axis(all_axes[-1, 0], min(shown_ns, max(spans, default=np.inf)))
        last = max((i for i, (_, right) in enumerate(all_axes) if right.get_visible()), default=0)
        all_axes[last, 1].set_xlim(0, 100)
        all_axes[last, 1].set_xlabel("detours no longer than that, %")
        all_axes[last, 1].tick_params(labelbottom=True)
        finish(
            figure, path, width, title=title or "Detours over time, and sorted by length",
            notes=[*_cut(systems, shown_ns), *notes], y_label="length of a detour",
        )  # fmt: skip
    finally:
        plt.close(figure)


def scatter_picture(
    systems: Sequence[System],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
    shown_ns: float = np.inf,
) -> None:
    """Draws every detour of the first `shown_ns` as a point by time and length [Hoefler10 Fig. 1]; two panels
    per row."""
    _checked(systems)
    least, most = _lengths(systems)
    columns = min(2, len(systems))
    rows = -(-len(systems) // columns)
    figure, all_axes = figure_new(rows, columns, (7 * columns, 0.2 + 2.9 * rows), width, sharey=True)
    try:
        for axes in list(all_axes.flat)[len(systems) :]:
            axes.set_visible(False)
        for i, (system, axes) in enumerate(zip(systems, all_axes.flat)):
            style = style_of(system.key, i)
            name_axes(axes, system.name, _remark(system.trace), system.key, i)
            axes.set_yscale("log")
            axes.set_ylim(least, most)
            log_time_axis(axes.yaxis, least, most)
            _time_axis(axes, min(shown_ns, system.trace.span_ns))
            bare(axes)
            grid(axes)
            if _silent(axes, system, i) or _without_starts(axes, system, i):
                continue
            start_ns, duration_ns = _beginning(system.trace, shown_ns)
            axes.plot(
                start_ns / 1e9,
                duration_ns,
                linestyle="none",
                marker=style.marker,
                markersize=3.6,
                markeredgewidth=0,
                alpha=0.55,
                color=style.colour,
                rasterized=len(start_ns) > VECTORS_MAX,
            )
        finish(
            figure, path, width, title=title or "Every detour", notes=[*_cut(systems, shown_ns), *notes],
            y_label="length of a detour",
        )  # fmt: skip
    finally:
        plt.close(figure)
