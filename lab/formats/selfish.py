# SPDX-License-Identifier: BSD-2-Clause
"""Reads selfish detour data and computes its figures.

The files are those of `apps/selfish` and of netgauge's noise benchmark: `#` lines; then `start duration` of
each detour in ns, the duration without the loop's own time; at the end the overhead and the period as `#`
lines [Beckman06 §3]. A silent kernel leaves a file without a detour, which is read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import (
    LISTED_MAX,
    Block,
    Comment,
    Layout,
    Rows,
    blocks,
    check_rising,
    scan_file,
    scan_text,
)
from lab.formats.reading import header_number, header_whole, quantile


class SelfishError(DataError):
    """Data that is not selfish detour data."""


LAYOUT = Layout(
    2, False, "a detour", "a detour is 'start duration' in ns, from 0 on", SelfishError, listed_max=LISTED_MAX
)

#: The longest period in seconds: 2^63 ns.
SECONDS_MAX = 2**63 / 1e9


#: The quantiles of `apps/selfish`, by the names in its summary, in millionths.
QUANTILES = {
    "median": 500_000,
    "p90": 900_000,
    "p99": 990_000,
    "p99_9": 999_000,
    "p99_99": 999_900,
    "p99_999": 999_990,
}


@dataclass(frozen=True)
class SelfishData:
    """One CPU's detours. `found` is more than the listed detours if there was no room for all: in the
    program's array, or here (LISTED_MAX of a file with more)."""

    name: str
    start_ns: np.ndarray
    duration_ns: np.ndarray
    period_ns: float
    loop_ns: float | None = None
    threshold_ns: float | None = None
    found: int = 0
    overhead_ratio: float | None = None
    longest_ns: float = 0.0
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelfishSummary:
    """Figures of one CPU's detours; lengths in ns, all zero if there are none."""

    detours: int
    detours_per_second: float
    minimum_ns: float
    mean_ns: float
    maximum_ns: float
    quantiles_ns: dict[str, float]
    noise_ratio: float


def _period_s(name: str, block: Block, seconds: float) -> float:
    """Returns the measured time, s. netgauge rounds it to 10 ms, so a short run has "0.00 s". Then the time
    is computed from the time of its detours and their share, which the file states to 0.01 %."""
    rounded = any(re.fullmatch(r"Measurement period: \d+\.\d\d s", line) for line in block.header)
    rows, rest = block.rows, block.rows.unlisted
    if not rounded or not len(rows):
        return seconds
    starts, durations = rows.column(0), rows.column(1)
    end_s = max(float(starts[-1] + durations[-1]), rest.end_ns) / 1e9
    total_ns = float(durations.sum()) + rest.total_ns
    if seconds == 0:
        overhead = header_number(block.header, "CPU overhead due to noise")
        if not overhead:
            return end_s
        share = total_ns / 1e7 / end_s if end_s else 0.0
        if share < 0.9 * overhead:
            raise SelfishError(
                f"{name}: its detours take {share:.3g} % of the time until the last one, but the file states "
                f"{overhead:g} %: lines are missing; give the whole file"
            )
        return max(total_ns / 1e7 / overhead, end_s)
    return end_s if seconds < end_s <= seconds + 0.005 else seconds


def _threshold_ns(header: tuple[str, ...]) -> float | None:
    """Returns the threshold in ns; netgauge states it in percent of the loop's shortest turn."""
    loop_ns = header_number(header, r"Minimal cycle length \[ns\]")
    percent = header_number(header, r"Threshold: \[% minimal cycle length\]")
    if loop_ns is not None and percent is not None:
        return loop_ns * percent / 100
    return header_number(header, r"Threshold(?: \[ns\])?")


def _block(name: str, block: Block) -> SelfishData:
    header, rest = block.header, block.rows.unlisted
    listed = len(block.rows) + rest.detours
    check_rising(name, block.rows, 0, LAYOUT)
    seconds = header_number(header, "Measurement period")
    if seconds is not None:
        seconds = _period_s(name, block, seconds)
    if not seconds or seconds >= SECONDS_MAX:
        raise SelfishError(
            f"{name}: no '# Measurement period' in seconds at its end: the data are cut off or damaged"
        )
    found = header_whole(header, "Detours")
    if found is not None and found < listed:
        raise SelfishError(f"{name}: {listed} detours listed, but the header states only {found}")
    overhead = header_number(header, "CPU overhead due to noise")
    duration_ns = block.rows.column(1)
    if rest.detours and found in (None, listed):
        overhead = (float(duration_ns.sum()) + rest.total_ns) / (seconds * 1e9) * 100
    return SelfishData(
        name=name,
        start_ns=block.rows.column(0),
        duration_ns=duration_ns,
        period_ns=seconds * 1e9,
        loop_ns=header_number(header, r"Minimal cycle length \[ns\]"),
        threshold_ns=_threshold_ns(header),
        found=listed if found is None else found,
        overhead_ratio=None if overhead is None else overhead / 100,
        longest_ns=max(rest.longest_ns, float(duration_ns.max()) if len(duration_ns) else 0.0),
        header=header,
    )


def _blocks(name: str, parts: Iterator[Comment | Rows]) -> list[SelfishData]:
    found = [
        _block(name, block)
        for block in blocks(parts, LAYOUT, lambda text: text.startswith("Measurement period"), name)
    ]
    if not found:
        raise SelfishError(f"{name}: empty; {LAYOUT.right}")
    return found


def parse(text: str, name: str) -> list[SelfishData]:
    """Returns every CPU's detours in `text`; `name` is used in messages. The period's line ends a block."""
    return _blocks(name, scan_text(text, name, LAYOUT))


def read(path: Path | str) -> list[SelfishData]:
    """Returns the blocks of a selfish file. DataError on any other content, OSError if it cannot be read."""
    return _blocks(str(path), scan_file(path, LAYOUT))


def noise_ratio(data: SelfishData) -> float:
    """Returns the share of the time that the detours took; if not all are listed, the file's."""
    if data.found <= len(data.start_ns):
        return float(data.duration_ns.sum()) / data.period_ns
    if data.overhead_ratio is None:
        raise SelfishError(
            f"{data.name}: {data.found} detours, only {len(data.start_ns)} listed, and no overhead stated"
        )
    return data.overhead_ratio


def summarise(data: SelfishData) -> SelfishSummary:
    """Computes the figures of one CPU's detours."""
    rising = np.sort(data.duration_ns)
    listed = len(rising)
    return SelfishSummary(
        detours=data.found,
        detours_per_second=data.found * 1e9 / data.period_ns,
        minimum_ns=float(rising[0]) if listed else 0.0,
        mean_ns=float(rising.mean()) if listed else 0.0,
        maximum_ns=data.longest_ns if data.longest_ns else float(rising[-1]) if listed else 0.0,
        quantiles_ns={name: quantile(rising, part) if listed else 0.0 for name, part in QUANTILES.items()},
        noise_ratio=noise_ratio(data),
    )
