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
from lab.formats.reading import PIECE, counted, floor_of, header_number, header_whole, narrow

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

    @property
    def floor_remark(self) -> str:
        """What a high floor means, and what to do; empty if it is not high."""
        share = self.disturbed_from / self.nominal_count
        return (
            f"the floor is {share:.0%} of a quantum: detours that take less of it are in no figure; measure "
            "with a longer quantum, or on a CPU that runs nothing else"
            if self.floor_is_high
            else ""
        )


def _distances(start_ns: np.ndarray) -> np.ndarray:
    """Returns the distances of the quanta's starts, which rise; in as little memory as they fit in."""
    found = np.empty(len(start_ns) - 1, dtype=np.int32)
    for i in range(0, len(found), PIECE):
        piece = np.diff(start_ns[i : i + PIECE + 1])
        if piece.max() >= 2**31:
            return np.diff(start_ns)
        found[i : i + PIECE] = piece
    return found


def _quantum_ns(name: str, header: Sequence[str], start_ns: np.ndarray) -> int:
    """Returns the length of a quantum, ns. It is the header's value if the median distance of the samples, or
    one distance in twenty, agrees (after the public tool has lost the CPU it catches up with its grid in
    quanta of no length). Else it is that median."""
    stated = header_number(header, "quantum_ns")
    if stated is None:
        frequency_hz = header_number(header, "Frequency")
        stated = 1e9 / frequency_hz if frequency_hz and frequency_hz > 0 else None
    measured = float(np.median(_distances(start_ns), overwrite_input=True)) if len(start_ns) > 1 else None
    if stated is not None and (measured is None or abs(stated - measured) <= 0.01 * measured):
        return round(stated)
    if stated and (np.abs(_distances(start_ns) - stated) <= 0.01 * stated).mean() >= 1 / NOMINAL_ONE_IN:
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
                total += int(block.rows.column(1).sum())
    return total


def _block(name: str, block: Block, path: Path | None) -> FtqData:
    if not len(block.rows):
        raise FtqError(f"{name}: no samples; {LAYOUT.right}")
    check_rising(name, block.rows, 0, LAYOUT)
    check_sum(name, block.rows, 1, LAYOUT)
    start_ns, counts = block.rows.column(0), block.rows.column(1)
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
    rising = narrow(counts)
    rising.sort()
    values, times = counted(rising)
    values = values.astype(np.int64)
    samples = len(counts)
    from_best = np.cumsum(times[::-1])

    def of_falling(place: int) -> int:
        return int(values[::-1][np.searchsorted(from_best, place, side="right")])

    best = of_falling((samples - 1) // NOMINAL_ONE_IN)
    alike = int(times[(values == best) | (values == best - 1)].sum())
    if best < DISTURBED_LOSS or alike * NOMINAL_ONE_IN >= samples:
        return Nominal(best, DISTURBED_LOSS)
    maximum = int(values[-1])
    losses, worked = maximum - values[::-1], values[::-1] > 0
    floor = floor_of(losses[worked], times[::-1][worked])
    found = maximum - floor.mode
    faster = int(times[::-1][losses < floor.mode - floor.reach].sum())
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


@dataclass(frozen=True)
class Detours:
    """The detours as ranges of quanta: the first ones, those after the last, and the operations lost."""

    first: np.ndarray
    end: np.ndarray
    lost: np.ndarray


def detours(counts: np.ndarray, losses: np.ndarray, disturbed_from: int) -> Detours:
    """Returns the detours. Quanta that were lost completely belong to the detour around them."""
    disturbed = narrow(np.flatnonzero(losses >= disturbed_from))
    whole = counts[disturbed] == 0
    joined = np.zeros(len(disturbed), dtype=bool)
    joined[1:] = (np.diff(disturbed) == 1) & (whole[1:] | whole[:-1])
    begins = np.flatnonzero(~joined)
    lost = losses[disturbed[begins]].astype(np.int64)
    others = np.flatnonzero(joined)
    np.add.at(lost, np.searchsorted(begins, others) - 1, losses[disturbed[others]])
    lasts = np.append(begins[1:] - 1, len(disturbed) - 1)[: len(begins)]
    return Detours(disturbed[begins], disturbed[lasts] + 1, lost)


def summarise(data: FtqData) -> FtqSummary:
    """Computes the noise figures of one CPU's samples."""
    counts = data.counts
    by = nominal_above(counts, data.quantum_ns, data.threshold_ns) if data.threshold_ns else nominal(counts)
    if by.count < DISTURBED_LOSS:
        raise FtqError(f"{data.name}: fewer than two operations in the best quanta: too few to judge")
    # A real quantum holds less than 2^31 operations, which saves half of the memory.
    losses = np.empty(len(counts), dtype=np.int32 if by.count < 2**31 else np.int64)
    for i in range(0, len(counts), PIECE):
        losses[i : i + PIECE] = np.maximum(by.count - counts[i : i + PIECE], 0)
    quiet = losses < by.disturbed_from
    found = detours(counts, losses, by.disturbed_from)
    largest = int(found.lost.argmax()) if len(found.lost) else None
    capacity = by.count * len(counts)
    one_short = int((losses == 1).sum())
    raw_loss = int(losses.sum(dtype=np.int64))
    disturbed_loss = raw_loss - int(losses.sum(where=quiet, dtype=np.int64))
    largest_loss = 0 if largest is None else int(found.lost[largest])
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
        detours=len(found.first),
        disturbed_loss=disturbed_loss,
        raw_loss=raw_loss,
        largest_loss=largest_loss,
        largest_loss_at=0 if largest is None else int(found.first[largest]),
        operation_ns=data.quantum_ns * int(quiet.sum()) / int(counts.sum(where=quiet)),
        largest_loss_ns=float(largest_loss) * data.quantum_ns / by.count,
        detours_per_second=len(found.first) * 1e9 / data.window_ns,
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
