# SPDX-License-Identifier: BSD-2-Clause
"""Reads text of a few columns of numbers, ten million lines in seconds and with little more memory than the
numbers take; all readers of benchmarks' data use it.

The files are `#` lines and lines with a fixed count of numbers. They are read in pieces of a megabyte, so the
whole text is never in memory. numpy converts a piece at once if all its bytes can be part of numbers,
each line has the right count of words, and the count of numbers equals the count of words: then no word was
split or skipped. Any other piece is read line by line, which finds the first wrong line and says what is
wrong. The rows go into columns that grow in place.
"""

from __future__ import annotations

import bisect
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lab.common.errors import DataError
from lab.formats.reading import LINE_BYTES_MAX, not_text, text_open, whole

CHUNK_BYTES = 1 << 20
#: The most `#` lines: they are kept in memory.
COMMENTS_MAX = 100_000
#: The most rows of data that are needed as a whole: 320 MB of memory for two columns.
ROWS_MAX = 20_000_000
#: The most detours that are listed one by one; of later ones, sums are kept.
LISTED_MAX = 10_000_000
#: What is said of a trace with more detours.
UNLISTED = "only the first {:,} of {:,} detours are listed; the percentiles are theirs"
#: A full column grows by this part.
GROWTH_ONE_IN = 16
#: A decimal number with this number of digits fits in 63 bits.
DIGITS_SAFE = 18

DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Layout:
    """The layout of a data line: the count of numbers, whether they are whole, texts for messages, and the
    exception to raise."""

    columns: int
    whole: bool
    #: the parts of a message: "not a sample" and "a sample is 'ns count', two whole numbers"
    noun: str
    right: str
    error: type[DataError] = DataError
    #: the columns that are kept in memory; None for all
    keep: tuple[int, ...] | None = None
    #: whether the kept columns are float64, although the numbers are whole
    as_float: bool = False
    #: the most rows that are kept; None for all, up to ROWS_MAX
    listed_max: int | None = None


@dataclass(frozen=True)
class Comment:
    """A `#` line, without the `#`."""

    line: int
    text: str


@dataclass(frozen=True)
class Rows:
    """Consecutive data lines: int64 or float64, a row per line; `lines[i]` is the line number of row i."""

    lines: np.ndarray
    values: np.ndarray


def _byte_table(characters: bytes) -> np.ndarray:
    table = np.zeros(256, dtype=bool)
    table[list(characters)] = True
    return table


_BLANK = _byte_table(b" \t\r\n")
_ALLOWED = {True: _byte_table(b"0123456789 \t\r\n"), False: _byte_table(b"0123456789.eE+- \t\r\n")}


def _quoted(line: str) -> str:
    return repr(line[:60])


def _numbers(line: str, layout: Layout) -> list[int] | list[float] | None:
    """Returns one line's numbers, or None if they are not the layout's, negative, or not below 2^63."""
    words = line.split()
    if len(words) != layout.columns:
        return None
    if layout.whole:
        values = [whole(word) for word in words]
        return None if None in values else values  # type: ignore[return-value]
    decimals = [float(word) if DECIMAL.fullmatch(word) else -1.0 for word in words]
    return decimals if all(0 <= value < 2.0**63 for value in decimals) else None


def _slowly(name: str, data: bytes, first_line: int, layout: Layout) -> Rows:
    """Reads line by line; raises the layout's error at the first wrong line."""
    lines: list[int] = []
    rows: list[list[int] | list[float]] = []
    for number, raw in enumerate(data.split(b"\n"), start=first_line):
        if wrong := not_text(raw):
            raise layout.error(f"{name}:{number}: not text: {wrong}; {layout.right}")
        line = raw.decode("ascii").strip()
        if not line:
            continue
        values = _numbers(line, layout)
        if values is None:
            raise layout.error(f"{name}:{number}: not {layout.noun}: {_quoted(line)}; {layout.right}")
        lines.append(number)
        rows.append(values)
    dtype = np.int64 if layout.whole else np.float64
    return Rows(
        np.array(lines, dtype=np.int64), np.array(rows, dtype=dtype).reshape(len(rows), layout.columns)
    )


def _quickly(data: bytes, first_line: int, layout: Layout) -> Rows | None:
    """Reads all lines at once; None if one of them may be wrong."""
    octets = np.frombuffer(data, dtype=np.uint8)
    if not _ALLOWED[layout.whole][octets].all():
        return None
    blank = _BLANK[octets]
    begins = ~blank
    begins[1:] &= blank[:-1]
    starts = np.flatnonzero(begins)
    newlines = np.flatnonzero(octets == 10)
    if not data.endswith(b"\n"):
        newlines = np.append(newlines, len(data))
    words = np.diff(np.searchsorted(starts, newlines), prepend=0)
    full = words > 0
    if not (words[full] == layout.columns).all():
        return None
    if layout.whole:
        ends = np.flatnonzero(blank[1:] & ~blank[:-1]) + 1
        if not blank[-1]:
            ends = np.append(ends, len(data))
        if len(starts) and int((ends - starts).max()) > DIGITS_SAFE:
            return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns if it cannot read on
            values = np.fromstring(data, dtype=np.int64 if layout.whole else np.float64, sep=" ")
    except (DeprecationWarning, ValueError):
        return None
    if len(values) != len(starts):
        return None
    if not layout.whole and not ((values >= 0) & (values < 2.0**63)).all():
        return None
    return Rows(np.flatnonzero(full) + first_line, values.reshape(-1, layout.columns))


def _rows(name: str, data: bytes, first_line: int, layout: Layout) -> Iterator[Rows]:
    if data.strip():
        rows = _quickly(data, first_line, layout)
        if rows is None:
            rows = _slowly(name, data, first_line, layout)
        yield rows


def _piece(name: str, data: bytes, line: int, layout: Layout) -> Iterator[Comment | Rows]:
    """Yields the parts of some whole lines: comments, and the data between them."""
    begun = 0
    at = data.find(b"#")
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end + 1
        if data[start:at].strip() == b"":
            if start > begun:
                yield from _rows(name, data[begun:start], line, layout)
                line += data.count(b"\n", begun, start)
            raw = data[at + 1 : end]
            if wrong := not_text(data[start:end]):
                raise layout.error(f"{name}:{line}: not text: {wrong}; {layout.right}")
            yield Comment(line, raw.decode("ascii").strip())
            line += 1
            begun = end
        at = data.find(b"#", end)
    if begun < len(data):
        yield from _rows(name, data[begun:], line, layout)


def scan_stream(
    file: BinaryIO, name: str, layout: Layout, lines_end: bool = False
) -> Iterator[Comment | Rows]:
    """Yields comments and rows of a stream in their order; `name` is used in messages. Raises `layout.error`,
    with `lines_end` also if the last line has no newline."""
    line, kept, rows, comments = 1, b"", 0, 0
    while chunk := file.read(CHUNK_BYTES):
        data = kept + chunk
        cut = data.rfind(b"\n") + 1
        kept = data[cut:]
        if len(kept) > LINE_BYTES_MAX:
            number = line + data.count(b"\n", 0, cut)
            raise layout.error(f"{name}:{number}: a line of more than {LINE_BYTES_MAX} bytes; {layout.right}")
        for part in _piece(name, data[:cut], line, layout):
            rows += len(part.lines) if isinstance(part, Rows) else 0
            comments += isinstance(part, Comment)
            if comments > COMMENTS_MAX:
                raise layout.error(f"{name}:{part.line}: more than {COMMENTS_MAX} comments; {layout.right}")
            if rows > ROWS_MAX and layout.listed_max is None:
                raise layout.error(
                    f"{name}: more than {ROWS_MAX} lines of data, which are needed as a whole; split the file"
                )
            yield part
        line += data.count(b"\n", 0, cut)
    if kept:
        if lines_end:
            raise layout.error(
                f"{name}:{line}: no newline at the end, so the file may be cut off; if the line is complete, "
                "add a newline"
            )
        yield from _piece(name, kept, line, layout)


def scan_text(text: str, name: str, layout: Layout) -> Iterator[Comment | Rows]:
    """Yields comments and rows of a string, like `scan_stream`."""
    return scan_stream(io.BytesIO(text.encode("utf-8", errors="replace")), name, layout)


def scan_file(path: Path | str, layout: Layout) -> Iterator[Comment | Rows]:
    """Yields comments and rows of a file, like `scan_stream`. A last line without newline is an error. Raises
    OSError if the file cannot be read."""
    with text_open(path) as file:
        yield from scan_stream(file, str(path), layout, lines_end=True)


class Lines:
    """The line numbers of rows: ranges where lines follow each other, since a number for each row would take
    as much memory as a column."""

    def __init__(self) -> None:
        self._parts: list[range | np.ndarray] = []
        self._begins: list[int] = []
        self._count = 0

    def add(self, lines: np.ndarray) -> None:
        first, last = int(lines[0]), int(lines[-1])
        part: range | np.ndarray = lines
        if last - first + 1 == len(lines):
            part = range(first, last + 1)
            previous = self._parts[-1] if self._parts else None
            if isinstance(previous, range) and previous.stop == first:
                self._parts[-1] = range(previous.start, part.stop)
                self._count += len(part)
                return
        self._parts.append(part)
        self._begins.append(self._count)
        self._count += len(part)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> int:
        place = bisect.bisect_right(self._begins, row) - 1
        return int(self._parts[place][row - self._begins[place]])


@dataclass
class Unlisted:
    """What is known of the detours that a table has no room for; times in ns."""

    detours: int = 0
    total_ns: float = 0.0
    longest_ns: float = 0.0
    last_start_ns: float = 0.0
    end_ns: float = 0.0


class Table:
    """The data lines of one CPU, column by column: the columns that the layout keeps, in this order. A layout
    with `listed_max` is one of starts and durations; of detours beyond this number, it keeps sums."""

    def __init__(self, layout: Layout, name: str = "") -> None:
        self.lines = Lines()
        self.unlisted = Unlisted()
        self._layout, self._name = layout, name
        self._keep = range(layout.columns) if layout.keep is None else layout.keep
        dtype = np.int64 if layout.whole and not layout.as_float else np.float64
        self._columns = [np.empty(0, dtype=dtype) for _ in self._keep]

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, place: int) -> np.ndarray:
        """Returns a kept column; no line may be added later."""
        if len(self._columns[place]) != len(self.lines):
            self._columns[place].resize(len(self.lines), refcheck=False)
        return self._columns[place]

    def add(self, rows: Rows) -> None:
        limit = self._layout.listed_max
        room = len(rows.lines) if limit is None else max(limit - len(self), 0)
        self._list(rows.values[:room], rows.lines[:room])
        if room < len(rows.lines):
            self._sum_up(rows.values[room:], rows.lines[room:])

    def _list(self, values: np.ndarray, lines: np.ndarray) -> None:
        begun, end = len(self), len(self) + len(lines)
        for column, place in zip(self._columns, self._keep):
            if end > len(column):
                # In place: realloc moves the pages of a large array, where a new one would be a second copy.
                column.resize(end + end // GROWTH_ONE_IN, refcheck=False)
            column[begun:end] = values[:, place]
        if len(lines):
            self.lines.add(lines)

    def _sum_up(self, values: np.ndarray, lines: np.ndarray) -> None:
        """Adds detours that are not listed. Checks their order, as `check_rising` does for the others."""
        starts, durations, rest = values[:, 0], values[:, 1], self.unlisted
        last = rest.last_start_ns
        if not rest.detours:
            last = self.column(0)[-1] if len(self) else starts[0]
        before = np.concatenate([[last], starts[:-1]])
        if (starts < before).any():
            i = int((starts < before).argmax())
            raise self._layout.error(backwards(f"{self._name}:{lines[i]}", starts[i], before[i]))
        rest.detours += len(starts)
        rest.total_ns += float(durations.sum())
        rest.longest_ns = max(rest.longest_ns, float(durations.max()))
        rest.last_start_ns = float(starts[-1])
        rest.end_ns = float(starts[-1] + durations[-1])


@dataclass(frozen=True)
class Block:
    """The comments and the data of one CPU."""

    header: tuple[str, ...]
    rows: Table


def blocks(
    parts: Iterable[Comment | Rows], layout: Layout, ends: Callable[[str], bool] | None = None, name: str = ""
) -> Iterator[Block]:
    """Cuts a file with the data of several CPUs into blocks: before each comment that follows data, or after
    each comment for which `ends` is true. `name` is used in messages."""
    header: list[str] = []
    table = Table(layout, name)
    for part in parts:
        if isinstance(part, Rows):
            table.add(part)
            continue
        if len(table) and ends is None:
            yield Block(tuple(header), table)
            header, table = [], Table(layout, name)
        header.append(part.text)
        if ends is not None and ends(part.text):
            yield Block(tuple(header), table)
            header, table = [], Table(layout, name)
    if len(table) or header:
        yield Block(tuple(header), table)


def backwards(where: str, start: float, before: float) -> str:
    return f"{where}: time runs backwards: {start:.0f} ns after {before:.0f} ns; starts must not fall"


def check_rising(name: str, rows: Table, column: int, layout: Layout) -> None:
    """Raises the layout's error if time falls. It may stand still, because clocks are coarse."""
    values = rows.column(column)
    wrong = values[1:] < values[:-1]
    if wrong.any():
        i = int(wrong.argmax()) + 1
        raise layout.error(backwards(f"{name}:{rows.lines[i]}", values[i], values[i - 1]))


def check_sum(name: str, rows: Table, column: int, layout: Layout) -> None:
    """Raises the layout's error if a sum of the column could overflow."""
    values = rows.column(column)
    if values.sum(dtype=np.float64) >= 2.0**62:
        i = int(values.argmax())
        raise layout.error(
            f"{name}:{rows.lines[i]}: {values[i]} is more than a benchmark can count; {layout.right}"
        )
