# SPDX-License-Identifier: BSD-2-Clause
"""What the readers of the benchmarks' files have in common: numbers and `#` lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
