# SPDX-License-Identifier: BSD-2-Clause
"""Reads FTQ data and computes its noise figures; reads the program's own summary.

The files are those of `apps/ftq` and of the public FTQ: `#` lines, then a line `ns count` per quantum, where
ns is the start of the quantum. The figures are those of [Betti09 §VI-A] with the definitions of
`apps/ftq/analysis.h`, which explains them (nominal count, quantisation floor, disturbed quantum, detour). A
test compares the two on the same data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import (
    Block,
    Comment,
    Layout,
    Rows,
    blocks,
    check_rising,
    check_sum,
    scan_file,
    scan_text,
)
from lab.formats.reading import floor_of, header_number, header_whole

#: The least loss of a disturbed quantum, counts. A loss of one count can be the beat between time grid and
#: loop.
DISTURBED_LOSS = 2

#: At least one quantum in this number must have reached the nominal count.
NOMINAL_ONE_IN = 20
#: A floor of more than one quantum in this number is remarked.
FLOOR_ONE_IN = 10


class FtqError(DataError):
    """Data that is not FTQ data; the message names file and line."""


LAYOUT = Layout(2, True, "a sample", "a sample is 'ns count', two whole numbers", FtqError)


@dataclass(frozen=True)
class FtqData:
    """One CPU's samples.

    `quantum_ns`: length of a quantum; `start_ns`: start of each quantum, from the origin that the file uses;
    `counts`: operations that finished in it; `header`: the `#` lines without the `#`;
    `operation_instructions`: length of an operation in instructions; `threshold_ns`: the shortest loss that
    counts; both None if the file does not state them.
    """

    name: str
    quantum_ns: int
    start_ns: np.ndarray
    counts: np.ndarray
    header: tuple[str, ...] = ()
    operation_instructions: int | None = None
    threshold_ns: int | None = None

    @property
    def window_ns(self) -> int:
        """Length of the measured window, ns."""
        return max(
            self.quantum_ns * len(self.counts), int(self.start_ns[-1] - self.start_ns[0]) + self.quantum_ns
        )


@dataclass(frozen=True)
class FtqSummary:
    """Noise figures of one CPU; the fields are those of `struct ftq_analysis`, with the same meaning and
    units."""

    samples: int
    quantum_ns: int
    nominal_count: int
    disturbed_from: int
    separable: bool
    maximum_count: int
    total_count: int
    one_short_quanta: int
    disturbed_quanta: int
    lost_quanta: int
    detours: int
    disturbed_loss: int
    raw_loss: int
    largest_loss: int
    largest_loss_at: int
    operation_ns: float
    largest_loss_ns: float
    detours_per_second: float
    noise_ratio: float
    raw_ratio: float
    floor_ns: float
    floor_ratio: float
    measured_floor_ratio: float
    #: operations that each quantum lost, compared with the nominal count
    losses: np.ndarray = field(repr=False, compare=False)

    def price_ns(self, losses: np.ndarray) -> np.ndarray:
        """Returns the share of a quantum, ns, that each number of lost operations is. A quantum that was lost
        whole is exactly one quantum."""
        return losses.astype(np.float64) * self.quantum_ns / self.nominal_count

    @property
    def floor_is_high(self) -> bool:
        """Whether the least loss that counts is more than a tenth of a quantum; not if there is no floor."""
        return self.separable and self.disturbed_from > self.nominal_count // FLOOR_ONE_IN


def _quantum_ns(name: str, header: Sequence[str], start_ns: np.ndarray) -> int:
    """Returns the length of a quantum, ns. It is the header's value if the median distance of the samples, or
    one distance in twenty, agrees (after the public tool has lost the CPU it catches up with its grid in
    quanta of no length). Else it is that median."""
    stated = header_number(header, "quantum_ns")
    if stated is None:
        frequency_hz = header_number(header, "Frequency")
        stated = 1e9 / frequency_hz if frequency_hz and frequency_hz > 0 else None
    measured = float(np.median(np.diff(start_ns))) if len(start_ns) > 1 else None
    if stated is not None and (measured is None or abs(stated - measured) <= 0.01 * measured):
        return round(stated)
    if stated and (np.abs(np.diff(start_ns) - stated) <= 0.01 * stated).mean() >= 1 / NOMINAL_ONE_IN:
        return round(stated)
    if measured is None or measured < 1:
        raise FtqError(f"{name}: neither the header nor the samples give the length of a quantum")
    return round(measured)


def _siblings_total(path: Path) -> int:
    """Returns the sum of the counts in the files of the run's other threads: NAME_0.dat, NAME_1.dat, …"""
    match = re.fullmatch(r"(.*)_\d{1,5}\.dat", path.name)
    if not match:
        return 0
    total = 0
    for other in path.parent.iterdir():
        if other != path and re.fullmatch(re.escape(match[1]) + r"_\d{1,5}\.dat", other.name):
            for block in blocks(scan_file(other, LAYOUT), LAYOUT):
                total += int(block.rows.values[:, 1].sum())
    return total


def _block(name: str, block: Block, path: Path | None) -> FtqData:
    if not len(block.rows.lines):
        raise FtqError(f"{name}: no samples; {LAYOUT.right}")
    check_rising(name, block.rows, 0, LAYOUT)
    check_sum(name, block.rows, 1, LAYOUT)
    start_ns, counts = block.rows.values.T.copy()
    stated = header_whole(block.header, "Total count is")
    total = int(counts.sum())
    if stated is not None and stated != total:
        # The public tool states the sum of all threads in each thread's file.
        if path is None or stated != total + _siblings_total(path):
            raise FtqError(
                f"{name}: the header states a total count of {stated}, but the samples sum to {total}: some "
                "are missing or damaged; if the run had several threads, keep all files NAME_0.dat, "
                "NAME_1.dat … in one folder"
            )
    return FtqData(
        name=name,
        quantum_ns=_quantum_ns(name, block.header, start_ns),
        start_ns=start_ns,
        counts=counts,
        header=block.header,
        operation_instructions=header_whole(block.header, "operation_instructions"),
        threshold_ns=header_whole(block.header, "threshold_ns") or None,
    )


def _blocks(name: str, parts: Iterator[Comment | Rows], path: Path | None = None) -> list[FtqData]:
    found = [_block(name, block, path) for block in blocks(parts, LAYOUT)]
    if not found:
        raise FtqError(f"{name}: no samples; {LAYOUT.right}")
    return found


def parse(text: str, name: str) -> list[FtqData]:
    """Returns every block of samples in `text`, one per CPU; `name` is used in messages. A block begins with
    its `#` lines."""
    return _blocks(name, scan_text(text, name, LAYOUT))


def read(path: Path | str) -> list[FtqData]:
    """Returns the blocks of an FTQ file. FtqError on any other content, OSError if it cannot be read."""
    return _blocks(str(path), scan_file(path, LAYOUT), Path(path))


@dataclass(frozen=True)
class Nominal:
    """The count of an undisturbed quantum, the least loss of a disturbed one, and whether that separates
    them."""

    count: int
    disturbed_from: int
    separable: bool = True


def nominal(counts: np.ndarray) -> Nominal:
    """Returns the nominal count by `apps/ftq/analysis.h`: the count that a twentieth of the quanta reached,
    if it is sharp; else the mode and its reach; if these do not separate, half of the best."""
    falling = np.sort(counts)[::-1]
    samples = len(falling)
    best = int(falling[(samples - 1) // NOMINAL_ONE_IN])
    if (
        best < DISTURBED_LOSS
        or int(((counts == best) | (counts == best - 1)).sum()) * NOMINAL_ONE_IN >= samples
    ):
        return Nominal(best, DISTURBED_LOSS)
    losses = falling[0] - falling
    floor = floor_of(losses[falling > 0])
    found = int(falling[0]) - floor.mode
    faster = int((losses < floor.mode - floor.reach).sum())
    if floor.reach < found // 2 and faster <= samples // NOMINAL_ONE_IN:
        return Nominal(found, max(floor.reach + 1, DISTURBED_LOSS))
    return Nominal(best, best - best // 2, False)


def nominal_above(counts: np.ndarray, quantum_ns: int, threshold_ns: int) -> Nominal:
    """Returns the nominal count if the file states the shortest loss that counts: the median, and that loss
    in operations."""
    falling = np.sort(counts)[::-1]
    count = int(falling[(len(falling) - 1) // 2])
    operations = math.ceil(float(threshold_ns) * float(count) / float(quantum_ns))
    return Nominal(count, max(operations, DISTURBED_LOSS))


def detours(counts: np.ndarray, losses: np.ndarray, disturbed_from: int) -> list[tuple[int, int]]:
    """Returns the detours as ranges of quanta, [first, end). Quanta that were lost completely belong to the
    detour around them."""
    found: list[tuple[int, int]] = []
    for i in np.flatnonzero(losses >= disturbed_from).tolist():
        joins = found and found[-1][1] == i and (counts[i] == 0 or counts[i - 1] == 0)
        if joins:
            found[-1] = (found[-1][0], i + 1)
        else:
            found.append((i, i + 1))
    return found


def summarise(data: FtqData) -> FtqSummary:
    """Computes the noise figures of one CPU's samples."""
    counts = data.counts
    by = nominal_above(counts, data.quantum_ns, data.threshold_ns) if data.threshold_ns else nominal(counts)
    if by.count < DISTURBED_LOSS:
        raise FtqError(f"{data.name}: fewer than two operations in the best quanta: too few to judge")
    losses = np.maximum(by.count - counts, 0)
    quiet = losses < by.disturbed_from
    largest, largest_at = 0, 0
    ranges = detours(counts, losses, by.disturbed_from)
    for first, end in ranges:
        loss = int(losses[first:end].sum())
        if loss > largest:
            largest, largest_at = loss, first
    capacity = by.count * len(counts)
    operation_ns = data.quantum_ns * int(quiet.sum()) / int(counts[quiet].sum())
    one_short = int((losses == 1).sum())
    disturbed_loss = int(losses[~quiet].sum())
    raw_loss = int(losses.sum())
    return FtqSummary(
        samples=len(counts),
        quantum_ns=data.quantum_ns,
        nominal_count=by.count,
        disturbed_from=by.disturbed_from,
        separable=by.separable,
        maximum_count=int(counts.max()),
        total_count=int(counts.sum()),
        one_short_quanta=one_short,
        disturbed_quanta=int((~quiet).sum()),
        lost_quanta=int((counts == 0).sum()),
        detours=len(ranges),
        disturbed_loss=disturbed_loss,
        raw_loss=raw_loss,
        largest_loss=largest,
        largest_loss_at=largest_at,
        operation_ns=operation_ns,
        largest_loss_ns=float(largest) * data.quantum_ns / by.count,
        detours_per_second=len(ranges) * 1e9 / data.window_ns,
        noise_ratio=disturbed_loss / capacity,
        raw_ratio=raw_loss / capacity,
        floor_ns=data.quantum_ns / by.count,
        floor_ratio=1 / by.count,
        measured_floor_ratio=one_short / capacity,
        losses=losses,
    )


def parse_report(text: str) -> dict[str, str]:
    """Returns the `key: value` lines that the program writes on standard error; values without unit and
    remark.

    Keeps the first CPU's lines if there are several; skips lines of another form.
    """
    report: dict[str, str] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*): (.+)", line.strip())
        if not match:
            continue
        key, value = match.groups()
        if key == "thread" and "thread" in report:
            break
        report.setdefault(key, value if value == "not available" else value.split()[0])
    return report
