# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the readers: a text's encoding and lines, numbers, `#` lines, quantiles, the floor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lab.common.errors import DataError

#: A longer line cannot be a line of numbers, bytes.
LINE_BYTES_MAX = 1 << 16
#: The one byte order mark that may stand before ASCII: a Windows editor's UTF-8.
UTF8_MARK = b"\xef\xbb\xbf"
#: The marks of encodings whose text is not ASCII. UTF-32's comes first, because it begins as UTF-16's does.
_WIDE_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
#: What moves a terminal's cursor and sets its colours: tools that draw a screen write it into files, too.
_TERMINAL = re.compile(rb"\x1b(?:\[[0-9;?]{0,16}[A-Za-z]|[c78=>])")


# ---- Text ----


def wide_encoding(head: bytes) -> tuple[str, str] | None:
    """Returns the name of a text's encoding for iconv and what shows it, if a character takes several bytes;
    None for other files. `head` is the file's beginning."""
    for mark, name in _WIDE_MARKS.items():
        if head.startswith(mark):
            return name, f"byte order mark {mark.hex(' ').upper()}"
    pairs = head[: len(head) // 2 * 2][:512]
    for first, name in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        others = pairs[1 - first :: 2]
        if len(pairs) >= 8 and not any(pairs[first::2]) and all(others) and others.isascii():
            return name, "every second byte is 0"
    return None


def not_text(raw: bytes) -> str:
    """Returns why a line is not ASCII text, and what to do; empty if it is."""
    if b"\0" in raw:
        at = raw.index(b"\0") + 1
        return f"a byte of 0 in column {at}: the file is binary or damaged, or a part of it is UTF-16"
    if raw.isascii():
        return ""
    at = next(i for i, octet in enumerate(raw) if octet >= 0x80)
    what = f"byte {raw[at]:#04x} in column {at + 1}"
    if any(octet < 0x20 and octet not in b"\t\r\n\x1b\f" for octet in raw):
        return f"{what}, and control characters: the file is binary or damaged"
    try:
        raw.decode("utf-8")
        name, code = "UTF-8", "UTF-8"
    except UnicodeDecodeError:
        name, code = "Latin-1 or Windows-1252", "CP1252"
    return f"{what}, as in {name}; change it to ASCII: iconv -f {code} -t ASCII//TRANSLIT"


def text_open(path: Path | str) -> BinaryIO:
    """Opens a text for reading after a UTF-8 byte order mark, if it has one. OSError if it cannot be read."""
    file = Path(path).open("rb")
    try:
        if file.read(len(UTF8_MARK)) != UTF8_MARK:
            file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def text_lines(path: Path | str, error: type[DataError], what: str) -> Iterator[tuple[int, str]]:
    """Yields numbered lines of ASCII, without a terminal's control sequences; raises `error` at a line that
    is not text, has no newline, or is too long. `what` says which file to give."""
    with text_open(path) as file:
        number = 0
        while raw := file.readline(LINE_BYTES_MAX):
            number += 1
            if wrong := not_text(raw):
                raise error(f"{path}:{number}: not text: {wrong}; give {what}")
            if not raw.endswith(b"\n"):
                raise error(f"{path}:{number}: no newline at the end: the file is cut off, or is not text")
            if b"\x1b" in raw:
                raw = _TERMINAL.sub(b"", raw)
            yield number, raw.decode("ascii").rstrip()


# ---- Numbers ----


def whole(word: str) -> int | None:
    """Returns a whole number below 2^63, or None."""
    if not (word.isascii() and word.isdigit()):
        return None
    value = int(word)
    return value if value < 2**63 else None


def header_number(header: Sequence[str], pattern: str) -> float | None:
    """Returns the number, from 0 to below 2^63, after `pattern` in a header line, or None. Units and remarks
    may follow it."""
    for line in header:
        match = re.match(pattern + r"\s*[:=]?\s+([0-9.]+(?:[eE][+-]?[0-9]+)?)(?:\s|%|$)", line)
        if match:
            try:
                value = float(match.group(1))
            except ValueError:
                return None
            return value if value < 2.0**63 else None
    return None


def header_whole(header: Sequence[str], pattern: str) -> int | None:
    """Returns the same as `header_number` if it is a whole number, else None."""
    value = header_number(header, pattern)
    return int(value) if value is not None and value == int(value) else None


def quantile(values: np.ndarray, per_million: int) -> float:
    """Returns the smallest of the rising `values` that is not below `per_million` millionths of them, as
    defined in `apps/include/order.h`."""
    rank = (len(values) * per_million + 999_999) // 1_000_000
    return float(values[max(rank, 1) - 1])


#: Values that are looked at in one step; a copy of them is no burden.
PIECE = 1 << 20
#: The digits of a value that `order_statistics` counts by, of 63: the exponent and nine bits below it.
_COUNTED_BITS = 20


def order_statistics(values: np.ndarray, ranks: Sequence[int]) -> list[float]:
    """Returns the values that would be at these places if `values`, from 0 on and in any order, were sorted.

    A sorted copy of ten million values takes 80 MB. Instead, the values are counted by their leading bits,
    which order them as the numbers do, and only those with the bits of a wanted place are sorted."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    if len(bits) <= PIECE:
        rising = np.sort(values)
        return [float(rising[rank]) for rank in ranks]
    pieces = [bits[i : i + PIECE] for i in range(0, len(bits), PIECE)]
    shift, size = 63 - _COUNTED_BITS, 1 << _COUNTED_BITS
    counts = np.zeros(size, dtype=np.int64)
    for piece in pieces:
        counts += np.bincount(piece >> shift, minlength=size)
    ends = np.cumsum(counts)
    holders = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(size, dtype=bool)
    wanted[holders] = True
    rising = np.sort(np.concatenate([piece[wanted[piece >> shift]] for piece in pieces])).view(np.float64)
    below = np.cumsum(np.where(wanted, counts, 0))
    return [float(rising[below[at] - ends[at] + rank]) for rank, at in zip(ranks, holders)]


def quantiles(values: np.ndarray, parts: Sequence[int]) -> list[float]:
    """Returns what `quantile` does of each of `parts`, of values from 0 on in any order."""
    ranks = [max((len(values) * part + 999_999) // 1_000_000, 1) - 1 for part in parts]
    return order_statistics(values, ranks) if len(values) else []


@dataclass(frozen=True)
class Floor:
    """Where undisturbed values lie if disturbance can only raise a value: `apps/lib/order.h` defines it."""

    mode: int
    spread: int
    reach: int


def narrow(values: np.ndarray) -> np.ndarray:
    """Returns a copy of whole numbers in half of the memory, if they fit in 32 bits."""
    fits = not len(values) or (values.min() >= -(2**31) and values.max() < 2**31)
    return values.astype(np.int32 if fits else np.int64)


def counted(rising: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct values of rising ones, and how often each occurs. Whole counts and ticks are few
    distinct ones, so this takes far less memory than the values."""
    ends = np.append(np.flatnonzero(rising[1:] != rising[:-1]), len(rising) - 1)
    return rising[ends], np.diff(ends, prepend=-1)


def floor_of(values: np.ndarray, counts: np.ndarray | None = None) -> Floor:
    """Returns the floor of rising whole `values`, each of which occurs `counts` times (default once), as
    `order_floor_find` does."""
    values, counts = counted(values) if counts is None else (values[counts > 0], counts[counts > 0])
    ends = np.cumsum(counts)
    total = int(ends[-1])

    def at(places: np.ndarray | int) -> np.ndarray:
        return values[np.searchsorted(ends, places, side="right")]

    # A window's range changes only where its first or its last value does; `begins` are these windows.
    window = (total + 7) // 8
    begins = np.unique(np.concatenate([[0], ends, ends - (window - 1)]))
    begins = begins[(begins >= 0) & (begins <= total - window)]
    ranges = at(begins + window - 1) - at(begins)
    step = int(np.diff(values).min()) if len(values) > 1 else 0
    shortest = int(ranges.argmin())
    longer = np.flatnonzero(ranges > 2 * ranges[shortest] + step)
    place = int(np.searchsorted(longer, shortest))
    low = int(begins[longer[place - 1] + 1]) if place else 0
    high = int(begins[longer[place]]) - 1 if place < len(longer) else total - window
    mode = int(at(low + (high - low) // 2 + window // 2))
    below = int(ends[np.searchsorted(values, mode, side="right") - 1])
    spread = mode - int(at(below - 1 - below // 2))
    if at(total // 20) < mode:
        spread = max(spread, step)
    return Floor(mode, spread, spread * 44478 // 10000)


def floor_separable(floor: Floor, values: np.ndarray, counts: np.ndarray | None = None) -> bool:
    """Returns whether disturbed values can be distinguished from undisturbed ones, as `order_floor_separable`
    does."""
    below = values < floor.mode - floor.reach
    of = len(values) if counts is None else int(counts.sum())
    shorter = int(below.sum() if counts is None else counts[below].sum())
    return floor.reach < floor.mode // 2 and shorter <= of // 20
