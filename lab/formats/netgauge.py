# SPDX-License-Identifier: BSD-2-Clause
"""Reads netgauge's noise benchmark (`-x noise`), methods ftq and fwq. selfish.py reads its selfish files.

Both are `#` lines and then a line per cycle with its number. For FTQ the line has the operations of a
quantum, whose length is in the header; for FWQ the duration of the fixed work in whole µs. Cycles have no
gaps, so their numbers give the time."""

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


def read_ftq(path: Path | str) -> FtqData:
    """Returns the samples of `-x noise -m ftq`."""
    block = _cycles(path)
    quantum_us = header_whole(block.header, "Compute-Cycle Duration")
    if not quantum_us:
        raise NetgaugeError(f"{path}: no '# Compute-Cycle Duration: N usec': the quantum is unknown")
    counts = block.rows.column(1)
    starts = np.arange(len(counts), dtype=np.int64) * (quantum_us * 1000)
    return FtqData(str(path), quantum_us * 1000, starts, counts, block.header)


def read_fwq(path: Path | str) -> FwqData:
    """Returns the samples of `-x noise -m fwq`; a tick is 1 µs, and a detour is at least two ticks."""
    block = _cycles(path)
    return FwqData(str(path), block.rows.column(1), 1e-3, None, 1, block.header)
