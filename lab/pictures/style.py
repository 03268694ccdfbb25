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
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lab.common.errors import DataError
from lab.common.files import written_whole
from lab.common.text import time_text
from lab.pictures.systems import LOOKS, NAMES, OTHERS, STYLES, Style, System, key_of, looks_of, style_of

__all__ = [
    "GREY",
    "LOOKS",
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
    "line_of",
    "log_axis",
    "log_time_axis",
    "looks_of",
    "name_axes",
    "nothing",
    "plt",
    "power_text",
    "save",
    "style_of",
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
matplotlib.rcParams["text.parse_math"] = False  # a name with $ is a name


def bare(axes: Axes) -> None:
    """Removes the frame above and on the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def grid(axes: Axes, axis: str = "both") -> None:
    axes.grid(axis=axis, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def figure_new(
    rows: int, columns: int, size: tuple[float, float], width: int = THUMBNAIL_MAX + 1, **keywords: Any
) -> tuple[Figure, np.ndarray]:
    """Returns a figure of `size` inches with its axes, always as a two-dimensional array. Up to a `width` of
    SMALL_MAX pixels the sheet is smaller, so that letters are larger."""
    scale = SMALL_SHEET if width <= SMALL_MAX else 1.0
    figure, all_axes = plt.subplots(
        rows, columns, figsize=(size[0] * scale, size[1] * scale), squeeze=False, layout="constrained",
        **keywords,
    )  # fmt: skip
    return figure, all_axes


def line_of(style: Style, name: str, **keywords: Any) -> Line2D:
    """Returns a line for the legend; `keywords` are Line2D's."""
    return Line2D(
        [], [], **{"color": style.colour, "linestyle": style.line, "linewidth": 2.0} | keywords, label=name
    )


def power_text(exponent: int) -> str:
    """Returns a power of ten, such as 10⁻³."""
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def log_axis(axis: Any, least: float = 1e-3) -> None:
    """Labels the decades of a logarithmic axis: numbers from `least` to ten thousand, other powers of ten as
    such. An axis of few decades has labels between them, too."""
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=subdivisions(low, high), numticks=14))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: decade_text(value, least)))
    axis.set_minor_formatter(NullFormatter())


def decade_text(value: float, least: float = 1e-3) -> str:
    if value <= 0:
        return "0"
    exponent = np.log10(value)
    plain = 0.999 * least <= value <= 1.001e4 or abs(exponent - round(exponent)) > 1e-6
    return f"{value:,.6g}" if plain else power_text(round(exponent))


def subdivisions(low: float, high: float) -> tuple[float, ...]:
    """Returns the multiples of a decade that have labels, by the number of decades."""
    decades = np.log10(high / low)
    if decades < 1:
        return (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
    return (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)


def log_time_axis(axis: Any, low: float, high: float) -> None:
    """Sets a logarithmic axis of ns from `low` to `high`, labelled with units at each decade, and between
    them if there are few decades."""
    axis.set_major_locator(LogLocator(subs=subdivisions(low, high), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: time_text(value) if value > 0 else "0"))
    axis.set_minor_formatter(NullFormatter())


def name_axes(axes: Axes, name: str, remark: str, key: str, index: int) -> None:
    """Writes a panel's title: the system in its colour, and a remark on the right."""
    colour = style_of(key, index).colour
    axes.set_title(name, loc="left", fontsize=12, fontweight="bold", color=colour)
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
    dpi = width / figure.get_size_inches()[0]
    if width > THUMBNAIL_MAX:
        figure.savefig(path, dpi=dpi, metadata={"Software": None})
        return
    from PIL import Image  # matplotlib needs it, so it is installed

    whole = io.BytesIO()
    figure.savefig(whole, dpi=dpi, format="png")
    # A line's colour is rare, and must stay what the legend says.
    method = Image.Quantize.MAXCOVERAGE
    few = Image.open(whole).convert("RGB").quantize(THUMBNAIL_COLOURS, method, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
