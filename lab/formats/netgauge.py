# SPDX-License-Identifier: BSD-2-Clause
"""Reads netgauge's noise benchmark (2.4.6, `-x noise -e METHOD`), methods ftq and fwq. selfish.py reads its
selfish files.

Both are `#` lines and then a line per cycle with its number. For FTQ the line has the work of a quantum,
whose length is in the header; for FWQ the duration of the fixed work in whole µs. Cycles have no gaps, so
their numbers give the time.

FTQ reads the clock after each turn of a loop, and writes the turns times the work of one, cut off to a whole
number (23, 46, 69, 92, 115, 138 … for 23.02). A turn is the operation here: it, and not a unit of work, is
what a silent quantum may lack.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import Block, Layout, blocks, check_sum, scan_file
from lab.formats.ftq import FtqData
from lab.formats.fwq import FwqData
from lab.formats.reading import header_whole


class NetgaugeError(DataError):
    """Data that is not netgauge's."""


LAYOUT = Layout(2, True, "a cycle", "a cycle is its number and its figure, two whole numbers", NetgaugeError)


def _cycles(path: Path | str) -> Block:
    """Returns the file's lines; checks that their numbers begin at 0 and that none is missing."""
    found = list(blocks(scan_file(path, LAYOUT), LAYOUT, lambda _text: False))
    if not found or not len(found[0].rows):
        raise NetgaugeError(f"{path}: no cycles; {LAYOUT.right}")
    block = found[0]
    numbers = block.rows.column(0)
    wrong = numbers != np.arange(len(numbers))
    if wrong.any():
        i = int(wrong.argmax())
        raise NetgaugeError(
            f"{path}:{block.rows.lines[i]}: cycle {numbers[i]} instead of {i}: lines are missing"
        )
    stated = header_whole(block.header, "Number of Cycles/Detours")
    if stated is not None and stated != len(numbers):
        raise NetgaugeError(
            f"{path}: the header states {stated} cycles, but there are {len(numbers)} lines: some are "
            "missing or damaged"
        )
    check_sum(str(path), block.rows, 1, LAYOUT)
    return block


def _turns(work: np.ndarray) -> np.ndarray:
    """Returns the turns that made the work of each quantum; the work itself if it is not a multiple of one
    turn's."""
    values = np.unique(work[work > 0])
    steps = np.diff(values)
    if not len(steps) or steps.min() < 2:
        return work
    one = float(steps[steps < 1.5 * steps.min()].mean())
    one = float((values[-1] - values[0]) / np.rint(steps / one).sum())
    one = float(values[-1] / np.rint(values[-1] / one))
    turns = np.rint(work / one)
    cut_off = 1.5  # to a whole number, and once more in `one`
    return turns.astype(np.int64) if np.abs(work - turns * one).max() <= cut_off else work


def read_ftq(path: Path | str) -> FtqData:
    """Returns the samples of `-x noise -m ftq`."""
    block = _cycles(path)
    quantum_us = header_whole(block.header, "Compute-Cycle Duration")
    if not quantum_us:
        raise NetgaugeError(f"{path}: no '# Compute-Cycle Duration: N usec': the quantum is unknown")
    counts = _turns(block.rows.column(1))
    starts = np.arange(len(counts), dtype=np.int64) * (quantum_us * 1000)
    return FtqData(str(path), quantum_us * 1000, starts, counts, block.header)


def read_fwq(path: Path | str) -> FwqData:
    """Returns the samples of `-x noise -m fwq`; a tick is 1 µs, and a detour is at least two ticks."""
    block = _cycles(path)
    return FwqData(str(path), block.rows.column(1), 1e-3, None, 1, block.header)
