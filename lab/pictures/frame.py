# SPDX-License-Identifier: BSD-2-Clause
"""Puts a picture's title and legend above its panels and its notes below them, and keeps letters apart. All
pictures end here, so that in none of them a legend covers data, a line leaves the sheet, or one label lies on
another.

Title, legend and notes get the height that they need, as measured: the sheet grows by it, and panels keep
theirs. Then what still collides is mended: a long name gets smaller letters, a panel's name moves above its
remark, every second tick label goes, and of labels in the data the less important ones.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

from lab.pictures.style import GREY, save

#: Sizes of letters, points.
TITLE_SIZE, LEGEND_SIZE, LABEL_SIZE, NOTE_SIZE = 14.0, 10.0, 11.0, 8.5
#: From a panel to its own legend, inches: tick labels and the axis' label are between.
LEGEND_PAD = 0.56
#: Distances, inches: to the sheet's edges, and between title, legend, panels and notes.
MARGIN, GAP = 0.1, 0.1
#: A panel's share of the width that a column has, about.
PANEL_SHARE = 0.85
#: Least distance between tick labels, in widths of a letter.
TICKS_APART = 0.5
#: So often labels are thinned before a picture is taken as it is.
ROUNDS = 6


def finish(
    figure: Figure,
    path: Path | str,
    width: int,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    legend: Sequence[Any] = (),
    y_label: str = "",
    right_label: str = "",
    in_data: Sequence[Text] = (),
) -> None:
    """Completes the picture and saves it (`lab.pictures.style.save` has the errors).

    legend       handles of all panels, with their labels
    y_label      of all panels, on the left; `right_label` on the right
    in_data      texts within panels, the most important one first: what lies on an earlier one is left out
    """
    frame = _Frame(figure)
    frame.above(title, legend)
    frame.below([note for note in notes if note])
    frame.panels(y_label, right_label)
    figure.draw_without_rendering()
    for _ in range(ROUNDS):
        figure.draw_without_rendering()  # the layout needs two passes
        mended = [mend(figure) for mend in (_names_fit, _labels_fit, _names_above_remarks, _ticks_apart)]
        if not any(mended):
            break
    texts_apart(figure, in_data)
    figure.set_layout_engine("none")  # what was measured stays
    save(figure, path, width)


class _Frame:
    """The parts around the panels, and the height that each takes, inches. `panels` grows the sheet by it."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.width = figure.get_size_inches()[0]
        self.top = self.bottom = MARGIN
        self.placed: list[tuple[Any, float]] = []  # what is above, each with its distance from the upper edge

    def above(self, title: str, legend: Sequence[Any]) -> None:
        if title:
            text = self._text(title, TITLE_SIZE, "black", "top")
            self.placed.append((text, self.top))
            self.top += self._height(text) + GAP
        if legend:
            drawn = self._legend(legend)
            self.placed.append((drawn, self.top))
            self.top += drawn.get_window_extent(self._renderer()).height / self.figure.dpi + GAP

    def below(self, notes: Sequence[str]) -> None:
        if notes:
            text = self._text("\n".join(notes), NOTE_SIZE, GREY, "bottom")
            self.bottom += self._height(text) + GAP
            self.notes = text

    def panels(self, y_label: str, right_label: str) -> None:
        """Places everything; the panels get the height that the sheet had."""
        legends = _rows_of_legends(self.figure)
        height = self.figure.get_size_inches()[1] + legends + self.top + self.bottom
        self.figure.set_size_inches(self.width, height)
        for part, distance in self.placed:
            self._place(part, 1 - distance / height)
        if self.bottom > MARGIN:
            self._place(self.notes, MARGIN / height)
        middle = (self.bottom + height - self.top) / 2 / height
        right = 0.0
        if y_label:
            self.figure.supylabel(y_label, fontsize=LABEL_SIZE, y=middle)
        if right_label:
            text = self.figure.text(
                1 - MARGIN / self.width, middle, right_label, rotation=-90, ha="right", va="center",
                fontsize=LABEL_SIZE, color=GREY,
            )  # fmt: skip
            right = text.get_window_extent(self._renderer()).width / self.figure.dpi + MARGIN
        share = (height - self.top - self.bottom) / height
        self.figure.get_layout_engine().set(rect=(0, self.bottom / height, 1 - right / self.width, share))

    def _place(self, part: Any, y: float) -> None:
        if isinstance(part, Text):
            part.set_position((MARGIN / self.width, y))
        else:
            part.set_bbox_to_anchor((MARGIN / self.width, y), self.figure.transFigure)

    def _text(self, words: str, size: float, colour: str, edge: str) -> Text:
        text = self.figure.text(0, 0, "", fontsize=size, color=colour, ha="left", va=edge)
        text.set_text(self._wrapped(text, words))
        return text

    def _wrapped(self, text: Text, words: str) -> str:
        """Returns the words in lines that are not wider than the sheet."""
        room = (self.width - 2 * MARGIN) * self.figure.dpi

        def fits(line: str) -> bool:
            text.set_text(line)
            return self._extent(text).width <= room

        lines = []
        for paragraph in words.splitlines():
            line = ""
            for word in self._broken(paragraph.split(), fits):
                longer = f"{line} {word}".strip()
                if line and not fits(longer):
                    lines.append(line)
                    longer = word
                line = longer
            lines.append(line)
        return "\n".join(lines)

    def _broken(self, words: Sequence[str], fits: Callable[[str], bool]) -> Iterator[str]:
        """Yields the words, in pieces what alone is wider than the sheet, such as a path."""
        for word in words:
            while not fits(word):
                piece = len(word) // 2
                while not fits(word[:piece]):
                    piece //= 2
                yield word[:piece]
                word = word[piece:]
            yield word

    def _legend(self, handles: Sequence[Any]) -> Legend:
        """Returns a legend of as few rows as fit, read row by row."""
        room = (self.width - 2 * MARGIN) * self.figure.dpi
        columns = len(handles)
        while True:
            by_column = [handle for column in range(columns) for handle in handles[column::columns]]
            legend = self.figure.legend(
                handles=by_column, loc="upper left", ncols=columns, frameon=False, fontsize=LEGEND_SIZE,
                borderaxespad=0, borderpad=0, handlelength=3, columnspacing=1.8,
            )  # fmt: skip
            if columns == 1 or legend.get_window_extent(self._renderer()).width <= room:
                _legend_wrapped(legend, room, self._renderer())
                return legend
            legend.remove()
            rows = -(-len(handles) // columns)
            columns = min(columns - 1, -(-len(handles) // (rows + 1)))

    def _renderer(self) -> Any:
        return self.figure.canvas.get_renderer()

    def _extent(self, text: Text) -> Bbox:
        return text.get_window_extent(self._renderer())

    def _height(self, text: Text) -> float:
        return self._extent(text).height / self.figure.dpi


def _legend_wrapped(legend: Legend, room: float, renderer: Any) -> None:
    """Breaks the names of a legend of one column that is wider than `room` pixels."""
    width = legend.get_window_extent(renderer).width
    letters = max(text.get_window_extent(renderer).width for text in legend.get_texts())
    if width > room:
        for text in legend.get_texts():
            share = (room - width + letters) / text.get_window_extent(renderer).width
            text.set_text(textwrap.fill(text.get_text(), max(8, int(0.95 * share * len(text.get_text())))))


def _rows_of_legends(figure: Figure) -> float:
    """Returns the height that panels' own legends take, inches: of each row of panels the highest one. A
    legend that is wider than its panel gets one column."""
    renderer, heights = figure.canvas.get_renderer(), {}
    for axes in panels_of(figure):
        if legend := axes.get_legend():
            place = axes.get_subplotspec()
            room = PANEL_SHARE * figure.bbox.width / place.get_gridspec().ncols
            if legend.get_window_extent(renderer).width > room:
                handles = getattr(legend, "legend_handles", None) or legend.legendHandles  # by version
                legend_below(axes, handles, 1)
                _legend_wrapped(axes.get_legend(), room, renderer)
            height = axes.get_legend().get_window_extent(renderer).height / figure.dpi
            heights[place.rowspan.start] = max(heights.get(place.rowspan.start, 0.0), height)
    return sum(heights.values())


def legend_below(axes: Axes, handles: Sequence[Any], columns: int = 2) -> None:
    """Gives a panel a legend of its own, below its x axis: for panels that show different things."""
    axes.legend(
        handles=list(handles), loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=0,
        bbox_transform=axes.transAxes + ScaledTranslation(0, -LEGEND_PAD, axes.figure.dpi_scale_trans),
        ncols=columns, frameon=False, fontsize=LEGEND_SIZE - 1, handlelength=3, borderpad=0,
    )  # fmt: skip


def panels_of(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def _names_fit(figure: Figure) -> int:
    """Gives names that are longer than their panel smaller letters, and cuts what then still is. Returns how
    many."""
    renderer, changed = figure.canvas.get_renderer(), 0
    for axes in panels_of(figure):
        for text in (axes._left_title, axes._right_title):
            long = text.get_window_extent(renderer).width / axes.bbox.width
            if text.get_text() and long > 1:
                size = text.get_fontsize()
                text.set_fontsize(max(NOTE_SIZE, 0.97 * size / long))
                if size <= NOTE_SIZE:
                    text.set_text(text.get_text()[: int(0.97 * len(text.get_text()) / long) - 1] + "…")
                changed += 1
    return changed


def _labels_fit(figure: Figure) -> int:
    """Breaks the label of a y axis in two lines if it is longer than the axis, or than the panels. Returns
    how many."""
    renderer, changed = figure.canvas.get_renderer(), 0
    panels = panels_of(figure)
    whole = max(axes.bbox.y1 for axes in panels) - min(axes.bbox.y0 for axes in panels)
    labels = [(axes.yaxis.label, axes.bbox.height) for axes in panels]
    labels += [(figure._supylabel, whole)] if figure._supylabel else []
    for label, room in labels:
        words = label.get_text()
        if " " in words and "\n" not in words and label.get_window_extent(renderer).height > room:
            blanks = [i for i, letter in enumerate(words) if letter == " "]
            middle = min(blanks, key=lambda i: abs(i - len(words) / 2))
            label.set_text(f"{words[:middle]}\n{words[middle + 1 :]}")
            changed += 1
    return changed


def _names_above_remarks(figure: Figure) -> int:
    """Moves the name of a panel to a line above its remark if both do not fit in one. Returns how many."""
    renderer, moved = figure.canvas.get_renderer(), 0
    for axes in panels_of(figure):
        name, remark = axes._left_title, axes._right_title  # no public way to the three titles' artists
        both = name.get_text() and remark.get_text() and not name.get_text().endswith("\n")
        if both and name.get_window_extent(renderer).x1 + 6 > remark.get_window_extent(renderer).x0:
            name.set_text(name.get_text() + "\n")
            moved += 1
    return moved


def tick_labels(axes: Axes) -> Iterator[list[Text]]:
    """Yields for each axis the labels that are seen, from one end to the other."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * (high - low)
        inside = [tick for tick in axis.get_major_ticks() if low - slack <= tick.get_loc() <= high + slack]
        labels = [
            label
            for tick in sorted(inside, key=lambda tick: tick.get_loc())
            for label in (tick.label1, tick.label2)
            if label.get_visible() and label.get_text()
        ]
        if axis.get_visible() and axes.axison:
            yield labels


def _ticks_apart(figure: Figure) -> int:
    """Hides every second label of an axis on which two are too near. Returns on how many."""
    renderer, thinned = figure.canvas.get_renderer(), 0
    for axes in panels_of(figure):
        for labels in tick_labels(axes):
            boxes = [label.get_window_extent(renderer) for label in labels]
            if any(_near(a, b) for a, b in zip(boxes, boxes[1:])):
                for label in labels[1::2]:
                    label.set_visible(False)
                thinned += 1
    return thinned


def _near(one: Bbox, other: Bbox) -> bool:
    """Whether two labels overlap, or would with a little more width."""
    apart = TICKS_APART * min(one.height, other.height)
    return one.x0 < other.x1 + apart and other.x0 < one.x1 + apart and one.y0 < other.y1 and other.y0 < one.y1


def texts_apart(figure: Figure, texts: Sequence[Text]) -> None:
    """Hides each text that lies on an earlier one, or leaves the sheet."""
    renderer = figure.canvas.get_renderer()
    kept: list[Bbox] = []
    for text in texts:
        box = text.get_window_extent(renderer)
        inside = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        if inside and not any(box.overlaps(other) for other in kept):
            kept.append(box)
        else:
            text.set_visible(False)


def spread(places: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Returns places near the given rising ones, `apart` or more from each other, between `low` and `high`;
    evenly distributed if there is too little room. Each run of labels that touch stands around the mean of
    its wanted places."""
    count = len(places)
    if count * apart >= high - low:
        step = (high - low) / max(count, 1)
        return [low + (i + 0.5) * step for i in range(count)]
    runs: list[tuple[float, int]] = []  # the centre and the number of labels of each run
    for place in places:
        runs.append((place, 1))
        while True:
            centre, size = runs[-1]
            half = size * apart / 2
            centre = min(max(centre, low + half), high - half)
            runs[-1] = (centre, size)
            if len(runs) < 2 or runs[-2][0] + runs[-2][1] * apart / 2 <= centre - half:
                break
            before, count_before = runs[-2]
            runs[-2:] = [
                ((before * count_before + centre * size) / (count_before + size), count_before + size)
            ]
    return [centre + (i - (size - 1) / 2) * apart for centre, size in runs for i in range(size)]
