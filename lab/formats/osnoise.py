# SPDX-License-Identifier: BSD-2-Clause
"""Reads the output of Linux's noise tracer: the text of tracefs, `rtla osnoise top` and `rtla osnoise hist`.

Sources: Linux, Documentation/trace/osnoise-tracer.rst and Documentation/tools/rtla. Of the three texts only
the first has single detours:

    tracefs   `sample_threshold: start S.NNNNNNNNN duration D ns interferences N`: a detour. At the end of
    each
              period, a line of RUNTIME, NOISE, %, MAX SINGLE in µs and five interference counters.
              irq_noise, thread_noise … are causes, not detours.
    top       a line per CPU: period, runtime, noise, % available, max noise, max single, counters; in µs.
              Totals only.
    hist      detours by length in buckets, a column per CPU. A detour gets the middle of its bucket as its
              length. The times are unknown.

The counters (HW, NMI, IRQ, softirq, thread) count interferences; several may be one detour. They become
parameters of the trace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import LINE_BYTES_MAX, ROWS_MAX
from lab.formats.trace import Totals, Trace

COUNTERS = ("HW", "NMI", "IRQ", "softirq", "thread")
#: The tracer's threshold unless tracing_threshold is set.
THRESHOLD_NS_DEFAULT = 5_000.0

_DETOUR = re.compile(r"\[(\d{1,5})\].* sample_threshold: start (\d{1,12})\.(\d{9}) duration (\d{1,18}) ns")
_PERIOD = re.compile(
    r"\[(\d{1,5})\]\s+\S+\s+(\d{1,12})\.(\d{1,9}):\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,3}\.\d+)"
    r"\s+(\d{1,15})((?:\s+\d{1,15}){5})\s*$"
)
_TOP = re.compile(
    r"\s*(\d{1,5})\s+#(\d{1,12})\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,3}\.\d+)"
    r"\s+(\d{1,15})\s+(\d{1,15})((?:\s+\d{1,15}){4,5})\s*$"
)
_DURATION = re.compile(r"[Dd]uration:\s+(\d{1,6}) (\d\d):(\d\d):(\d\d)")


class OsnoiseError(DataError):
    """Text that is not the tracer's."""


def text_lines(path: Path | str, error: type[DataError], what: str) -> Iterator[tuple[int, str]]:
    """Yields numbered lines of ASCII; raises `error` at a line that is not text or has no newline."""
    with Path(path).open("rb") as file:
        number = 0
        while raw := file.readline(LINE_BYTES_MAX):
            number += 1
            if not raw.isascii():
                raise error(f"{path}:{number}: not text; give {what}")
            if not raw.endswith(b"\n"):
                raise error(f"{path}:{number}: no newline at the end: the file is cut off, or is not text")
            yield number, raw.decode("ascii").rstrip()


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    return text_lines(path, OsnoiseError, "the tracer's or rtla's output")


@dataclass
class _Cpu:
    """The trace of one CPU."""

    starts: list[int] = field(default_factory=list)
    durations: list[int] = field(default_factory=list)
    runtime_us: int = 0
    noise_us: int = 0
    single_us: int = 0
    begun_ns: int | None = None
    counters: list[int] = field(default_factory=lambda: [0] * len(COUNTERS))


def _period_add(cpu: _Cpu, match: re.Match[str]) -> None:
    runtime_us = int(match[4])
    ended_ns = int(match[2]) * 10**9 + int(match[3].ljust(9, "0"))
    if cpu.begun_ns is None:
        cpu.begun_ns = max(ended_ns - runtime_us * 1000, 0)
    cpu.runtime_us += runtime_us
    cpu.noise_us += int(match[5])
    cpu.single_us = max(cpu.single_us, int(match[7]))
    cpu.counters = [a + int(b) for a, b in zip(cpu.counters, match[8].split())]


def _tracefs_trace(path: Path | str, number: int, cpu: _Cpu) -> Trace:
    source = f"{path}:CPU {number}"
    parameters = dict(zip(COUNTERS, map(str, cpu.counters))) if cpu.runtime_us else {}
    common = dict(
        source=source, format="osnoise", threshold_ns=THRESHOLD_NS_DEFAULT, system="Linux", cpu=number
    )
    if not cpu.starts:
        totals = Totals(sum(cpu.counters) if cpu.noise_us else 0, cpu.noise_us * 1e3, cpu.single_us * 1e3)
        empty = np.empty(0)
        return Trace(
            start_ns=empty,
            duration_ns=empty,
            span_ns=cpu.runtime_us * 1e3,
            parameters=parameters,
            totals=totals,
            **common,
        )  # type: ignore[arg-type]
    starts = np.array(cpu.starts, dtype=np.float64)
    durations = np.array(cpu.durations, dtype=np.float64)
    origin = starts[0] if cpu.begun_ns is None else min(starts[0], float(cpu.begun_ns))
    # Periods in which the tracer slept were not measured, but are part of the time axis.
    span_ns = float(max(starts[-1] + durations[-1] - origin, cpu.runtime_us * 1e3))
    parameters["runtime_us"] = str(cpu.runtime_us) if cpu.runtime_us else "unknown: first to last detour"
    return Trace(
        start_ns=starts - origin, duration_ns=durations, span_ns=span_ns, parameters=parameters, **common
    )  # type: ignore[arg-type]


def read_tracefs(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of tracefs's `trace` or `trace_pipe`. Raises DataError or OSError."""
    cpus: dict[int, _Cpu] = {}
    found = 0
    for number, line in _lines(path):
        if "sample_threshold:" in line:
            match = _DETOUR.search(line)
            if not match:
                raise OsnoiseError(
                    f"{path}:{number}: not a detour: {line[-60:]!r}; a detour is 'sample_threshold: start "
                    "S.NNNNNNNNN duration D ns'"
                )
            cpu = cpus.setdefault(int(match[1]), _Cpu())
            start = int(match[2]) * 10**9 + int(match[3])
            if cpu.starts and start < cpu.starts[-1]:
                raise OsnoiseError(
                    f"{path}:{number}: time runs backwards on CPU {match[1]}; lines must be in order of time"
                )
            cpu.starts.append(start)
            cpu.durations.append(int(match[4]))
            found += 1
            if found > ROWS_MAX // 10:
                raise OsnoiseError(f"{path}: more than {ROWS_MAX // 10} detours; split the file")
        elif match := _PERIOD.search(line):
            _period_add(cpus.setdefault(int(match[1]), _Cpu()), match)
    if not cpus:
        raise OsnoiseError(
            f"{path}: neither a 'sample_threshold' event nor a line of a period; trace with the osnoise "
            "tracer, or enable events/osnoise"
        )
    return [_tracefs_trace(path, number, cpu) for number, cpu in sorted(cpus.items())]


def read_top(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of `rtla osnoise top -q`: totals only. Of several screens the last one
    counts."""
    rows: dict[int, Trace] = {}
    scale, begun = 1e3, False
    for number, line in _lines(path):
        if "time is in" in line:
            scale = 1.0 if line.rstrip().endswith("ns") else 1e3
        if line.split()[:2] == ["CPU", "Period"]:
            rows, begun = {}, True
            continue
        match = _TOP.match(line)
        if not match:
            if begun and line.strip() and line.split()[0].isdigit():
                raise OsnoiseError(
                    f"{path}:{number}: not a CPU's line: {line[:60]!r}; it must be CPU, #periods, runtime, "
                    "noise, %, max noise, max single and counters"
                )
            continue
        runtime, noise, single = int(match[3]) * scale, int(match[4]) * scale, int(match[7]) * scale
        if noise > runtime or single > noise:
            raise OsnoiseError(
                f"{path}:{number}: noise of {noise:.0f} ns, longest {single:.0f} ns, in {runtime:.0f} ns: "
                "impossible, so the line is damaged"
            )
        if not runtime:
            continue
        counters = list(map(int, match[8].split()))
        names = COUNTERS if len(counters) == len(COUNTERS) else COUNTERS[1:]
        empty = np.empty(0)
        rows[int(match[1])] = Trace(
            f"{path}:CPU {match[1]}",
            "rtla-top",
            empty,
            empty,
            runtime,
            THRESHOLD_NS_DEFAULT,
            "Linux",
            int(match[1]),
            {"periods": match[2], **dict(zip(names, map(str, counters)))},
            totals=Totals(sum(counters) if noise else 0, noise, single),
        )
    if not rows:
        raise OsnoiseError(f"{path}: no CPU's line; give the output of `rtla osnoise top -q`")
    return [rows[cpu] for cpu in sorted(rows)]


@dataclass
class _Histogram:
    """The content of rtla's text: each of `rows` is a bucket's index and a count for each CPU, in the
    session's unit of time."""

    scale_ns: float = 1e3
    span_ns: float = 0.0
    cpus: list[int] = field(default_factory=list)
    rows: list[tuple[int, list[int]]] = field(default_factory=list)
    summary: dict[str, list[int]] = field(default_factory=dict)


def _counts(where: str, line: str, words: list[str], what: str) -> list[int]:
    """Parses whole numbers; the error says what such a line must hold."""
    if not all(re.fullmatch(r"\d{1,12}", word) for word in words):
        raise OsnoiseError(f"{where}: not {what.partition(';')[0]}: {line[:60]!r};{what.partition(';')[2]}")
    return list(map(int, words))


def _hist_line(found: _Histogram, where: str, line: str) -> None:
    """Adds one line."""
    words = line.split()
    if line.startswith("# Time unit is"):
        found.scale_ns = 1.0 if "nanoseconds" in line else 1e3
    elif match := _DURATION.search(line):
        days, hours, minutes, seconds = map(int, match.groups())
        found.span_ns = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e9
    elif words[:1] == ["Index"]:
        found.cpus = [int(word[4:]) for word in words[1:] if re.fullmatch(r"CPU-\d{1,5}", word)]
        if len(found.cpus) != len(words) - 1:
            raise OsnoiseError(f"{where}: not a heading: {line[:60]!r}; it is 'Index CPU-000 CPU-001 …'")
    elif words and words[0] in ("over:", "count:"):
        found.summary[words[0][:-1]] = _counts(
            where, line, words[1:], "a summary; it has one count for each CPU"
        )
    elif words and words[0].isdigit():
        right = f"a bucket; it has an index, and one count for each of {len(found.cpus)} CPUs"
        index, *counts = _counts(
            where, line, words if found.cpus and len(words) == len(found.cpus) + 1 else ["?"], right
        )
        if found.rows and index <= found.rows[-1][0]:
            raise OsnoiseError(f"{where}: bucket {index} after {found.rows[-1][0]}; buckets must rise")
        found.rows.append((index, counts))


def _hist_trace(path: Path | str, found: _Histogram, place: int, width: int) -> Trace:
    """Returns one CPU's trace: each detour has the middle of its bucket as its length; those over the last
    bucket have its end."""
    cpu, counts = found.cpus[place], [row[1][place] for row in found.rows]
    over = found.summary.get("over", [0] * len(found.cpus))[place]
    listed = sum(counts) + over
    stated = found.summary.get("count")
    if stated is not None and listed != stated[place]:
        raise OsnoiseError(
            f"{path}: CPU {cpu}: {listed} detours in the buckets, but {stated[place]} in the summary: lines "
            "are missing"
        )
    if listed > ROWS_MAX:
        raise OsnoiseError(f"{path}: CPU {cpu}: more than {ROWS_MAX} detours; this is not a noise histogram")
    middles = (np.array([row[0] for row in found.rows], dtype=np.float64) + width / 2) * found.scale_ns
    last_ns = (found.rows[-1][0] + width) * found.scale_ns if found.rows else 0.0
    durations = np.concatenate([np.repeat(middles, counts), np.full(over, last_ns)])
    parameters = {"bucket_ns": f"{width * found.scale_ns:g}", "over": str(over)}
    return Trace(
        f"{path}:CPU {cpu}",
        "rtla-hist",
        np.zeros(listed),
        durations,
        found.span_ns,
        THRESHOLD_NS_DEFAULT,
        "Linux",
        cpu,
        parameters,
        starts_known=False,
        over=over,
    )


def read_hist(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of `rtla osnoise hist`; durations to a bucket, no starts. The measured time is
    the session's, an upper bound. Raises DataError or OSError."""
    found = _Histogram()
    for number, line in _lines(path):
        _hist_line(found, f"{path}:{number}", line)
    if found.span_ns <= 0:
        raise OsnoiseError(f"{path}: no '# Duration: D HH:MM:SS'; keep rtla's header in the file")
    if not found.cpus and found.summary.get("count") == [0]:
        found.cpus, found.summary = [0], {}  # rtla names no CPU if there was no detour
    if not found.cpus:
        raise OsnoiseError(f"{path}: no 'Index CPU-000 …' line; keep rtla's header and index in the file")
    if any(len(counts) != len(found.cpus) for counts in found.summary.values()):
        raise OsnoiseError(f"{path}: the summary does not have {len(found.cpus)} CPUs; the file is damaged")
    # Buckets without a detour are missing, but all begin at multiples of the width.
    width = math.gcd(*(index for index, _ in found.rows)) or 1
    return [_hist_trace(path, found, place, width) for place in range(len(found.cpus))]
