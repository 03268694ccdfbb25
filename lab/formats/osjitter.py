# SPDX-License-Identifier: BSD-2-Clause
"""Reads the table that osjitter prints: a line for each CPU, with totals and percentiles.

This is the osjitter by Georg Sauthoff (github.com/gsauthof/osjitter), which reads the time stamp counter in a
loop, as sysjitter does. (Another program of the name, github.com/antonblanchard/osjitter, traces a patched
kernel of 2012.) The columns are named by the heading; these are used:

    #intr         interruptions that were found         sum_intr_ns   the time that they took together
    #delta        those of which it kept the length     rt_s          the measured time, whole seconds
    max_ns        the longest that it kept              median_ns, p90_ns, p99_ns, p99.9_ns

It keeps the lengths of a limited number of interruptions, the first ones (-n); the longest one and the
percentiles are theirs.
The threshold (-d, 100 ns by default) is not in the table.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.reading import text_lines
from lab.formats.trace import Totals, Trace

#: The percentiles, and one in how many lengths is beyond each.
_PERCENTILES = {
    "median_ns": ("median", 2),
    "p90_ns": ("p90", 10),
    "p99_ns": ("p99", 100),
    "p99.9_ns": ("p99.9", 1000),
}
_NEEDED = ("CPU", "#intr", "#delta", "sum_intr_ns", "rt_s", "max_ns")


class OsjitterError(DataError):
    """Text that is not osjitter's."""


def _row(where: str, heading: list[str], line: str) -> dict[str, float]:
    words = line.split()
    if len(words) != len(heading) or not all(re.fullmatch(r"\d{1,18}(\.\d{1,9})?", word) for word in words):
        raise OsjitterError(
            f"{where}: not a CPU's line: {line[:60]!r}; it has {len(heading)} numbers, as the heading has "
            "names"
        )
    return {name: float(word) for name, word in zip(heading, words)}


def read(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU: totals and percentiles. Raises DataError or OSError."""
    heading: list[str] = []
    rows: dict[int, Trace] = {}
    for number, line in text_lines(path, OsjitterError, "what osjitter prints"):
        where, words = f"{path}:{number}", line.split()
        if words[:2] == ["CPU", "TSC_khz"]:
            heading, rows = words, {}
            missing = [name for name in _NEEDED if name not in heading]
            if missing:
                raise OsjitterError(
                    f"{where}: the heading lacks {', '.join(missing)}; give osjitter's own output"
                )
        elif heading and words and words[0][0].isdigit():
            row = _row(where, heading, line)
            if row["CPU"] in rows:
                raise OsjitterError(f"{where}: CPU {row['CPU']:.0f} again; give the output of one run")
            rows[int(row["CPU"])] = _trace(where, str(path), row)
    if not rows:
        raise OsjitterError(
            f"{path}: no CPU's line below the heading: the file is cut off; give osjitter's output"
        )
    return [rows[cpu] for cpu in sorted(rows)]


def _trace(where: str, path: str, row: dict[str, float]) -> Trace:
    found, kept = int(row["#intr"]), int(row["#delta"])
    span_ns, noise_ns = row["rt_s"] * 1e9, row["sum_intr_ns"]
    if not span_ns:
        raise OsjitterError(f"{where}: a measured time of 0 s; run osjitter for a second at least (-t)")
    if kept > found or noise_ns > span_ns or row["max_ns"] > noise_ns + kept:
        raise OsjitterError(
            f"{where}: {kept} of {found} interruptions, the longest of {row['max_ns']:.0f} ns, "
            f"{noise_ns:.0f} ns together in {span_ns:.0f} ns: impossible, so the line is damaged"
        )
    percentiles = {
        name: row[key] for key, (name, one_in) in _PERCENTILES.items() if key in row and kept >= one_in
    }
    remark = f"it kept the lengths of the first {kept:,} interruptions only; later ones may be longer (-n)"
    empty = np.empty(0)
    return Trace(
        f"{path}:CPU {row['CPU']:.0f}",
        "osjitter",
        empty,
        empty,
        span_ns,
        cpu=int(row["CPU"]),
        parameters={name: f"{row[name]:.0f}" for name in ("TSC_khz", "loop_ns", "invol_ctx") if name in row},
        totals=Totals(found, noise_ns, row["max_ns"], None, noise_ns / found if found else None, percentiles),
        remarks=(remark,) if kept < found else (),
    )
