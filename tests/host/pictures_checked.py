# SPDX-License-Identifier: BSD-2-Clause
"""Looks at pictures as they are saved: what a reader would complain of is found in the drawn figure itself,
by the boxes of its letters, legends and data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from lab.pictures import frame

#: Boxes of letters that touch, pixels.
TOUCH = 1.0


@contextmanager
def figures_seen() -> Iterator[list[Figure]]:
    """Yields a list of the figures that are saved in the block; each is checked."""
    seen: list[Figure] = []
    real = frame.save

    def looked_at(figure: Figure, path: object, width: int) -> None:
        real(figure, path, width)  # type: ignore[arg-type]
        seen.append(figure)
        found = complaints(figure)
        assert not found, f"{path}:\n" + "\n".join(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame, "save", looked_at)
        yield seen
    assert seen, "no picture was saved"


def complaints(figure: Figure) -> list[str]:
    """What is wrong with a figure: letters off the sheet, letters on letters, legends on data."""
    figure.draw_without_rendering()
    texts = [(text.get_text(), box) for text in texts_of(figure) if (box := box_of(text))]
    sheet = figure.bbox.padded(TOUCH)
    found = [
        f"{words!r} leaves the sheet"
        for words, box in texts
        if not (sheet.contains(box.x0, box.y0) and sheet.contains(box.x1, box.y1))
    ]
    found += [f"{words!r} is markup" for words, _ in texts if "\\math" in words]
    found += [
        f"{one!r} lies on {other!r}"
        for (one, a), (other, b) in itertools.combinations(texts, 2)
        if overlap(a, b)
    ]
    for legend in legends_of(figure):
        box = legend.get_window_extent(figure.canvas.get_renderer())
        names = [text.get_text() for text in legend.get_texts()]
        found += [f"the legend {names} lies on a panel" for axes in shown(figure) if overlap(box, axes.bbox)]
    return found


def overlap(one: Bbox, other: Bbox) -> bool:
    return (
        min(one.x1, other.x1) - max(one.x0, other.x0) > TOUCH
        and min(one.y1, other.y1) - max(one.y0, other.y0) > TOUCH
    )


def box_of(text: Text) -> Bbox | None:
    """Where the letters of a text are, in pixels; None if none are seen."""
    words = text.get_text()
    if not text.get_visible() or not words.strip():
        return None
    box = Text.get_window_extent(text)  # of an annotation without its line
    if words.endswith("\n"):  # a blank line below
        return Bbox([[box.x0, box.y0 + box.height / 2], [box.x1, box.y1]])
    return box


def shown(figure: Figure) -> list[Axes]:
    return frame.panels_of(figure)


def legends_of(figure: Figure) -> list[Legend]:
    return [*figure.legends, *(legend for axes in shown(figure) if (legend := axes.get_legend()))]


def texts_of(figure: Figure) -> Iterator[Text]:
    """All texts of a figure."""
    yield from figure.texts
    for legend in legends_of(figure):
        yield from legend.get_texts()
    for axes in shown(figure):
        yield from (axes.title, axes._left_title, axes._right_title)
        yield from (axis.label for axis in (axes.xaxis, axes.yaxis) if axis.get_visible())
        yield from axes.texts
        for labels in frame.tick_labels(axes):
            yield from labels


def words_of(figure: Figure) -> list[str]:
    """All that can be read in a figure."""
    return [text.get_text().strip() for text in texts_of(figure) if box_of(text)]
