# SPDX-License-Identifier: BSD-2-Clause
"""Reads phase durations and computes the distribution D, the probability of a delay, and the slowdown of n
nodes [Tsafrir05 §2-3].

The files are those of `apps/phase`: for each grain `#` lines, then `ticks phases` for every duration that
occurred. This is the whole empirical distribution, so all figures can be computed from it. They are those of
`apps/phase/distribution.h`, which explains them; a test compares the two on the same data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import Block, Comment, Layout, Rows, Table, blocks, check_sum, scan_file, scan_text
from lab.formats.ftq import parse_report
from lab.formats.reading import Floor, floor_of, floor_separable, header_number, header_whole

#: The delays for which the program reports p.
DELAYS = (0.01, 0.10, 1.00)


class PhaseError(DataError):
    """Data that is not phase data."""


LAYOUT = Layout(2, True, "a duration", "a duration is 'ticks phases', two positive whole numbers", PhaseError)


@dataclass(frozen=True)
class PhaseData:
    """The durations of one grain on one CPU: `phases[i]` phases lasted `ticks[i]`, rising.

    `grain_ns` was requested; `calibrated_ns` is the length of a phase without noise; `threshold_ticks` is the
    variation between phases that the machine itself makes, 0 if the file does not state it.
    """

    name: str
    grain_ns: int
    calibrated_ns: float
    ticks_per_ns: float
    ticks: np.ndarray
    phases: np.ndarray
    header: tuple[str, ...] = ()
    threshold_ticks: int = 0

    @property
    def count(self) -> int:
        """The number of phases."""
        return int(self.phases.sum())

    @cached_property
    def floor(self) -> Floor:
        """The undisturbed phase, ticks. `apps/phase/distribution.h` says why it is not the shortest."""
        found = floor_of(self.ticks, self.phases)
        return replace(found, reach=max(found.reach, self.threshold_ticks))

    @property
    def noiseless_ns(self) -> float:
        """G, ns: the calibrated length. If the machine itself varies, the undisturbed phase, because the
        calibration's runs are short."""
        return self.floor.mode / self.ticks_per_ns if self.threshold_ticks else self.calibrated_ns

    @property
    def separable(self) -> bool:
        """Whether delayed phases can be distinguished from undisturbed ones."""
        floor = self.floor
        floor = replace(floor, reach=max(floor.reach, floor.mode // 100))
        return floor_separable(floor, self.ticks, self.phases)

    @property
    def minimum_ns(self) -> float:
        return float(self.ticks[0]) / self.ticks_per_ns

    @property
    def maximum_ns(self) -> float:
        return float(self.ticks[-1]) / self.ticks_per_ns

    @property
    def mean_ns(self) -> float:
        excess = float(((self.ticks - self.ticks[0]) * self.phases).sum()) / self.count
        return (float(self.ticks[0]) + excess) / self.ticks_per_ns


def delayed(data: PhaseData, delay: float) -> int:
    """Returns the number of phases that were longer than the undisturbed one by more than `delay` of it, and
    by more than the spread of undisturbed ones."""
    floor = data.floor
    limit = max(float(floor.mode) * (1 + delay), float(floor.mode + floor.reach))
    return int(data.phases[data.ticks > limit].sum())


def probability(data: PhaseData, delay: float) -> float:
    """Returns p: the probability that a phase is delayed by more than `delay` of its length."""
    return delayed(data, delay) / data.count


def survival(data: PhaseData) -> tuple[np.ndarray, np.ndarray]:
    """Returns the survival function: delays relative to the undisturbed phase, and the share of phases with a
    longer delay. A delay within the reach of the undisturbed phase counts as none."""
    floor = data.floor
    above = (data.count - np.cumsum(data.phases)) / data.count
    first = int(np.searchsorted(data.ticks, floor.mode + floor.reach, side="right"))
    delays = (data.ticks[first:] - floor.mode) / float(floor.mode)
    return np.concatenate([[0.0], delays]), np.concatenate([[above[first - 1]], above[first:]])


def expected_longest_ns(data: PhaseData, nodes: int) -> float:
    """Returns E(Y): the mean of the longest of `nodes` phases drawn from the whole distribution, ns
    [Tsafrir05 §2.4]."""
    not_above = np.power(np.cumsum(data.phases) / data.count, float(nodes))
    share = np.diff(not_above, prepend=0.0)
    excess = float(((data.ticks - data.ticks[0]) * share).sum())
    return (float(data.ticks[0]) + excess) / data.ticks_per_ns


def slowdown(data: PhaseData, nodes: int) -> float:
    """Returns E(Y)/G, where G is the noiseless duration of a phase."""
    return expected_longest_ns(data, nodes) / data.noiseless_ns


def _check_durations(name: str, rows: Table) -> None:
    """Checks that durations are positive, and each longer than the one before."""
    ticks = rows.column(0)
    zero = (ticks == 0) | (rows.column(1) == 0)
    if zero.any():
        raise PhaseError(
            f"{name}:{rows.lines[int(zero.argmax())]}: not a duration: a number is zero; {LAYOUT.right}"
        )
    falls = ticks[1:] <= ticks[:-1]
    if falls.any():
        i = int(falls.argmax()) + 1
        raise PhaseError(
            f"{name}:{rows.lines[i]}: durations must rise: {ticks[i]} after {ticks[i - 1]} ticks"
        )


def _block(name: str, block: Block) -> PhaseData:
    header = block.header
    if not len(block.rows):
        raise PhaseError(f"{name}: no durations; {LAYOUT.right}")
    _check_durations(name, block.rows)
    check_sum(name, block.rows, 1, LAYOUT)
    grain = header_whole(header, "grain_ns")
    stated = header_whole(header, "phases")
    calibrated = header_number(header, "calibrated_ns")
    rate = header_number(header, "ticks_per_ns")
    for key, value in (
        ("grain_ns", grain),
        ("phases", stated),
        ("calibrated_ns", calibrated),
        ("ticks_per_ns", rate),
    ):
        if not value:
            raise PhaseError(f"{name}: no '# {key}' before a block of durations; the data are incomplete")
    assert grain and stated and calibrated and rate
    ticks, phases = block.rows.column(0), block.rows.column(1)
    arrived = int(phases.sum())
    if arrived != stated:
        raise PhaseError(
            f"{name}: grain {grain} ns: {stated} phases ran, but {arrived} are in the file: output was lost"
        )
    threshold = header_whole(header, "threshold_ticks") or 0
    return PhaseData(name, grain, calibrated, rate, ticks, phases, header, threshold)


def _blocks(name: str, parts: Iterator[Comment | Rows]) -> list[PhaseData]:
    found = [_block(name, block) for block in blocks(parts, LAYOUT)]
    if not found:
        raise PhaseError(f"{name}: no durations; {LAYOUT.right}")
    return found


def parse(text: str, name: str) -> list[PhaseData]:
    """Returns every grain's durations in `text`; `name` is used in messages. A block begins with its `#`
    lines."""
    return _blocks(name, scan_text(text, name, LAYOUT))


def read(path: Path | str) -> list[PhaseData]:
    """Returns the blocks of a phase file. DataError on any other content, OSError if it cannot be read."""
    return _blocks(str(path), scan_file(path, LAYOUT))


def parse_reports(text: str) -> list[dict[str, str]]:
    """Returns the program's summary, a dictionary for each grain on each CPU, in the order of the data."""
    parts: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("grain: "):
            parts.append([])
        if parts:
            parts[-1].append(line)
    return [parse_report("\n".join(part)) for part in parts]


def check_reports(name: str, blocks: Sequence[PhaseData], reports: Sequence[dict[str, str]]) -> None:
    """Checks that program and lab agree on the figures. PhaseError if not: output was lost, or one is
    wrong."""
    if [str(block.grain_ns) for block in blocks] != [report.get("grain") for report in reports]:
        raise PhaseError(f"{name}: data and summary have different grains: output was lost")
    for block, report in zip(blocks, reports):
        for delay in DELAYS:
            key = f"p_{round(100 * delay)}_percent"
            if report.get(key) != f"{probability(block, delay):.9f}":
                raise PhaseError(
                    f"{name}: grain {block.grain_ns} ns: the program says {key} {report.get(key)}, the lab "
                    f"{probability(block, delay):.9f}"
                )
