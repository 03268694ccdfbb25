# SPDX-License-Identifier: BSD-2-Clause
"""Reads sysjitter's raw files (`--raw PREFIX`, one per core) and its summary.

A raw file has `#` lines with the clock's rate, the threshold, the number of interruptions and the measured
time, then a line per interruption: ns since the start, µs since the one before, cycles, ns. Files sorted by
length (`--sort`) lack the second column. The time is read *after* the interruption, so the interruption began
earlier by its length. The file of a core without interruptions has three `#` lines and no measured time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import Comment, Layout, Rows, Table, blocks, check_rising, scan_file
from lab.formats.histogram import PERCENTILES
from lab.formats.reading import header_number, header_whole, text_lines, text_open
from lab.formats.trace import Totals, Trace, header_parameters


class SysjitterError(DataError):
    """Data that is not a raw file of sysjitter."""


_RIGHT = "an interruption is 'timestamp_ns delta_us cycles ns', whole numbers"
LAYOUT = Layout(4, True, "an interruption", _RIGHT, SysjitterError, keep=(0, 3), as_float=True)
LAYOUT_SORTED = Layout(
    3,
    True,
    "an interruption",
    "an interruption of a sorted file is 'timestamp_ns cycles ns', whole numbers",
    SysjitterError,
    keep=(0, 2),
    as_float=True,
)


#: Raw files of a version that writes no header: ns, µs of the interruption, cycles, ns.
LAYOUT_BARE = Layout(
    4,
    False,
    "an interruption",
    "an interruption is 'timestamp_ns length_us cycles length_ns'",
    SysjitterError,
    keep=(0, 3),
)

_PERCENTILES = {
    "int_median(ns)": "median",
    "int_90(ns)": "p90",
    "int_99(ns)": "p99",
    "int_999(ns)": "p99.9",
    "int_9999(ns)": "p99.99",
    "int_99999(ns)": "p99.999",
}


def read_summary(path: Path | str) -> list[Trace]:
    """Returns a trace per core of sysjitter's summary: totals and percentiles, no single interruptions."""
    rows: dict[str, list[float]] = {}
    for number, line in text_lines(path, SysjitterError, "what sysjitter prints"):
        key, _, rest = line.partition(": ")
        words = rest.split()
        if not line.strip():
            continue
        if not all(re.fullmatch(r"\d{1,18}(\.\d{1,9})?", word) for word in words) or (
            rows and len(words) != len(next(iter(rows.values())))
        ):
            raise SysjitterError(f"{path}:{number}: not a figure for each core: {line[:60]!r}")
        rows[key] = [float(word) for word in words]
    for key in ("core_i", "runtime(ns)", "threshold(ns)", "int_n", "int_total(ns)", "int_max(ns)"):
        if key not in rows:
            raise SysjitterError(f"{path}: no {key!r}: the summary is cut off; give sysjitter's whole output")
    return [
        _summary_trace(path, {key: values[i] for key, values in rows.items()})
        for i in range(len(rows["core_i"]))
    ]


def _summary_trace(path: Path | str, core: dict[str, float]) -> Trace:
    count = int(core["int_n"])
    percentiles = {
        name: core[key]
        for key, name in _PERCENTILES.items()
        if key in core and count * (1_000_000 - PERCENTILES[name]) >= 1_000_000
    }
    totals = Totals(
        count,
        core["int_total(ns)"],
        core["int_max(ns)"],
        core.get("int_min(ns)"),
        core.get("int_mean(ns)"),
        percentiles,
    )
    if core["int_total(ns)"] > core["runtime(ns)"]:
        raise SysjitterError(
            f"{path}: core {core['core_i']:.0f}: the interruptions are longer than the measured time"
        )
    empty = np.empty(0)
    number = int(core["core_i"])
    return Trace(
        f"{path}:CPU {number}", "sysjitter-summary", empty, empty, core["runtime(ns)"], core["threshold(ns)"],
        "", number, totals=totals,
    )  # fmt: skip


def read_bare(path: Path | str, span_ns: float | None = None) -> list[Trace]:
    """Returns the one trace of a raw file without header. The measured time is `span_ns`, else up to the last
    interruption."""
    parts = _lengths_checked(path, scan_file(path, LAYOUT_BARE))
    found = list(blocks(parts, LAYOUT_BARE, lambda _text: False))
    if not found or not len(found[0].rows):
        raise SysjitterError(f"{path}: no interruption; {LAYOUT_BARE.right}")
    rows = found[0].rows
    check_rising(str(path), rows, 0, LAYOUT_BARE)
    header = () if span_ns else ("measured: unknown, up to the last interruption",)
    return [_trace(path, rows, header, span_ns or float(rows.column(0)[-1]), None)]


def _lengths_checked(path: Path | str, parts: Iterator[Comment | Rows]) -> Iterator[Comment | Rows]:
    """Yields the parts; SysjitterError if the two figures of a length are not equal."""
    for part in parts:
        if isinstance(part, Rows):
            wrong = np.abs(part.values[:, 1] * 1e3 - part.values[:, 3]) > 1.5
            if wrong.any():
                i = int(wrong.argmax())
                raise SysjitterError(
                    f"{path}:{part.lines[i]}: {part.values[i, 1]:g} µs do not equal {part.values[i, 3]:.0f} "
                    f"ns; {LAYOUT_BARE.right}"
                )
        yield part


def _layout(path: Path | str) -> Layout:
    """Returns the layout of a file's first line of data."""
    with text_open(path) as file:
        for raw in file.read(1 << 16).split(b"\n"):
            if raw.strip() and not raw.lstrip().startswith(b"#"):
                return LAYOUT_SORTED if len(raw.split()) == 3 else LAYOUT
    return LAYOUT


def _cpu(path: Path | str) -> int | None:
    """Returns the core, which only the file's name states: PREFIX.N."""
    match = re.search(r"\.(\d{1,5})$", str(path))
    return int(match[1]) if match else None


def read(path: Path | str, span_ns: float | None = None) -> list[Trace]:
    """Returns the one trace of a raw file; `span_ns` is the measured time if the file has none. Raises
    DataError or OSError."""
    layout = _layout(path)
    found = list(blocks(scan_file(path, layout), layout, lambda _text: False))
    header = found[0].header if found else ()
    rows = found[0].rows if found else Table(layout)
    stated = header_whole(header, "n_interruptions")
    count = len(rows)
    if stated is None:
        if not any(re.fullmatch(r"n_interruptions: 0", line) for line in header):
            raise SysjitterError(f"{path}: no '# n_interruptions'; give a file written by sysjitter --raw")
        stated = 0
    if stated != count:
        raise SysjitterError(
            f"{path}: the header states {stated} interruptions, but there are {count} lines: some are "
            "missing or damaged"
        )
    seconds = [
        header_number([line], "total_runtime")
        for line in header
        if line.startswith("total_runtime") and line.endswith("seconds")
    ]
    measured_ns = seconds[0] * 1e9 if seconds and seconds[0] else span_ns
    if measured_ns is None:
        raise SysjitterError(
            f"{path}: no interruptions, and sysjitter does not state the measured time; give --span SECONDS"
        )
    threshold = next(
        (re.fullmatch(r"threshold: (\d{1,12})ns", line) for line in header if line.startswith("threshold")),
        None,
    )
    return [_trace(path, rows, header, measured_ns, float(threshold[1]) if threshold else None)]


def _trace(
    path: Path | str, rows: Table, header: tuple[str, ...], span_ns: float, threshold_ns: float | None
) -> Trace:
    starts, durations = rows.column(0), rows.column(1)
    starts -= durations  # the column held the ends
    first = int(starts.argmin()) if len(starts) else 0
    if len(starts) and starts[first] < -1000:
        raise SysjitterError(
            f"{path}:{rows.lines[first]}: an interruption of {durations[first]:.0f} ns ends "
            f"{starts[first] + durations[first]:.0f} ns after the start; it cannot be longer than that"
        )
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, durations = starts[order], durations[order]
    return Trace(
        str(path),
        "sysjitter",
        np.maximum(starts, 0.0, out=starts),
        durations,
        span_ns,
        threshold_ns,
        "",
        _cpu(path),
        header_parameters(header),
    )
