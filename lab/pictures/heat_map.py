# SPDX-License-Identifier: BSD-2-Clause
"""Draws a heat map of hosts: a row per host, a column per CPU or piece of time. The colour is the share of
time lost, on a logarithmic scale. White: measured, nothing lost. Hatched: not measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import NullFormatter

from lab.common.errors import DataError
from lab.common.text import percent_text
from lab.pictures.style import GREY, figure_new, notes_below, plt, save

#: Cells have their value written in if there are at most this number of columns.
COLUMNS_TOLD = 8
#: If there are more rows, only marked rows and those at both ends have names.
ROWS_NAMED = 120
#: Height of a row in inches, and the lower height if there are more than ROWS_LOW.
ROW_HEIGHT, ROW_HEIGHT_LOW, ROWS_LOW = 0.32, 0.19, 40
ROWS_HEIGHT_MAX = 23.0
#: The scale's ends, as shares of time.
LOW, HIGH = 1e-6, 1.0


def heat_map_picture(
    names: Sequence[str],
    columns: Sequence[str],
    lost: np.ndarray,
    path: Path | str,
    *,
    marked: Collection[str] = (),
    across: str = "CPU",
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws the map. `lost`: a share of time for each name and column, NaN if not measured. The names of
    `marked` rows are bold, with an arrow. DataError without a value."""
    if lost.shape != (len(names), len(columns)) or not np.isfinite(lost).any():
        raise DataError("no heat map: give names and columns that match the values, and at least one value")
    row_height = ROW_HEIGHT if len(names) <= ROWS_LOW else ROW_HEIGHT_LOW
    height = 1.9 + min(max(row_height * len(names), 0.6), ROWS_HEIGHT_MAX)
    figure, all_axes = figure_new(1, 1, (14, height))
    axes = all_axes[0, 0]
    try:
        positive = lost[np.isfinite(lost) & (lost > 0)]
        low = max(10 ** np.floor(np.log10(positive.min())), LOW) if len(positive) else LOW
        high = min(10 ** np.ceil(np.log10(positive.max())), HIGH) if len(positive) else HIGH
        axes.set_facecolor("#f2f2ee")
        axes.patch.set(hatch="////", edgecolor="#c9c9c2")
        silent = np.where(lost == 0, 1.0, np.nan)
        axes.imshow(silent, aspect="auto", cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        shades = axes.imshow(
            np.where(lost > 0, np.maximum(lost, low), np.nan),
            aspect="auto",
            cmap="YlOrBr",
            norm=LogNorm(low, max(high, 10 * low)),
            interpolation="nearest",
        )
        _name_rows(axes, names, marked)
        step = max(1, -(-sum(len(column) + 2 for column in columns) // 100))
        axes.set_xticks(range(0, len(columns), step), columns[::step])
        axes.set_xlabel(across)
        axes.tick_params(length=0)
        if len(columns) <= COLUMNS_TOLD and len(names) <= ROWS_NAMED:
            _tell(axes, lost, float(np.sqrt(low * max(high, 10 * low))))
        bar = figure.colorbar(shades, ax=axes, pad=0.01, aspect=max(8, 2.0 * height))
        bar.ax.yaxis.set_major_formatter(lambda value, _position: percent_text(value))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.set_label("share of time lost", color=GREY)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14)
        notes_below(figure, list(notes))
        save(figure, path, width)
    finally:
        plt.close(figure)


def _name_rows(axes: plt.Axes, names: Sequence[str], marked: Collection[str]) -> None:
    ends = (0, len(names) - 1)
    named = [i for i, name in enumerate(names) if len(names) <= ROWS_NAMED or name in marked or i in ends]
    texts = [f"{_short(names[i])} ◂" if names[i] in marked else _short(names[i]) for i in named]
    axes.set_yticks(named, texts, parse_math=False)
    for i, label in zip(named, axes.get_yticklabels()):
        label.set_fontsize(10 if len(names) <= ROWS_LOW else 8)
        label.set_fontweight("bold" if names[i] in marked else "normal")


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _tell(axes: plt.Axes, lost: np.ndarray, middle: float) -> None:
    """Writes the value into each cell."""
    for row, values in enumerate(lost.tolist()):
        for column, value in enumerate(values):
            if np.isfinite(value):
                colour = "white" if value > middle * 3 else "#1d1d1d"
                axes.text(
                    column, row, percent_text(value), ha="center", va="center", color=colour, fontsize=9.5
                )
