# SPDX-License-Identifier: BSD-2-Clause
"""Reads FWQ data and computes its noise figures.

The files are those of `apps/fwq` and of the public FWQ: the ticks of one sample per line, without a time
axis. Files of `apps/fwq` begin with `#` lines and have no gap between samples, so the running sum is the
time. The figures are those of `apps/fwq/analysis.h`, which explains them; a test compares the two on the same
data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import Block, Comment, Layout, Rows, blocks, check_sum, scan_file, scan_text
from lab.formats.reading import counted, floor_of, floor_separable, header_number, header_whole

#: A floor is computed only if all samples are shorter than this, ticks.
FLOOR_BELOW = 1 << 48


class FwqError(DataError):
    """Data that is not FWQ data."""


LAYOUT = Layout(1, True, "a sample", "a sample is one whole number of ticks", FwqError)


@dataclass(frozen=True)
class FwqData:
    """One CPU's samples, ticks. Ticks per ns, work and threshold are None in the public tool's files."""

    name: str
    ticks: np.ndarray
    ticks_per_ns: float | None = None
    work_instructions: int | None = None
    threshold_ticks: int | None = None
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class FwqSummary:
    """Noise figures of one CPU; the fields are those of `struct fwq_analysis`, lengths in ticks."""

    samples: int
    minimum: int
    nominal: int
    disturbed_above: int
    separable: bool
    median: int
    maximum: int
    maximum_at: int
    total: int
    disturbed: int
    disturbed_excess: int
    raw_excess: int
    noise_ratio: float
    raw_ratio: float


def _block(name: str, block: Block) -> FwqData:
    if not len(block.rows):
        raise FwqError(f"{name}: no samples; {LAYOUT.right}")
    check_sum(name, block.rows, 0, LAYOUT)
    return FwqData(
        name=name,
        ticks=block.rows.column(0),
        ticks_per_ns=header_number(block.header, "ticks_per_ns") or None,
        work_instructions=header_whole(block.header, "work_instructions"),
        threshold_ticks=header_whole(block.header, "threshold_ticks"),
        header=block.header,
    )


def _blocks(name: str, parts: Iterator[Comment | Rows]) -> list[FwqData]:
    found = [_block(name, block) for block in blocks(parts, LAYOUT)]
    if not found:
        raise FwqError(f"{name}: no samples; {LAYOUT.right}")
    return found


def parse(text: str, name: str) -> list[FwqData]:
    """Returns every block of samples in `text`, one per CPU; `name` is used in messages. A block begins with
    its `#` lines."""
    return _blocks(name, scan_text(text, name, LAYOUT))


def read(path: Path | str) -> list[FwqData]:
    """Returns the blocks of an FWQ file. DataError on any other content, OSError if it cannot be read."""
    return _blocks(str(path), scan_file(path, LAYOUT))


def _nominal(values: np.ndarray, times: np.ndarray, threshold: int) -> tuple[int, int, bool]:
    """Returns the nominal length, the excess above which a sample is disturbed, and whether that separates
    disturbed samples from others; `values` rise, and each occurs as often as `times` says."""
    if int(values[-1]) < FLOOR_BELOW:
        floor = floor_of(values, times)
        if floor_separable(floor, values, times):
            return floor.mode, max(threshold, floor.reach), True
    nominal = _quantile(values, times, 50_000)
    return nominal, max(threshold, nominal), False


def _quantile(values: np.ndarray, times: np.ndarray, per_million: int) -> int:
    """Returns what `quantile` does, of values that occur several times."""
    ends = np.cumsum(times)
    rank = max((int(ends[-1]) * per_million + 999_999) // 1_000_000, 1) - 1
    return int(values[np.searchsorted(ends, rank, side="right")])


def summarise(data: FwqData, threshold_ticks: int | None = None) -> FwqSummary:
    """Computes the noise figures of one CPU's samples; `threshold_ticks` replaces the file's threshold."""
    threshold = data.threshold_ticks if threshold_ticks is None else threshold_ticks
    if threshold is None:
        raise FwqError(f"{data.name}: the file states no threshold; give one in ticks")
    values, times = counted(np.sort(data.ticks))
    nominal, limit, separable = _nominal(values, times, threshold)
    if nominal == 0:
        raise FwqError(f"{data.name}: the samples are shorter than a tick of the clock: nothing to judge")
    excess = np.maximum(values - nominal, 0)
    disturbed = excess > limit
    total = int((values * times).sum())
    raw_excess, disturbed_excess = (int(part.sum()) for part in (excess * times, (excess * times)[disturbed]))
    return FwqSummary(
        samples=len(data.ticks),
        minimum=int(values[0]),
        nominal=nominal,
        disturbed_above=limit,
        separable=separable,
        median=_quantile(values, times, 500_000),
        maximum=int(values[-1]),
        maximum_at=int(data.ticks.argmax()),
        total=total,
        disturbed=int(times[disturbed].sum()),
        disturbed_excess=disturbed_excess,
        raw_excess=raw_excess,
        noise_ratio=disturbed_excess / total,
        raw_ratio=raw_excess / total,
    )
