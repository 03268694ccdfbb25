# SPDX-License-Identifier: BSD-2-Clause
"""Shared by all pictures: one colour, line, marker and hatch for each system, plain axes, and saving.

Systems also differ in lightness, line style, marker and hatch, so pictures are readable in grey and for
colour-blind readers.
"""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no warning if its cache cannot be written

import matplotlib

matplotlib.use("Agg")  # a picture is a file here; no display is needed

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lab.common.errors import DataError
from lab.common.files import written_whole
from lab.common.text import time_text
from lab.pictures.systems import NAMES, OTHERS, STYLES, Style, System, key_of, style_of

__all__ = [
    "GREY",
    "NAMES",
    "OTHERS",
    "SHADE",
    "STYLES",
    "Style",
    "System",
    "bare",
    "figure_new",
    "grid",
    "key_of",
    "log_time_axis",
    "name_axes",
    "nothing",
    "notes_below",
    "plt",
    "save",
    "style_of",
    "title_above",
]

GREY = "#6b6b6b"
SHADE = "#e6e6e0"
GRID = "#d8d8d8"

#: Up to this width a PNG has few colours and a small file, pixels.
THUMBNAIL_MAX = 1000
THUMBNAIL_COLOURS = 48
#: Up to this width a picture is drawn on a smaller sheet, so that its letters are larger, pixels.
SMALL_MAX = 800
SMALL_SHEET = 0.68

matplotlib.rcParams["svg.hashsalt"] = "tacet"  # the same picture is the same file
matplotlib.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib: the same widths everywhere


def bare(axes: Axes) -> None:
    """Removes the frame above and on the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def grid(axes: Axes, axis: str = "both") -> None:
    axes.grid(axis=axis, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def figure_new(
    rows: int, columns: int, size: tuple[float, float], **keywords: Any
) -> tuple[Figure, np.ndarray]:
    """Returns a figure with its axes, always as a two-dimensional array."""
    figure, all_axes = plt.subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained", **keywords
    )
    return figure, all_axes


def title_above(figure: Figure, text: str, x: float, gap_inches: float) -> None:
    """Writes a picture's title at `x`, `gap_inches` below the upper edge."""
    y = 1 - gap_inches / figure.get_size_inches()[1]
    figure.suptitle(text, x=x, y=y, ha="left", va="top", fontsize=15)


def log_time_axis(axis: Any, low: float, high: float) -> None:
    """Sets a logarithmic axis of ns from `low` to `high`, labelled with units at each decade, and between
    them if there are few decades."""
    decades = np.log10(high / low)
    between = (
        (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if decades < 1 else (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    )
    axis.set_major_locator(LogLocator(subs=between, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: time_text(value) if value > 0 else "0"))
    axis.set_minor_formatter(NullFormatter())


def name_axes(axes: Axes, name: str, remark: str, key: str, index: int) -> None:
    """Writes a panel's title: the system in its colour, and a remark on the right."""
    axes.set_title(name, loc="left", fontsize=12, fontweight="bold", color=style_of(key, index).colour)
    if remark:
        axes.set_title(remark, loc="right", fontsize=9.5, color=GREY)


def nothing(axes: Axes, words: str, key: str, index: int) -> None:
    """Writes the words on a panel without data."""
    axes.text(
        0.5,
        0.5,
        words,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=14,
        style="italic",
        color=style_of(key, index).colour,
    )


def notes_below(figure: Figure, notes: list[str]) -> None:
    """Writes the notes that explain the picture, in small print below it."""
    lines = [note for note in notes if note]
    if lines:
        figure.supxlabel("\n".join(lines), fontsize=8.5, color=GREY, x=0.01, ha="left")


def save(figure: Figure, path: Path | str, width: int) -> None:
    """Writes PNG (`width` pixels) or SVG, by the name's suffix, whole or not at all. DataError for another
    suffix, LabError if it cannot be written."""
    path = Path(path)
    if path.suffix not in (".png", ".svg"):
        raise DataError(f"{path}: not a picture's name; give one that ends in .png or .svg")
    if not path.parent.is_dir():
        raise DataError(f"{path}: No such file or folder: {path.parent}; create it, or give another name")
    with written_whole(path) as part:
        _draw(figure, part, width)


def _draw(figure: Figure, path: Path, width: int) -> None:
    if path.suffix == ".svg":
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    if width <= SMALL_MAX and figure.get_constrained_layout():
        figure.set_size_inches(figure.get_size_inches() * SMALL_SHEET)
    dpi = width / figure.get_size_inches()[0]
    if width > THUMBNAIL_MAX:
        figure.savefig(path, dpi=dpi, metadata={"Software": None})
        return
    from PIL import Image  # matplotlib needs it, so it is installed

    whole = io.BytesIO()
    figure.savefig(whole, dpi=dpi, format="png")
    Image.open(whole).convert("RGB").quantize(THUMBNAIL_COLOURS, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
