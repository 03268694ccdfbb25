# SPDX-License-Identifier: BSD-2-Clause
"""Reads what Linux's rtla prints: `osnoise top` and `hist`, `hwnoise`, `timerlat top` and `hist`.

Source: Linux, tools/tracing/rtla and Documentation/tools/rtla, versions 5.17 to 6.18.

    top     a line for each CPU, with totals. osnoise: period, runtime, noise, % available, max noise, max
            single, counters of interferences (hwnoise has two of the five), in µs. timerlat: a count, then
            current, minimum, mean and maximum of the interrupt, the thread and, with user threads, the
            return to user space; `-` for what was not measured.
    hist    lengths in buckets: a column for each CPU (timerlat: for interrupt, thread, user of each CPU),
            then `over:` (longer than the last bucket), `count:`, `min:`, `avg:`, `max:`.

osnoise counts detours; timerlat how late a timer was. The threshold is in none of them: neither is it here.

A bucket is named after its lower end, empty ones are left out, and rtla cuts off decimals; min, avg and max
are those of lengths that are cut off in this way. A length here is the middle of its bucket, but not beyond
the column's min and max; the longest is the file's max, also if it is over the last bucket. CPUs without a
sample have no column.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.histogram import Histogram, histogram_trace
from lab.formats.osnoise import COUNTERS
from lab.formats.reading import text_lines
from lab.formats.trace import Totals, Trace, latency_trace

US_NS = 1e3


class RtlaError(DataError):
    """Text that rtla did not print."""


# ---- top ----

_OSNOISE_ROW = re.compile(
    r"\s*(\d{1,5})\s+#(\d{1,12})\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,3}\.\d+)"
    r"\s+(\d{1,15})\s+(\d{1,15})((?:\s+\d{1,15}){2,5})\s*$"
)
#: The counters by their number: hwnoise's, those of an rtla that did not count the hardware's, all.
_COUNTERS_OF = {2: COUNTERS[:2], 4: COUNTERS[1:], 5: COUNTERS}


def read_osnoise_top(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of `rtla osnoise top` or `rtla hwnoise`: totals only. Of several screens the
    last one counts. Raises DataError or OSError."""
    rows: dict[int, Trace] = {}
    scale, begun = US_NS, False
    for number, line in text_lines(path, RtlaError, "rtla's output"):
        if "time is in" in line:
            scale = 1.0 if line.rstrip().endswith("ns") else US_NS
        if line.split()[:2] == ["CPU", "Period"]:
            rows, begun = {}, True
            continue
        match = _OSNOISE_ROW.match(line)
        if match and len(match[8].split()) in _COUNTERS_OF:
            if trace := _osnoise_row(path, number, match, scale):
                rows[int(match[1])] = trace
        elif begun and re.match(r"\s*\d+\s+#", line):
            raise RtlaError(
                f"{path}:{number}: not a CPU's line: {line[:60]!r}; it must be CPU, #periods, runtime, "
                "noise, %, max noise, max single and counters"
            )
    if not rows:
        raise RtlaError(
            f"{path}: no CPU's line; give the output of `rtla osnoise top -q` or `rtla hwnoise -q`"
        )
    return [rows[cpu] for cpu in sorted(rows)]


def _osnoise_row(path: Path | str, number: int, match: re.Match[str], scale: float) -> Trace | None:
    """Returns the trace of a CPU's line; None if the CPU was not measured."""
    cpu = int(match[1])
    runtime, noise, single = (int(match[i]) * scale for i in (3, 4, 7))
    if noise > runtime or single > noise:
        raise RtlaError(
            f"{path}:{number}: noise of {noise:.0f} ns, longest {single:.0f} ns, in {runtime:.0f} ns: "
            "impossible, so the line is damaged"
        )
    if not runtime:
        return None
    counters = list(map(int, match[8].split()))
    names = _COUNTERS_OF[len(counters)]
    empty = np.empty(0)
    return Trace(
        f"{path}:CPU {cpu}",
        "rtla-top",
        empty,
        empty,
        runtime,
        system="Linux",
        cpu=cpu,
        parameters={"periods": match[2], **dict(zip(names, map(str, counters)))},
        totals=Totals(sum(counters) if noise else 0, noise, single),
    )


_CELLS = r"((?:\s+(?:\d{1,12}|-)){4}) ?"
_TIMERLAT_ROW = re.compile(rf"\s*(\d{{1,5}}) #(\d{{1,12}})\s*\|{_CELLS}\|{_CELLS}(?:\|{_CELLS})?\s*$")
_TIMERLAT_PARTS = ("IRQ", "thread", "user")


def read_timerlat_top(path: Path | str) -> list[Trace]:
    """Returns a trace for each of the interrupt, the thread and, with user threads, the return to user space
    of each CPU of `rtla timerlat top`: totals only. Of several screens the last one counts."""
    rows: dict[int, list[Trace]] = {}
    scale, begun = US_NS, False
    for number, line in text_lines(path, RtlaError, "rtla's output"):
        if "Timer Latency (" in line:
            scale = 1.0 if "(ns)" in line else US_NS
        if line.split()[:2] == ["CPU", "COUNT"]:
            rows, begun = {}, True
            continue
        match = _TIMERLAT_ROW.match(line)
        if match:
            rows[int(match[1])] = _timerlat_row(f"{path}:{number}", str(path), match, scale)
        elif begun and re.match(r"\s*\d+ #", line):
            raise RtlaError(
                f"{path}:{number}: not a CPU's line: {line[:60]!r}; it must be CPU, #count, and cur, min, "
                "avg, max of the interrupt, of the thread and, with user threads, of the return to user space"
            )
    if not rows:
        raise RtlaError(f"{path}: no CPU's line; give the output of `rtla timerlat top -q`")
    return [trace for cpu in sorted(rows) for trace in rows[cpu]]


def _timerlat_row(where: str, path: str, match: re.Match[str], scale: float) -> list[Trace]:
    """Returns the traces of a CPU's line. Its count is the interrupt's; the others' may be less by what was
    in flight at the end."""
    cpu, count = int(match[1]), int(match[2])
    traces = []
    for part, cells in zip(_TIMERLAT_PARTS, match.groups()[2:]):
        if cells is None:
            continue
        words = cells.split()
        totals = Totals(0, 0.0, 0.0)
        if "-" not in words[1:]:
            low, mean, high = (int(word) * scale for word in words[1:])
            if not low <= mean <= high:
                raise RtlaError(f"{where}: {part}: {low:g}, {mean:g}, {high:g} ns do not rise")
            totals = Totals(max(count, 1), mean * max(count, 1), high, low, mean)
        source = f"{path}:CPU {cpu} {part}"
        traces.append(latency_trace(source, "timerlat-top", np.empty(0), totals, cpu=cpu))
    return traces


# ---- hist ----

_DURATION = re.compile(r"[Dd]uration:\s+(\d{1,6}) (\d\d):(\d\d):(\d\d)")
_SUMMARY = ("over:", "count:", "min:", "avg:", "max:")


@dataclass(frozen=True)
class _Kind:
    """How a histogram names its columns."""

    column: re.Pattern[str]
    example: str


_OSNOISE = _Kind(re.compile(r"CPU-\d{1,5}"), "Index CPU-000 …")
_TIMERLAT = _Kind(re.compile(r"(IRQ|Thr|Usr)-\d{1,5}"), "Index IRQ-000 …")


@dataclass
class _Table:
    """A histogram: each of `rows` is a bucket's lower end and a count for each column; the unit is
    `scale_ns`. A summary's cell is None for `-`."""

    scale_ns: float = US_NS
    span_ns: float = math.nan
    headed: bool = False
    names: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[int]]] = field(default_factory=list)
    summary: dict[str, list[float | None]] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """Whether rtla found nothing: it then names no column. Up to 6.10 its summary is empty, later it has
        one zero in each line."""
        return not self.names and not self.rows and not any(map(any, self.summary.values()))

    @property
    def width(self) -> int:
        """The width of a bucket: all begin at its multiples."""
        return math.gcd(*(index for index, _ in self.rows)) or 1


def _table(path: Path | str, kind: _Kind) -> _Table:
    """Reads and checks a histogram."""
    found = _Table()
    for number, line in text_lines(path, RtlaError, "rtla's output"):
        if line.split()[:1] == ["Index"] and found.headed:
            raise RtlaError(f"{path}:{number}: a second heading; give the output of one session")
        if "max" not in found.summary:  # after it, rtla sums up the columns, and says what it saved
            _table_line(found, kind, f"{path}:{number}", line)
    if not found.headed or "count" not in found.summary:
        raise RtlaError(
            f"{path}: no '{kind.example}' or no 'count:' line: the file is cut off, or was made with "
            "--no-header, --no-index or --no-summary; keep rtla's header, index and summary"
        )
    if "max" not in found.summary:
        raise RtlaError(f"{path}: no 'max:' line: the file is cut off; give rtla's whole output")
    if found.silent:
        return found
    if found.names and not found.rows and not any(map(any, found.summary.values())):
        raise RtlaError(
            f"{path}: columns for {', '.join(found.names)[:60]}, but no bucket and a summary of zeros: all "
            "lengths are beyond the last bucket, and this rtla does not count them; use more or wider "
            "buckets (-E, -b)"
        )
    for row in _SUMMARY:
        if len(found.summary.get(row[:-1], found.names)) != len(found.names):
            raise RtlaError(
                f"{path}: '{row}' does not have {len(found.names)} columns as the index has; the file is "
                "damaged"
            )
    return found


def _table_line(found: _Table, kind: _Kind, where: str, line: str) -> None:
    """Adds one line."""
    words = line.split()
    if line.startswith("# Time unit is"):
        found.scale_ns = 1.0 if "nanoseconds" in line else US_NS
    elif match := _DURATION.search(line):
        days, hours, minutes, seconds = map(int, match.groups())
        found.span_ns = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e9 or math.nan
    elif words[:1] == ["Index"]:
        found.headed, found.names = True, words[1:]
        if not all(kind.column.fullmatch(name) for name in found.names):
            raise RtlaError(f"{where}: not a heading: {line[:60]!r}; it is '{kind.example}'")
    elif words and words[0] in _SUMMARY:
        if not all(re.fullmatch(r"\d{1,12}(\.\d{1,6})?|-", word) for word in words[1:]):
            raise RtlaError(f"{where}: not a summary: {line[:60]!r}; it has a number or - for each column")
        found.summary[words[0][:-1]] = [None if word == "-" else float(word) for word in words[1:]]
    elif words and words[0].isdigit():
        if len(words) != len(found.names) + 1 or not all(re.fullmatch(r"\d{1,12}", word) for word in words):
            raise RtlaError(
                f"{where}: not a bucket: {line[:60]!r}; it has an index, and one count for each of "
                f"{len(found.names)} columns"
            )
        index, *counts = map(int, words)
        if found.rows and index <= found.rows[-1][0]:
            raise RtlaError(f"{where}: bucket {index} after {found.rows[-1][0]}; buckets must rise")
        found.rows.append((index, counts))


def _column(path: Path | str, found: _Table, place: int) -> tuple[Histogram, Totals]:
    """Returns one column's lengths, and its totals with the file's own mean and maximum."""
    name, scale = found.names[place], found.scale_ns
    low, mean, high = (found.summary.get(row, [])[place:] for row in ("min", "avg", "max"))
    counts = [row[1][place] for row in found.rows]
    over = int((found.summary.get("over") or [0.0] * len(found.names))[place] or 0)
    listed, stated = sum(counts) + over, found.summary["count"][place] or 0
    where, noun = (f"CPU {int(name[4:])}", " detours") if name.startswith("CPU") else (name, "")
    if listed != stated:
        raise RtlaError(
            f"{path}: {where}: {listed}{noun} in the buckets, but {stated:.0f} in the summary: lines are "
            "missing"
        )
    longest = high[0] * scale if high and high[0] is not None else math.inf
    shortest = low[0] * scale if low and low[0] is not None else 0.0
    if shortest > longest:
        raise RtlaError(f"{path}: {name}: min above max; the summary is damaged")
    middles = (np.array([row[0] for row in found.rows], dtype=np.float64) + found.width / 2) * scale
    beyond = (found.rows[-1][0] + found.width) * scale if found.rows else shortest
    histogram = Histogram.of(list(zip(np.clip(middles, shortest, longest), counts)), over, beyond)
    if not listed:
        return histogram, histogram.totals()
    longest = longest if math.isfinite(longest) else histogram.longest_ns
    total = histogram.total_ns + (longest - beyond if over else 0.0)
    if mean and mean[0] is not None:
        total = min(max(total, mean[0] * scale * listed), (mean[0] + 1 + found.width) * scale * listed)
    return histogram, histogram.totals(total, longest, total / listed)


def read_osnoise_hist(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of `rtla osnoise hist`; durations to a bucket, no starts. The measured time is
    the session's, an upper bound. A silent session is one trace without a CPU, since rtla names none. Raises
    DataError or OSError."""
    found = _table(path, _OSNOISE)
    if math.isnan(found.span_ns):
        raise RtlaError(f"{path}: no '# Duration: D HH:MM:SS' above 0; keep rtla's header in the file")
    if found.silent:
        empty = np.empty(0)
        return [
            Trace(str(path), "rtla-hist", empty, empty, found.span_ns, system="Linux", starts_known=False)
        ]
    traces = []
    for place, name in enumerate(found.names):
        (histogram, totals), cpu = _column(path, found, place), int(name[4:])
        lengths = histogram.listed()
        traces.append(
            Trace(
                f"{path}:CPU {cpu}",
                "rtla-hist",
                np.zeros(len(lengths)),
                lengths,
                found.span_ns,
                system="Linux",
                cpu=cpu,
                parameters={"bucket_ns": f"{found.width * found.scale_ns:g}", "over": str(histogram.over)},
                starts_known=False,
                totals=totals,
                over=min(histogram.over, len(lengths)),
            )
        )
    return traces


def read_timerlat_hist(path: Path | str) -> list[Trace]:
    """Returns a trace for each column of `rtla timerlat hist`: interrupt, thread and, if measured, return to
    user space of each CPU. Raises DataError or OSError."""
    found = _table(path, _TIMERLAT)
    if found.silent:
        return [
            latency_trace(str(path), "timerlat-hist", np.empty(0), Totals(0, 0.0, 0.0), span_ns=found.span_ns)
        ]
    traces = []
    for place, name in enumerate(found.names):
        (histogram, totals), cpu = _column(path, found, place), int(name[4:])
        source = f"{path}:CPU {cpu} {name[:3]}"
        traces.append(
            histogram_trace(source, "timerlat-hist", histogram, totals, cpu=cpu, span_ns=found.span_ns)
        )
    return traces
