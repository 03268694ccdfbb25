# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the readers of the benchmarks' files: numbers, `#` lines, quantiles, the floor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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


@dataclass(frozen=True)
class Floor:
    """Where undisturbed values lie if disturbance can only raise a value: `apps/lib/order.h` defines it."""

    mode: int
    spread: int
    reach: int


def floor_of(values: np.ndarray, counts: np.ndarray | None = None) -> Floor:
    """Returns the floor of rising whole `values`, each of which occurs `counts` times (default once), as
    `order_floor_find` does."""
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
    """Returns whether disturbed values can be distinguished from undisturbed ones, as `order_floor_separable`
    does."""
    below = values < floor.mode - floor.reach
    of = len(values) if counts is None else int(counts.sum())
    shorter = int(below.sum() if counts is None else counts[below].sum())
    return floor.reach < floor.mode // 2 and shorter <= of // 20
