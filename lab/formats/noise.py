# SPDX-License-Identifier: BSD-2-Clause
"""Reads the noise files that the simulator replays: `lab convert --to noise`, and those of LogGOPSim.

A line is `start<TAB>duration` in ns; simulator/trace.cpp defines the rest, and this reader follows it. `#`
lines may state the period after which the detours recur, as `Measurement period: 12.5 s` or `Period: 1000
ns`. Without one, the period is the last start plus the mean distance of the starts; a single detour never
recurs. A detour that begins in another one begins after it. The last line needs no newline, as in
LogGOPSim's files.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lab.formats.columns import LISTED_MAX, UNLISTED, Layout, Table, blocks, check_rising, scan_stream
from lab.formats.errors import FormatError
from lab.formats.reading import header_number, text_open
from lab.formats.trace import Totals, Trace, header_parameters

LAYOUT = Layout(
    2,
    False,
    "a detour",
    "a detour is 'start<TAB>duration' in ns, from 0 on",
    FormatError,
    listed_max=LISTED_MAX,
)
#: A comment that only these files have, or a period before the data, where selfish files have none.
SIGN = re.compile(
    r"^# *(Noise trace|Period: )"
    r"|\A(?:#(?! *(?:Benchmark|Minimal|Selfish|Threshold|Time))[^\n]*\n)*?# *Measurement period: [^\n]*\n"
    r"(?:#[^\n]*\n)*[ \t]*\d",
    re.MULTILINE,
)
#: Detours that are compared at a time.
PIECE = 1 << 20
_NO_NEWLINE = (
    "no newline at the end, as in LogGOPSim's files; if the file is cut off, its last number is wrong"
)


def read(path: Path | str, span_ns: float | None = None, threshold_ns: float | None = None) -> list[Trace]:
    """Returns the one trace of a noise file; `span_ns` is the period if the file states none. Raises
    DataError or OSError."""
    path = Path(path)
    with text_open(path) as file:
        parts = scan_stream(file, str(path), LAYOUT)
        found = list(blocks(parts, LAYOUT, lambda _text: False, str(path)))
    if not found:
        raise FormatError(f"{path}: empty; {LAYOUT.right}")
    header, rows = found[0].header, found[0].rows
    check_rising(str(path), rows, 0, LAYOUT)
    starts, durations, rest = rows.column(0), rows.column(1), rows.unlisted
    remarks = []
    seconds = header_number(header, "Measurement period")
    stated = seconds * 1e9 if seconds else header_number(header, "Period") or span_ns
    if stated is None:
        stated = _period(path, rows)
        remarks.append(
            "no period stated: it is the last start plus the mean distance, or give --span SECONDS"
        )
    if moved := _separate(starts, durations):
        remarks.append(f"{moved:,} detours begin in another one; each is replayed after it")
    last, end = rest.last_start_ns, rest.end_ns
    if len(starts) and not rest.detours:
        last, end = float(starts[-1]), float(starts[-1] + durations[-1])
    totals = None
    if rest.detours:
        longest = max(float(durations.max()), rest.longest_ns)
        totals = Totals(len(rows) + rest.detours, float(durations.sum()) + rest.total_ns, longest)
        remarks.append(UNLISTED.format(len(rows), totals.detours))
    if not _newline_last(path):
        remarks.append(_NO_NEWLINE)
    return [
        Trace(
            str(path),
            "noise",
            starts,
            durations,
            max(stated, end) if last < stated else stated,
            threshold_ns,
            parameters=header_parameters(header),
            totals=totals,
            remarks=tuple(remarks),
        )
    ]


def _separate(starts: np.ndarray, durations: np.ndarray) -> int:
    """Moves each detour to the end of the one before if it begins earlier; returns how many are moved."""
    apart = all(
        (starts[i + 1 : i + PIECE + 1] >= starts[i:j] + durations[i:j]).all()
        for i in range(0, max(len(starts) - 1, 0), PIECE)
        for j in [min(i + PIECE, len(starts) - 1)]
    )
    if apart:
        return 0
    moved, free = 0, 0.0
    for i, (start, duration) in enumerate(zip(starts.tolist(), durations.tolist())):
        moved += start < free
        starts[i] = max(start, free)
        free = starts[i] + duration
    return moved


def _period(path: Path, rows: Table) -> float:
    """Returns the period of a file that states none, ns."""
    starts, count = rows.column(0), len(rows) + rows.unlisted.detours
    last = rows.unlisted.last_start_ns if rows.unlisted.detours else starts[-1] if count else 0.0
    if count < 2 or last <= starts[0]:
        raise FormatError(
            f"{path}: {count} detours{' at one time' if count > 1 else ''} and no '# Measurement "
            "period: SECONDS s', so the time after which they recur is unknown; give it with --span SECONDS"
        )
    return float(last + (last - starts[0]) / (count - 1))


def _newline_last(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return True
        file.seek(-1, 2)
        return file.read(1) in b"\n#"
