# SPDX-License-Identifier: BSD-2-Clause
"""Formats figures for readers: times with a suitable unit, ratios in percent, counts in groups of three;
tables."""

from __future__ import annotations

import argparse
import math
import re


def time_text(ns: float, digits: int = 3) -> str:
    """Returns a time with a suitable unit, to `digits` digits, at least three."""
    ns = (
        float(f"{ns:.{digits}g}") if 1e3 > ns > 999.4 or ns >= 1e3 else ns
    )  # 999.9 µs is 1 ms to three digits
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            value = ns / size
            return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.{digits}g} {unit}"
    return f"{ns:.0f} ns" if ns == int(ns) or ns >= 10 else f"{ns:.2g} ns"


def digits_text(value: float) -> str:
    """Returns a number with three digits, without an exponent from a millionth on: 0.00123, 1.23, 12,300."""
    if value == 0 or not math.isfinite(value) or abs(value) < 1e-6:
        return f"{value:.3g}"
    rounded = float(f"{value:.3g}")
    places = max(2 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{rounded:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent_text(ratio: float) -> str:
    """Returns a ratio in percent; from ten on in `times`; an exact zero is `0 %`."""
    return times_text(ratio) if ratio >= 9.995 else f"{digits_text(100 * ratio)} %"


def signed_percent_text(ratio: float) -> str:
    """Returns a difference of ratios in percent, with a minus sign if it is negative."""
    return f"\N{MINUS SIGN}{percent_text(-ratio)}" if ratio < 0 else percent_text(ratio)


def times_text(factor: float) -> str:
    """Returns a factor in words: `105 times`."""
    return f"{digits_text(factor)} times"


def count_text(value: float) -> str:
    """Returns a count, or `any number` for infinity."""
    return "any number" if math.isinf(value) else f"{value:,.0f}"


def rate_text(per_second: float) -> str:
    """Returns a rate, with three digits below 100."""
    return "0" if per_second == 0 else f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


def time_ns(text: str) -> int:
    """Parses a time as the benchmarks of `apps/` do, to ns; argparse's error says what is right."""
    match = re.fullmatch(r"(\d+)(ns|us|µs|ms|s|)", text)
    scale = {"": 1, "ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": 10**9}
    if not match or not 1 <= int(match[1]) * scale[match[2]] <= 3600 * 10**9:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; give a whole number with ns, us, ms or s, such as 1ms"
        )
    return int(match[1]) * scale[match[2]]


def time_option(ns: int) -> str:
    """Returns a time in ns as `time_ns` parses it, with the largest unit in which it is whole."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Returns a table of text: the first column left, the others right; a rule below the header."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def row(cells: list[str]) -> str:
        first = cells[0].ljust(widths[0])
        return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]).rstrip()

    return "\n".join([row(header), "  ".join("-" * width for width in widths), *map(row, rows)])
