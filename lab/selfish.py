# SPDX-License-Identifier: BSD-2-Clause
"""Selfish detour data: reader and figures.

Reads the files of `apps/selfish` and of netgauge's noise benchmark: `#` lines, then `start duration` of each detour in
ns, the duration without the loop's own time, at the end the overhead and the period as `#` lines [Beckman06 §3].
A file without a single detour is what a silent kernel leaves, and is read like any other.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.reading import DataError, header_number, header_whole, quantile, read_text


class SelfishError(DataError):
    """Data that is no selfish detour data."""


#: the quantiles of `apps/selfish`, by the names in its summary, in millionths
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
    """One CPU's detours. `found` may be more than are listed, if there was no room for all."""

    name: str
    start_ns: np.ndarray
    duration_ns: np.ndarray
    period_ns: float
    loop_ns: float | None = None
    threshold_ns: float | None = None
    found: int = 0
    overhead_ratio: float | None = None
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelfishSummary:
    """Figures of one CPU's detours; lengths in ns, all zero when there are none."""

    detours: int
    detours_per_second: float
    minimum_ns: float
    mean_ns: float
    maximum_ns: float
    quantiles_ns: dict[str, float]
    noise_ratio: float


def _block(name: str, header: list[str], rows: list[tuple[float, float]]) -> SelfishData:
    seconds = header_number(header, "Measurement period")
    if not seconds:
        raise SelfishError(f"{name}: no '# Measurement period': the end of the data is missing")
    found = header_whole(header, "Detours")
    if found is not None and found < len(rows):
        raise SelfishError(f"{name}: {len(rows)} detours where the header says {found}")
    overhead = header_number(header, "CPU overhead due to noise")
    return SelfishData(
        name=name,
        start_ns=np.array([row[0] for row in rows], dtype=np.float64),
        duration_ns=np.array([row[1] for row in rows], dtype=np.float64),
        period_ns=seconds * 1e9,
        loop_ns=header_number(header, r"Minimal cycle length \[ns\]"),
        threshold_ns=header_number(header, r"Threshold(?: \[ns\])?"),
        found=len(rows) if found is None else found,
        overhead_ratio=None if overhead is None else overhead / 100,
        header=tuple(header),
    )


def _detour(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value < 2.0**63 else None


def parse(text: str, name: str) -> list[SelfishData]:
    """Every CPU's detours in `text`; `name` stands in messages. The period's line ends a block."""
    blocks: list[SelfishData] = []
    header: list[str] = []
    rows: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            header.append(line[1:].strip())
            if header[-1].startswith("Measurement period"):
                blocks.append(_block(name, header, rows))
                header, rows = [], []
            continue
        words = [_detour(word) for word in line.split()]
        if len(words) != 2 or words[0] is None or words[1] is None:
            raise SelfishError(f"{name}:{number}: not a detour: {line[:60]!r}; a detour is 'start duration' in ns")
        if rows and words[0] < rows[-1][0]:
            raise SelfishError(f"{name}:{number}: time runs backwards: {words[0]:.0f} ns after {rows[-1][0]:.0f} ns")
        rows.append((words[0], words[1]))
    if rows or header:
        blocks.append(_block(name, header, rows))
    if not blocks:
        raise SelfishError(f"{name}: empty")
    return blocks


def read(path: Path | str) -> list[SelfishData]:
    """The blocks of a selfish file; DataError on anything else, OSError if it cannot be read."""
    return parse(read_text(path, "a selfish file is lines of 'start duration' in ns"), str(path))


def summarise(data: SelfishData) -> SelfishSummary:
    """The figures of one CPU's detours. The ratio is the file's where not all detours are listed."""
    rising = np.sort(data.duration_ns)
    listed = len(rising)
    if data.found > listed and data.overhead_ratio is None:
        raise SelfishError(f"{data.name}: {data.found} detours, {listed} listed, and no overhead told")
    return SelfishSummary(
        detours=data.found,
        detours_per_second=data.found * 1e9 / data.period_ns,
        minimum_ns=float(rising[0]) if listed else 0.0,
        mean_ns=float(rising.mean()) if listed else 0.0,
        maximum_ns=float(rising[-1]) if listed else 0.0,
        quantiles_ns={name: quantile(rising, part) if listed else 0.0 for name, part in QUANTILES.items()},
        noise_ratio=float(data.overhead_ratio or 0.0) if data.found > listed else float(rising.sum()) / data.period_ns,
    )
