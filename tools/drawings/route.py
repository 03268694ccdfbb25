# SPDX-License-Identifier: BSD-2-Clause
"""A path through the rooms: one band per place of the tree, with boxes of functions in it. Every function
must exist in the file that a box names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.drawings.sources import defined
from tools.drawings.svg import EDGE, GREY, WHITE, WIDTH, Drawing

#: The width of the bands' names, in px.
NAME_ROOM = 100.0

#: A box's left edge and width, in px.
Column = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A step: a head and lines of text. `defines` has functions by the file that defines them. The head,
    without backticks, is the box's key."""

    column: Column
    head: str
    texts: tuple[str, ...] = ()
    defines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    height: float = 0  #: 0: the height of the band


@dataclass(frozen=True)
class Band:
    """A place of the tree, from left to right."""

    name: str
    note: str
    fill: str
    height: float
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Placed:
    """The place of a box."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def bands_draw(d: Drawing, top: float, bands: Sequence[Band]) -> dict[str, Placed]:
    """Draw bands one below the other. Returns the place of each box, by its head without backticks."""
    placed = {}
    for band in bands:
        d.box(10, top, WIDTH - 20, band.height, band.fill, radius=4)
        name = f"`{band.name}`" if band.name.endswith("/") else band.name
        d.text(20, top + 21, name, size=12.5, bold=True, room=NAME_ROOM)
        d.text(20, top + 37, band.note, size=11, colour=GREY, room=NAME_ROOM)
        for box in band.boxes:
            for path, names in box.defines.items():
                defined(path, *names)
            (x, width), height = box.column, box.height or band.height - 14
            d.card(x, top + 7, width, height, WHITE, box.head, box.texts, edge=EDGE, size=11.5)
            placed[box.head.replace("`", "")] = Placed(x, top + 7, width, height)
        top += band.height + 8
    return placed


def down(d: Drawing, placed: Mapping[str, Placed], heads: Sequence[str], x: float, colour: str) -> None:
    """Draw arrows from each box to the next lower one, at `x`."""
    for above, below in zip(heads, heads[1:]):
        d.line([(x, placed[above].bottom), (x, placed[below].y)], colour)


def up(d: Drawing, placed: Mapping[str, Placed], heads: Sequence[str], x: float, colour: str) -> None:
    """Draw arrows from each box to the next higher one, at `x`."""
    for below, above in zip(heads, heads[1:]):
        d.line([(x, placed[below].y), (x, placed[above].bottom)], colour)
