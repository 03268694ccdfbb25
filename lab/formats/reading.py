# SPDX-License-Identifier: BSD-2-Clause
"""What the readers of the benchmarks' files have in common: numbers and `#` lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def whole(word: str) -> int | None:
    """A whole number of fewer than 64 bits, or None."""
    if not (word.isascii() and word.isdigit()):
        return None
    value = int(word)
    return value if value < 2**63 else None


def header_number(header: Sequence[str], pattern: str) -> float | None:
    """The number of 0 or more, below 2^63, after `pattern` in one of the header lines; units and remarks may
    follow it."""
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
    """The same, if it is a whole number."""
    value = header_number(header, pattern)
    return int(value) if value is not None and value == int(value) else None


def quantile(values: np.ndarray, per_million: int) -> float:
    """The smallest of rising `values` that so many millionths do not exceed, as `apps/include/order.h` has
    it."""
    rank = (len(values) * per_million + 999_999) // 1_000_000
    return float(values[max(rank, 1) - 1])


@dataclass(frozen=True)
class Floor:
    """Where undisturbed values lie, if disturbance only ever raises one: `apps/lib/order.h` defines it."""

    mode: int
    spread: int
    reach: int


def floor_of(values: np.ndarray, counts: np.ndarray | None = None) -> Floor:
    """The floor of rising whole `values`, each of which occurs `counts` times (default once), as
    `order_floor_find` has it."""
    rising = values if counts is None else np.repeat(values, counts)
    window = (len(rising) + 7) // 8
    ranges = rising[window - 1 :] - rising[: len(rising) - window + 1]
    differences = np.diff(rising)
    step = int(differences[differences > 0].min()) if (differences > 0).any() else 0
    shortest = int(ranges.argmin())
    longer = np.flatnonzero(ranges > 2 * ranges[shortest] + step)
    place = int(np.searchsorted(longer, shortest))
    low = int(longer[place - 1]) + 1 if place else 0
    high = int(longer[place]) - 1 if place < len(longer) else len(ranges) - 1
    mode = int(rising[low + (high - low) // 2 + window // 2])
    below = int(np.searchsorted(rising, mode, side="right"))
    spread = mode - int(rising[below - 1 - below // 2])
    if rising[len(rising) // 20] < mode:
        spread = max(spread, step)
    return Floor(mode, spread, spread * 44478 // 10000)


def floor_separable(floor: Floor, values: np.ndarray, counts: np.ndarray | None = None) -> bool:
    """Whether disturbed values can be distinguished from undisturbed ones, as
    `order_floor_separable` has it."""
    below = values < floor.mode - floor.reach
    of = len(values) if counts is None else int(counts.sum())
    shorter = int(below.sum() if counts is None else counts[below].sum())
    return floor.reach < floor.mode // 2 and shorter <= of // 20
