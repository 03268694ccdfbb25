# SPDX-License-Identifier: BSD-2-Clause
"""Reads the text that Linux's noise tracer leaves in tracefs (`trace`, `trace_pipe`), also as `trace-cmd
report` prints it. rtla.py reads what rtla prints.

Source: Linux, Documentation/trace/osnoise-tracer.rst. Two kinds of lines count:

    an event    `sample_threshold: start S.NNNNNNNNN duration D ns interferences N`: a detour. irq_noise,
                thread_noise … are causes, not detours.
    a period    RUNTIME, NOISE, %, MAX SINGLE in µs and five interference counters, at the end of each period

The counters (HW, NMI, IRQ, softirq, thread) count interferences; several may be one detour. They become
parameters of the trace.

Only the lines of periods say how long a CPU was measured. If a text has none, the time between its first and
last line stands for it, or nothing at all if there are few lines: one event would take 100 % of its own time.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import ROWS_MAX
from lab.formats.reading import PIECE, text_lines
from lab.formats.trace import Totals, Trace

COUNTERS = ("HW", "NMI", "IRQ", "softirq", "thread")
#: From this number of lines on, the time from the first to the last is that of the measurement to a tenth.
LINES_MIN = 10

_DETOUR = re.compile(r"\[(\d{1,5})\].* sample_threshold:\s+start (\d{1,12})\.(\d{9}) duration (\d{1,18}) ns")
_STAMP = re.compile(r"\[\d{1,5}\]\s+(?:\S+\s+)?(\d{1,12})\.(\d{6,9}):\s")
_LOST = re.compile(r"CPU:(\d{1,5}) \[LOST (?:(\d{1,12}) )?EVENTS\]")
_PERIOD = re.compile(
    r"\[(\d{1,5})\]\s+\S+\s+(\d{1,12})\.(\d{1,9}):\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,3}\.\d+)"
    r"\s+(\d{1,15})((?:\s+\d{1,15}){5})\s*$"
)


class OsnoiseError(DataError):
    """Text that is not the tracer's."""


@dataclass
class _Cpu:
    """The trace of one CPU."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    durations: array[int] = field(default_factory=lambda: array("q"))
    runtime_us: int = 0
    noise_us: int = 0
    single_us: int = 0
    begun_ns: int | None = None
    counters: list[int] = field(default_factory=lambda: [0] * len(COUNTERS))
    lost: str = ""


@dataclass
class _Window:
    """The time from the first to the last of `lines` lines, on any CPU."""

    first_ns: int | None = None
    last_ns: int = 0
    lines: int = 0

    def add(self, from_ns: int, to_ns: int) -> None:
        self.first_ns = from_ns if self.first_ns is None else min(self.first_ns, from_ns)
        self.last_ns = max(self.last_ns, to_ns)
        self.lines += 1

    @property
    def span_ns(self) -> float:
        """The measured time, ns; NaN if there are too few lines to tell."""
        if self.lines < LINES_MIN or self.first_ns is None or self.last_ns <= self.first_ns:
            return math.nan
        return float(self.last_ns - self.first_ns)


def _nanoseconds(seconds: str, decimals: str) -> int:
    return int(seconds) * 10**9 + int(decimals.ljust(9, "0"))


def _period_add(cpu: _Cpu, match: re.Match[str]) -> None:
    runtime_us = int(match[4])
    ended_ns = _nanoseconds(match[2], match[3])
    if cpu.begun_ns is None:
        cpu.begun_ns = max(ended_ns - runtime_us * 1000, 0)
    cpu.runtime_us += runtime_us
    cpu.noise_us += int(match[5])
    cpu.single_us = max(cpu.single_us, int(match[7]))
    cpu.counters = [a + int(b) for a, b in zip(cpu.counters, match[8].split())]


def _detour_add(where: str, line: str, cpus: dict[int, _Cpu], window: _Window) -> None:
    match = _DETOUR.search(line)
    if not match:
        raise OsnoiseError(
            f"{where}: not a detour: {line[-60:]!r}; a detour is 'sample_threshold: start S.NNNNNNNNN "
            "duration D ns'"
        )
    cpu = cpus.setdefault(int(match[1]), _Cpu())
    start, duration = _nanoseconds(match[2], match[3]), int(match[4])
    if cpu.starts and start < cpu.starts[-1]:
        raise OsnoiseError(
            f"{where}: time runs backwards on CPU {int(match[1])}; lines must be in order of time"
        )
    cpu.starts.append(start)
    cpu.durations.append(duration)
    window.add(start, start + duration)


def read_tracefs(path: Path | str, span_ns: float | None = None) -> list[Trace]:
    """Returns a trace per CPU of tracefs's `trace` or `trace_pipe`. `span_ns` is the measured time of CPUs
    without a line of a period; else it is that of all lines, or NaN. Raises DataError or OSError."""
    cpus: dict[int, _Cpu] = {}
    window = _Window()
    found = 0
    for number, line in text_lines(path, OsnoiseError, "the tracer's output"):
        if "sample_threshold:" in line:
            _detour_add(f"{path}:{number}", line, cpus, window)
            found += 1
            if found > ROWS_MAX:
                raise OsnoiseError(f"{path}: more than {ROWS_MAX} detours; split the file")
        elif match := _PERIOD.search(line):
            _period_add(cpus.setdefault(int(match[1]), _Cpu()), match)
        elif match := _LOST.search(line):
            cpus.setdefault(int(match[1]), _Cpu()).lost = f"the tracer lost {match[2] or 'some'} events here"
        elif match := _STAMP.search(line):
            stamp = _nanoseconds(match[1], match[2])
            window.add(stamp, stamp)
    cpus = {number: cpu for number, cpu in cpus.items() if cpu.starts or cpu.runtime_us}
    if not cpus:
        raise OsnoiseError(
            f"{path}: neither a 'sample_threshold' event nor a line of a period; trace with the osnoise "
            "tracer, or enable events/osnoise"
        )
    return [_trace(path, number, cpu, window, span_ns) for number, cpu in sorted(cpus.items())]


def _silent(path: Path | str, number: int, cpu: _Cpu) -> Trace:
    """Returns the trace of a CPU that has lines of periods only: totals."""
    empty = np.empty(0)
    return Trace(
        f"{path}:CPU {number}",
        "osnoise",
        empty,
        empty,
        cpu.runtime_us * 1e3,
        system="Linux",
        cpu=number,
        parameters=dict(zip(COUNTERS, map(str, cpu.counters))),
        totals=Totals(sum(cpu.counters) if cpu.noise_us else 0, cpu.noise_us * 1e3, cpu.single_us * 1e3),
        doubt=_doubt(cpu),
    )


def _doubt(cpu: _Cpu) -> str:
    """Returns why a CPU's figures are doubtful, or an empty text."""
    how = "so all figures are lower bounds; trace with a larger buffer (buffer_size_kb)"
    return f"{cpu.lost}, {how}" if cpu.lost else ""


def _floats(whole: array[int], origin: int) -> np.ndarray:
    """Returns whole numbers, from `origin` on, as float64 in the same memory."""
    values = np.frombuffer(whole, dtype=np.int64)
    out = values.view(np.float64)
    for i in range(0, len(values), PIECE):
        out[i : i + PIECE] = values[i : i + PIECE] - origin
    return out


def _trace(path: Path | str, number: int, cpu: _Cpu, window: _Window, span_ns: float | None) -> Trace:
    if not cpu.starts:
        return _silent(path, number, cpu)
    parameters, remarks = {}, []
    origin, last_end = cpu.starts[0], cpu.starts[-1] + cpu.durations[-1]
    if cpu.runtime_us:
        parameters = dict(zip(COUNTERS, map(str, cpu.counters))) | {"runtime_us": str(cpu.runtime_us)}
        origin = min(origin, cpu.begun_ns or 0)
        # Periods in which the tracer slept were not measured, but are part of the time axis.
        measured_ns = max(last_end - origin, cpu.runtime_us * 1000)
    else:
        origin = min(origin, window.first_ns or 0)
        measured_ns = span_ns if span_ns is not None else window.span_ns
        remarks = [] if span_ns is not None else [_time_remark(window)]
    return Trace(
        f"{path}:CPU {number}",
        "osnoise",
        _floats(cpu.starts, origin),
        _floats(cpu.durations, 0),
        float(measured_ns),
        system="Linux",
        cpu=number,
        parameters=parameters,
        doubt=_doubt(cpu),
        remarks=tuple(remarks),
    )


def _time_remark(window: _Window) -> str:
    how = "give it with --span SECONDS, or trace with the osnoise tracer, which writes a line for each period"
    if math.isnan(window.span_ns):
        events = "one event" if window.lines == 1 else f"{window.lines} events"
        return f"no line of a period and only {events}, so the measured time is unknown; {how}"
    return f"no line of a period: the measured time is that from the first to the last line; {how}"
