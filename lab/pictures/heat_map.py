# SPDX-License-Identifier: BSD-2-Clause
"""Draws a heat map of hosts: a row per host, a column per CPU or piece of time. The colour is the share of
time lost, on a logarithmic scale. White: measured, nothing lost. Hatched: not measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.ticker import NullFormatter

from lab.common.errors import DataError
from lab.common.text import percent_text
from lab.pictures.frame import finish, spread
from lab.pictures.style import GREY, figure_new, plt

#: Cells have their value written in if there are at most this number of columns.
COLUMNS_TOLD = 8
#: If there are more rows, only marked rows and those at both ends have names.
ROWS_NAMED = 120
#: The sheet's width, inches: about that of the page that shows it, so that letters keep their size.
SHEET_WIDTH = 10.0
#: Height of a row in inches, and the lower height if there are more than ROWS_LOW.
ROW_HEIGHT, ROW_HEIGHT_LOW, ROWS_LOW = 0.32, 0.19, 40
ROWS_HEIGHT_MIN, ROWS_HEIGHT_MAX = 1.4, 23.0
#: Size of rows' names, points, and of those of low rows; a line of them, in sizes of a letter.
NAME_SIZE, NAME_SIZE_LOW, LINE = 10.0, 8.5, 1.35
#: The most letters of a name that are shown.
NAME_LETTERS = 28
#: Letters are light on a colour darker than this, of 1.
DARK = 0.4
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
    rows_height = min(max(row_height * len(names), ROWS_HEIGHT_MIN), ROWS_HEIGHT_MAX)
    figure, all_axes = figure_new(1, 1, (SHEET_WIDTH, 0.6 + rows_height))
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
        _name_rows(axes, names, marked, rows_height)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_xlabel(across)
        axes.tick_params(length=0)
        if len(columns) <= COLUMNS_TOLD and len(names) <= ROWS_NAMED:
            _tell(axes, lost, shades)
        bar = figure.colorbar(shades, ax=axes, pad=0.01, aspect=max(8, 2.0 * rows_height))
        bar.ax.yaxis.set_major_formatter(lambda value, _position: percent_text(value))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.set_label("share of time lost", color=GREY)
        finish(figure, path, width, title=title, notes=notes)
    finally:
        plt.close(figure)


def _name_rows(axes: plt.Axes, names: Sequence[str], marked: Collection[str], rows_height: float) -> None:
    """Writes the names of rows. If not all fit, those of marked rows and of the ends, moved apart, each with
    a line to its row."""
    size = NAME_SIZE if len(names) <= ROWS_LOW else NAME_SIZE_LOW
    texts = [f"{name} ◂" if names[i] in marked else name for i, name in enumerate(_short(names))]
    weights = ["bold" if name in marked else "normal" for name in names]
    if len(names) <= ROWS_NAMED:
        axes.set_yticks(range(len(names)), texts)
        for label, weight in zip(axes.get_yticklabels(), weights):
            label.set(fontsize=size, fontweight=weight)
        return
    axes.set_yticks([])
    rows_a_line = LINE * size / 72 * len(names) / rows_height
    ends = (0, len(names) - 1)
    named = [i for i, name in enumerate(names) if name in marked or i in ends]
    named = (
        [*named[: int(len(names) / rows_a_line) - 1], ends[1]]
        if rows_a_line * len(named) > len(names)
        else named
    )
    place = axes.get_yaxis_transform()
    for row, y in zip(named, spread(named, rows_a_line, -0.5, len(names) - 0.5)):
        axes.annotate(
            texts[row], (0, row), (-0.03, y), xycoords=place, textcoords=place, ha="right", va="center",
            fontsize=size, fontweight=weights[row], annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "relpos": (1, 0.5)},
        )  # fmt: skip


def _short(names: Sequence[str]) -> list[str]:
    """Returns names of at most NAME_LETTERS, without the domain that all have. Of a longer one the middle is
    left out: hosts differ in their numbers, at the end."""
    domains = {name.partition(".")[2] for name in names}
    if len(domains) == 1 and len(names) > 1:
        names = [name.partition(".")[0] for name in names]
    half = NAME_LETTERS // 2
    return [name if len(name) <= NAME_LETTERS else f"{name[: half - 1]}…{name[-half:]}" for name in names]


def _tell(axes: plt.Axes, lost: np.ndarray, shades: ScalarMappable) -> None:
    """Writes the value into each cell, light on dark colours."""
    for row, values in enumerate(lost.tolist()):
        for column, value in enumerate(values):
            if np.isfinite(value):
                red, green, blue, _ = shades.to_rgba(value) if value > 0 else (1.0, 1.0, 1.0, 1.0)
                dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK
                axes.text(
                    column, row, percent_text(value), ha="center", va="center",
                    color="white" if dark else "#1d1d1d", fontsize=9.5,
                )  # fmt: skip
