# SPDX-License-Identifier: BSD-2-Clause
"""sysjitter's raw files (`--raw PREFIX`, one a core): reader.

`#` lines with the clock's rate, the threshold, the number of interruptions and the time measured, then a line
for each interruption: ns since the start, µs since the one before, cycles, ns; sorted by length (`--sort`)
without the second column. The time is that of the reading *after* the interruption, so that it began its
length earlier. A core without interruptions gets three `#` lines and no measured time: such a file says that
there was none, but not in how long.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import Layout, Rows, blocks, rows_joined, scan_file
from lab.formats.reading import header_number, header_whole
from lab.formats.trace import Trace, header_parameters


class SysjitterError(DataError):
    """Data that is no raw file of sysjitter."""


_RIGHT = "an interruption is 'timestamp_ns delta_us cycles ns', whole numbers"
LAYOUT = Layout(4, True, "an interruption", _RIGHT, SysjitterError)
LAYOUT_SORTED = Layout(
    3,
    True,
    "an interruption",
    "an interruption of a sorted file is 'timestamp_ns cycles ns', whole numbers",
    SysjitterError,
)


def _layout(path: Path | str) -> Layout:
    """By the first line of data."""
    with Path(path).open("rb") as file:
        for raw in file.read(1 << 16).split(b"\n"):
            if raw.strip() and not raw.lstrip().startswith(b"#"):
                return LAYOUT_SORTED if len(raw.split()) == 3 else LAYOUT
    return LAYOUT


def _cpu(path: Path | str) -> int | None:
    """The core is known from the file's name only: PREFIX.N."""
    match = re.search(r"\.(\d{1,5})$", str(path))
    return int(match[1]) if match else None


def read(path: Path | str, span_ns: float | None = None) -> list[Trace]:
    """The one trace of a raw file; `span_ns` is the measured time where the file has none. DataError or
    OSError."""
    layout = _layout(path)
    found = list(blocks(scan_file(path, layout), layout, lambda _text: False))
    header = found[0].header if found else ()
    rows = found[0].rows if found else rows_joined([], layout)
    stated = header_whole(header, "n_interruptions")
    count = len(rows.lines)
    if stated is None:
        if not any(re.fullmatch(r"n_interruptions: 0", line) for line in header):
            raise SysjitterError(
                f"{path}: no '# n_interruptions'; give a file that sysjitter --raw has written"
            )
        stated = 0
    if stated != count:
        raise SysjitterError(
            f"{path}: {stated} interruptions by the header, {count} lines of them: lines are missing or "
            "damaged"
        )
    seconds = [
        header_number([line], "total_runtime")
        for line in header
        if line.startswith("total_runtime") and line.endswith("seconds")
    ]
    measured_ns = seconds[0] * 1e9 if seconds and seconds[0] else span_ns
    if measured_ns is None:
        raise SysjitterError(
            f"{path}: zero interruptions, and sysjitter does not say in how long; give it with --span SECONDS"
        )
    threshold = next(
        (re.fullmatch(r"threshold: (\d{1,12})ns", line) for line in header if line.startswith("threshold")),
        None,
    )
    return [_trace(path, rows, header, measured_ns, float(threshold[1]) if threshold else None)]


def _trace(
    path: Path | str, rows: Rows, header: tuple[str, ...], span_ns: float, threshold_ns: float | None
) -> Trace:
    ends, durations = rows.values[:, 0].astype(np.float64), rows.values[:, -1].astype(np.float64)
    starts = ends - durations
    order = np.argsort(starts, kind="stable")
    starts, durations = starts[order], durations[order]
    if len(starts) and starts[0] < -1000:
        i = int(rows.lines[order[0]])
        raise SysjitterError(
            f"{path}:{i}: an interruption of {durations[0]:.0f} ns ends {ends[order[0]]:.0f} ns after the "
            "start; it cannot be longer than that"
        )
    return Trace(
        str(path),
        "sysjitter",
        np.maximum(starts, 0.0),
        durations,
        span_ns,
        threshold_ns,
        "",
        _cpu(path),
        header_parameters(header),
    )
