# SPDX-License-Identifier: BSD-2-Clause
"""Pictures.

`ftq_picture`: lost operations over time, one panel a system, in the manner of [Betti09 Fig. 3]. `survival_picture`: how
likely a computation phase is delayed by how much, one panel a grain, in the manner of [Tsafrir05 Fig. 5].

All panels of the FTQ picture share one scale, so that a small bar on one is a small bar on the other. It is linear up to the floor and
logarithmic above (symlog): a single lost count is visible beside a detour of thousands, and nothing is cut off. What
lies within the quantisation floor is drawn as dots in a band, what is noise as bars that rise from zero.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture is a file here; no display is needed

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from lab import phase  # noqa: E402
from lab.ftq import DISTURBED_LOSS, FtqData, FtqSummary  # noqa: E402

#: One colour a system wherever it appears; different in lightness too, so that they differ in grey.
COLOURS = {"tacet": "#14375e", "linux": "#d1602a", "linux_tuned": "#5f9e8f", "linux_rt": "#a8478f"}
OTHER_COLOUR = "#555555"
FLOOR_COLOUR = "#e6e6e0"
GREY = "#6b6b6b"

#: Upper edge of the band, counts: above the one count that the floor takes, below the two that are noise.
FLOOR_BAND = 1.5


@dataclass(frozen=True)
class Panel:
    """One system of the picture: its key (for the colour), its title, and data with figures, or why there are none.

    `remark` is what one must know to read the bars, because they are not this CPU's noise: it stands in the panel, and
    bars and figures step back.
    """

    key: str
    title: str
    data: FtqData | None = None
    summary: FtqSummary | None = None
    absent: str = ""
    remark: str = ""


def time_text(ns: float) -> str:
    """A time with a unit that suits it."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def percent_text(ratio: float) -> str:
    """A ratio in percent; an exact zero is a plain 0."""
    return "0 %" if ratio == 0 else f"{100 * ratio:.3g} %"


def _tick_label(value: float, _position: int) -> str:
    """1, 10, 100, 1000, 10k …"""
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:.0f}"


def _figures(summary: FtqSummary) -> str:
    """The line of figures on a panel's right."""
    return (
        f"{summary.disturbed_quanta:,} of {summary.samples:,} quanta disturbed   ·   "
        f"noise {percent_text(summary.noise_ratio)}   ·   "
        f"largest loss {time_text(summary.largest_loss_ns)}"
    )


def _scale(axes: Axes, top: float) -> None:
    """The shared y scale: linear to 2 counts, logarithmic above."""
    axes.set_yscale("symlog", linthresh=DISTURBED_LOSS, linscale=0.45)
    axes.set_ylim(0, top)
    decades = [10.0**i for i in range(1, 1 + int(np.ceil(np.log10(top)))) if 10.0**i <= top]
    axes.yaxis.set_major_locator(FixedLocator([0.0, float(DISTURBED_LOSS), *decades]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_tick_label))


def _right_scale(axes: Axes, top: float, operation_ns: float) -> None:
    """The same scale as time, on the right."""
    right = axes.twinx()
    right.set_yscale("symlog", linthresh=DISTURBED_LOSS, linscale=0.45)
    right.set_ylim(0, top)
    times_ns = [t for t in (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9) if DISTURBED_LOSS < t / operation_ns <= top]
    right.yaxis.set_major_locator(FixedLocator([t / operation_ns for t in times_ns]))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: time_text(value * operation_ns)))
    right.tick_params(axis="y", length=3, colors=GREY, labelsize=9)
    for side in right.spines.values():
        side.set_visible(False)


def _bars(axes: Axes, panel: Panel, width_points: float) -> None:
    """Bars for the disturbed quanta, dots for what lies within the floor."""
    assert panel.data is not None and panel.summary is not None
    start_s = (panel.data.start_ns - panel.data.start_ns[0]) / 1e9
    losses = panel.summary.losses
    disturbed = losses >= DISTURBED_LOSS
    colour = COLOURS.get(panel.key, OTHER_COLOUR)
    axes.plot(
        start_s[~disturbed], losses[~disturbed], linestyle="none", marker="o", markersize=2.2, markeredgewidth=0,
        color=colour, alpha=0.8, clip_on=False, zorder=3, rasterized=True,
    )  # fmt: skip
    axes.vlines(
        start_s[disturbed], 0, losses[disturbed], colors=colour, linewidth=width_points, zorder=2,
        alpha=0.45 if panel.remark else 1.0,
    )  # fmt: skip


def _silence(axes: Axes, summary: FtqSummary) -> None:
    """The words on a panel without a single bar."""
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 3}
    axes.text(
        0.5, 0.6, "zero detours", transform=axes.transAxes, ha="center", va="center", fontsize=20,
        color=COLOURS["tacet"], style="italic", bbox=paper,
    )  # fmt: skip
    seconds = summary.samples * summary.quantum_ns / 1e9
    axes.text(
        0.5, 0.42, f"no quantum lost two operations or more in {seconds:g} s", transform=axes.transAxes, ha="center",
        va="center", fontsize=10, color=GREY, bbox=paper,
    )  # fmt: skip


def _panel(axes: Axes, panel: Panel, top: float, window_s: float, width_inches: float) -> None:
    axes.set_title(panel.title, loc="left", fontsize=13, fontweight="bold", color=COLOURS.get(panel.key, OTHER_COLOUR))
    axes.set_xlim(0, window_s)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if panel.data is None or panel.summary is None:
        axes.text(
            0.5, 0.5, f"not measured: {panel.absent}", transform=axes.transAxes, ha="center", va="center", fontsize=11,
            color=GREY, wrap=True,
        )  # fmt: skip
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return
    axes.set_title(_figures(panel.summary), loc="right", fontsize=10.5, color=GREY if panel.remark else "#222222")
    _scale(axes, top)
    axes.axhspan(0, FLOOR_BAND, color=FLOOR_COLOUR, linewidth=0, zorder=0)
    axes.grid(axis="y", color="#d8d8d8", linewidth=0.6, zorder=1)
    axes.set_axisbelow(True)
    # As wide as fits beside its neighbours; a few bars alone are wide enough to be seen.
    points_a_quantum = width_inches * 72 / len(panel.data.counts)
    narrowest = 1.6 if panel.summary.disturbed_quanta < 100 else 0.6
    _bars(axes, panel, float(np.clip(0.8 * points_a_quantum, narrowest, 3)))
    _right_scale(axes, top, panel.summary.operation_ns)
    if panel.summary.detours == 0:
        _silence(axes, panel.summary)
    if panel.remark:
        axes.text(
            0.004, 0.94, panel.remark, transform=axes.transAxes, ha="left", va="top", fontsize=9.5, color="#222222",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2}, zorder=4,
        )  # fmt: skip


def ftq_picture(panels: Sequence[Panel], path: Path | str, *, title: str = "", note: str = "") -> None:
    """Writes the picture of FTQ on several systems as a PNG of about 1400 by 900 points."""
    shown = [panel for panel in panels if panel.data is not None and panel.summary is not None]
    if not shown:
        raise ValueError("no system of the picture has data")
    most = max(int(panel.summary.losses.max()) for panel in shown if panel.summary)
    room = 10.0 if any(panel.remark for panel in shown) else 2.0
    top = max(30.0, room * most)
    window_s = max(panel.data.window_ns for panel in shown if panel.data) / 1e9
    width_inches = 14.0

    figure, all_axes = plt.subplots(
        len(panels), 1, figsize=(width_inches, max(4.0, 1.2 + 2.6 * len(panels))), sharex=True, squeeze=False
    )
    try:
        for axes, panel in zip(all_axes[:, 0], panels):
            _panel(axes, panel, top, window_s, 0.88 * width_inches)
        figure.supylabel("operations lost in a quantum", fontsize=11, x=0.012)
        figure.text(0.988, 0.5, "the same as time", rotation=-90, ha="right", va="center", fontsize=11, color=GREY)
        all_axes[-1, 0].set_xlabel("time in the measuring window, s", fontsize=11)
        operation_ns = shown[0].summary.operation_ns if shown[0].summary else 0.0
        floor = (
            f"Grey band: quantisation floor. Time grid and loop beat against each other, so that a quantum of a silent "
            f"core may be one operation ({operation_ns:.0f} ns) short; a loss of two or more is noise."
        )
        figure.suptitle(title or "What the system takes: FTQ", x=0.06, y=0.97, ha="left", fontsize=15)
        figure.text(0.06, 0.012, "\n".join(filter(None, [floor, note])), fontsize=9, color=GREY, va="bottom", ha="left")
        figure.subplots_adjust(left=0.06, right=0.925, top=0.875, bottom=0.115, hspace=0.38)
        figure.savefig(path, dpi=100)
    finally:
        plt.close(figure)


@dataclass(frozen=True)
class SurvivalCurves:
    """One system of the survival picture: its key (for the colour), its name, and its durations by grain, ns."""

    key: str
    name: str
    grains: Mapping[int, phase.PhaseData]


#: Line styles in the order of the systems, so that curves that fall on each other are still seen, and in grey too.
SURVIVAL_STYLES = ("-", "-", (0, (5, 2)), (0, (1.5, 1.2)))
#: Delays that the figures in the text tell, as marks on the x axis.
SURVIVAL_MARKS = (0.01, 0.10, 1.00)
SURVIVAL_LEAST_DELAY = 1e-5


def _delay_label(value: float, _position: int) -> str:
    """A delay in percent, without needless digits."""
    return f"+{100 * value:g} %"


def _survival_curve(axes: Axes, curves: SurvivalCurves, data: phase.PhaseData, style: object, most: float) -> bool:
    """One curve; False where no phase was delayed visibly, so that there is nothing to draw."""
    delays, above = phase.survival(data)
    # Above its last duration the function is zero, which a logarithmic scale has not: the curve drops out of the panel.
    floor = 1e-12
    left = int(np.searchsorted(delays, SURVIVAL_LEAST_DELAY, side="right")) - 1
    if above[left] == 0:
        return False
    x = np.concatenate([[SURVIVAL_LEAST_DELAY], delays[left + 1 :]])
    y = np.concatenate([[above[left]], above[left + 1 :]])
    axes.step(
        x[x <= most], np.maximum(y, floor)[x <= most], where="post", color=COLOURS.get(curves.key, OTHER_COLOUR),
        linestyle=style, linewidth=1.8, label=curves.name,
    )  # fmt: skip
    return True


def _survival_panel(axes: Axes, systems: Sequence[SurvivalCurves], grain_ns: int, most: float, least: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(SURVIVAL_LEAST_DELAY, most)
    phases = max(system.grains[grain_ns].count for system in systems if grain_ns in system.grains)
    axes.set_ylim(least, 2)
    axes.set_title(f"{time_text(grain_ns)}", loc="left", fontsize=13, fontweight="bold", color="#222222")
    axes.set_title(f"{phases:,} phases", loc="right", fontsize=9.5, color=GREY)
    axes.axhspan(least, 1 / phases, color=FLOOR_COLOUR, linewidth=0, zorder=0)
    for mark in SURVIVAL_MARKS:
        axes.axvline(mark, color="#d8d8d8", linewidth=0.8, zorder=0)
    axes.xaxis.set_major_locator(FixedLocator([1e-5, 1e-4, 1e-3, *SURVIVAL_MARKS, 10.0]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_delay_label))
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    silent = []
    for i, system in enumerate(systems):
        data = system.grains.get(grain_ns)
        if data is not None and not _survival_curve(axes, system, data, SURVIVAL_STYLES[i % 4], most):
            silent.append(system)
    for i, system in enumerate(silent):
        axes.text(
            0.98, 0.95 - 0.09 * i, f"{system.name}: no phase delayed", transform=axes.transAxes, ha="right", va="top",
            fontsize=10.5, style="italic", color=COLOURS.get(system.key, OTHER_COLOUR),
        )  # fmt: skip


def survival_picture(
    systems: Sequence[SurvivalCurves], path: Path | str, *, title: str = "", notes: Sequence[str] = ()
) -> None:
    """Writes the survival functions of the phase durations as a PNG of about 1400 by 900 points, a panel a grain."""
    grains_ns = sorted({grain for system in systems for grain in system.grains})
    if not grains_ns:
        raise ValueError("no system of the picture has data")
    columns = min(3, len(grains_ns))
    rows = -(-len(grains_ns) // columns)
    longest = max(float(phase.survival(data)[0][-1]) for system in systems for data in system.grains.values())
    most = max(2.0, 1.5 * longest)
    least = 0.5 / max(data.count for system in systems for data in system.grains.values())
    figure, all_axes = plt.subplots(
        rows, columns, figsize=(max(7.0, 14 * columns / 3), 2.2 + 3.3 * rows), squeeze=False
    )
    try:
        for axes, grain_ns in zip(all_axes.flat, grains_ns):
            _survival_panel(axes, systems, grain_ns, most, least)
        for axes in list(all_axes.flat)[len(grains_ns) :]:
            axes.set_visible(False)
        handles = [
            plt.Line2D(
                [], [], color=COLOURS.get(system.key, OTHER_COLOUR), linestyle=SURVIVAL_STYLES[i % 4], linewidth=1.8,
                label=system.name,
            )
            for i, system in enumerate(systems)
        ]  # fmt: skip
        height = figure.get_size_inches()[1]
        figure.legend(
            handles=handles, loc="upper right", ncols=len(handles), frameon=False, fontsize=11,
            bbox_to_anchor=(0.985, 1 - 0.1 / height),
        )  # fmt: skip
        figure.suptitle(title, x=0.07, y=1 - 0.2 / height, ha="left", va="top", fontsize=15)
        figure.supylabel("p: share of phases delayed by more than x", fontsize=11, x=0.012)
        figure.text(0.53, 0.92 / height, "x: delay against the shortest phase", fontsize=11, ha="center")
        legend = "Grey band: less than one phase of those that were run. Lines: delays of 1, 10 and 100 %."
        figure.text(0.07, 0.12 / height, "\n".join([legend, *notes]), fontsize=9, color=GREY, va="bottom", ha="left")
        figure.subplots_adjust(
            left=0.07, right=0.985, top=1 - 1.0 / height, bottom=1.5 / height, hspace=0.42, wspace=0.2
        )
        figure.savefig(path, dpi=100)
    finally:
        plt.close(figure)
