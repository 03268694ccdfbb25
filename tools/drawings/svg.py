# SPDX-License-Identifier: BSD-2-Clause
"""A drawing as SVG: boxes, arrows and texts at given places, in one style, always the same bytes.

A drawing has the width of a page on GitHub, so that nothing is scaled, and its own light background, so that
it looks the same on a light and a dark page. Text stays text: it can be searched and read aloud. Words in
backticks are names from the sources, set in a fixed-width font.

Text is measured in DejaVu, which comes with matplotlib and is wider than most fonts: a text that is too long
for its place in DejaVu is an error; a text that fits also fits in other fonts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

import matplotlib
from PIL import ImageFont

WIDTH = 830

PAPER, EDGE, INK, GREY = "#fcfbf8", "#d9d6cc", "#1d2733", "#5c6570"
NAVY, ORANGE, TEAL = "#14375e", "#b9501f", "#2f7565"
#: Background colours of boxes.
BLUE, SAND, GREEN, STONE, WHITE = "#dfe9f5", "#f8e7d8", "#dfeee8", "#eceae3", "#ffffff"
LILAC = "#ebe3f3"
ROSE = "#f8e3e6"
STRAW = "#f6f0cb"
AQUA = "#d8eef0"

SANS = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"

Point = tuple[float, float]


class DrawingError(Exception):
    """A drawing would be wrong or unreadable; the text says in one line what and where."""


@cache
def _font(name: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / name), 100)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text, with names in backticks, in the widest font."""
    width = 0.0
    for place, run in enumerate(text.split("`")):
        name = ("DejaVuSansMono" if place % 2 else "DejaVuSans") + ("-Bold" if bold else "") + ".ttf"
        width += _font(name).getlength(run) * (0.94 if place % 2 else 1)
    return width * size / 100


def number(value: float) -> str:
    """A coordinate as text, with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Collects elements; `svg()` is the file's text. Places are pixels from the upper left corner."""

    def __init__(self, height: float, title: str, description: str) -> None:
        self.height, self.title, self.description = height, title, description
        self.elements: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *,
        edge: str = "none",
        radius: float = 5,
        dashes: str = "",
    ) -> None:
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.elements.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'rx="{number(radius)}" fill="{fill}" stroke="{edge}"{dashed}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 13,
        colour: str = INK,
        anchor: str = "start",
        bold: bool = False,
        italic: bool = False,
        room: float | None = None,
    ) -> None:
        """Draw one line of text on the base line `y`. `room`: its largest width; default: up to the right
        edge."""
        width = text_width(text, size, bold)
        if room is None:
            room = {"start": WIDTH - 8 - x, "end": x - 8, "middle": 2 * min(x, WIDTH - x) - 16}[anchor]
        if width > room:
            raise DrawingError(f"{self.title}: {text!r} needs {width:.0f} px, its place has {room:.0f}")
        runs = [
            f'<tspan class="m">{escape(run)}</tspan>' if place % 2 else escape(run)
            for place, run in enumerate(text.split("`"))
            if run
        ]
        style = ' font-weight="bold"' * bold + ' font-style="italic"' * italic
        placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.elements.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{colour}"{placed}{style}'
            f' xml:space="preserve">{"".join(runs)}</text>'
        )

    def lines(
        self,
        x: float,
        y: float,
        texts: Sequence[str],
        *,
        step: float = 16,
        size: float = 12,
        colour: str = GREY,
        anchor: str = "start",
        room: float | None = None,
    ) -> None:
        for place, text in enumerate(texts):
            self.text(x, y + place * step, text, size=size, colour=colour, anchor=anchor, room=room)

    def card(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        head: str,
        texts: Sequence[str] = (),
        *,
        edge: str = "none",
        size: float = 12,
    ) -> None:
        """Draw a box with a bold head and lines below it. DrawingError if they do not fit."""
        self.box(x, y, width, height, fill, edge=edge)
        room = width - 16
        needed = 21 + 16 * len(texts)
        if needed > height:
            raise DrawingError(f"{self.title}: the box of {head!r} needs {needed} px, it has {height:.0f}")
        top = y + (height - needed) / 2 + 15
        self.text(x + 8, top, head, size=13, bold=True, room=room)
        self.lines(x + 8, top + 17, texts, size=size, room=room)

    def line(
        self,
        points: Sequence[Point],
        colour: str = INK,
        *,
        width: float = 1.5,
        arrow: bool = True,
        both: bool = False,
        dashes: str = "",
    ) -> None:
        """Draw a line through points, with an arrowhead at its end or at both ends."""
        path = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)
        marks = f' marker-end="url(#{self._head(colour)})"' * arrow
        marks += f' marker-start="url(#{self._head(colour)})"' * both
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.elements.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{number(width)}"{dashed}{marks}/>'
        )

    def path(
        self, commands: str, colour: str, width: float, *, round_ends: bool = False, pale: bool = False
    ) -> None:
        """Draw a stroke, given by SVG path commands."""
        cap = ' stroke-linecap="round"' * round_ends + ' stroke-opacity="0.45"' * pale
        self.elements.append(
            f'<path d="{commands}" fill="none" stroke="{colour}" stroke-width="{number(width)}"{cap}/>'
        )

    @staticmethod
    def _head(colour: str) -> str:
        return "head-" + colour.removeprefix("#")

    def svg(self) -> str:
        colours = sorted({part[:6] for e in self.elements for part in e.split("url(#head-")[1:]})
        heads = "".join(
            f'<marker id="head-{colour}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6.5" '
            f'markerHeight="6.5" orient="auto-start-reverse"><path d="M0 0.8 L10 5 L0 9.2 Z" '
            f'fill="#{colour}"/></marker>'
            for colour in colours
        )
        size = f"{WIDTH} {number(self.height)}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{WIDTH}" '
                f'height="{number(self.height)}" role="img" font-family="{SANS}">',
                "<!-- SPDX-License-Identifier: BSD-2-Clause. Made by tools/drawings: make pictures -->",
                f"<title>{escape(self.title)}</title>",
                f"<desc>{escape(self.description)}</desc>",
                f"<style>.m {{ font-family: {MONO}; font-size: 0.94em; }}</style>",
                f"<defs>{heads}</defs>",
                f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{number(self.height - 1)}" rx="8" '
                f'fill="{PAPER}" stroke="{EDGE}"/>',
                *self.elements,
                "</svg>\n",
            ]
        )
