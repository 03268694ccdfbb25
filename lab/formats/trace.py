# SPDX-License-Identifier: BSD-2-Clause
"""The one structure for measured noise of any tool: the detours of one CPU, and what is known about them.

A *detour* is an interval during which the CPU did not run the program: start and length in ns. Readers
(registry.py) make a `Trace` from every file format that the lab knows; statistics, pictures, the report and
the writers use nothing else. All times are float64 ns: whole numbers are exact up to 2^53 ns, which is 104
days.

What a source does not state is None, an empty text or False, never an invented value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.common.files import written_whole
from lab.formats.ftq import FtqData
from lab.formats.fwq import FwqData

#: The most that rounding in a file may add to the last detour's end, ns.
ROUNDING_NS = 1_000.0
#: Lines that a writer converts to text at a time.
WRITE_LINES = 1 << 16


class TraceError(DataError):
    """A trace that contradicts itself, or that lacks data needed for a figure."""


@dataclass(frozen=True)
class Totals:
    """Figures that a source counted over all detours, more than it lists: rtla's summary, a full selfish
    array."""

    detours: int
    noise_ns: float
    longest_ns: float
    shortest_ns: float | None = None
    mean_ns: float | None = None
    percentiles_ns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace:
    """The detours of one CPU.

    source          the file; a part of it is named after a colon
    format          the file's format, a name from registry.py
    start_ns        start of each detour since the beginning of the measurement, never falling
    duration_ns     length of each detour, at least 0
    span_ns         measured time, above 0; NaN if the source does not tell it
    threshold_ns    shorter detours were not recorded; None if the source does not state it
    system          the system that ran, as the source states it ("Linux 6.1.0-56-amd64 #1 SMP
    PREEMPT_DYNAMIC")
    cpu             number of the CPU, if stated
    parameters      parameters of the measurement, by the source's own names
    samples         FTQ's or FWQ's samples, from which the detours were derived
    starts_known    False: the source is a histogram; starts are all 0
    durations_known False: the source has times only; durations are all 0
    totals          figures that the source counted, if they cover more than it lists
    over            number of lengths, the longest ones, that are lower bounds only
    doubt           why nothing may be concluded from the figures, or empty
    latencies       True: each length is not a detour but how late a timer was; they share no time
    remarks         what to know when reading the figures, which hold nevertheless; a sentence each
    """

    source: str
    format: str
    start_ns: np.ndarray
    duration_ns: np.ndarray
    span_ns: float
    threshold_ns: float | None = None
    system: str = ""
    cpu: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    samples: FtqData | FwqData | None = field(default=None, repr=False)
    starts_known: bool = True
    durations_known: bool = True
    totals: Totals | None = None
    over: int = 0
    doubt: str = ""
    latencies: bool = False
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the conditions above; TraceError if the source breaks one."""
        starts, durations = self.start_ns, self.duration_ns
        if starts.shape != durations.shape or starts.ndim != 1:
            raise TraceError(
                f"{self.source}: {len(starts)} starts and {len(durations)} durations; each detour must have "
                "one of both"
            )
        if not 0 < self.span_ns < 2.0**63 and not math.isnan(self.span_ns):
            raise TraceError(
                f"{self.source}: a measured time of {self.span_ns:g} ns; it must be above 0 and below 2^63"
            )
        if not len(starts):
            return
        if not (
            np.isfinite(starts).all()
            and np.isfinite(durations).all()
            and starts.min() >= 0
            and durations.min() >= 0
        ):
            raise TraceError(
                f"{self.source}: a negative or infinite time; starts and durations must be ns from 0 on"
            )
        if (starts[1:] < starts[:-1]).any():
            i = int((starts[1:] < starts[:-1]).argmax()) + 1
            raise TraceError(
                f"{self.source}: detour {i + 1} starts before detour {i}; they must be in the order of time"
            )
        if starts[-1] > self.span_ns + ROUNDING_NS:
            raise TraceError(
                f"{self.source}: the last detour starts at {starts[-1]:.0f} ns, but only {self.span_ns:.0f} "
                "ns were measured"
            )
        if not self.latencies and durations.sum() > self.span_ns + ROUNDING_NS:
            raise TraceError(
                f"{self.source}: detours of {durations.sum():.0f} ns together in {self.span_ns:.0f} ns of "
                "measurement; they cannot be longer than that"
            )

    @property
    def listed(self) -> int:
        """The number of detours that are listed one by one."""
        return len(self.start_ns)

    @property
    def detours(self) -> int:
        """The number of detours that were found, listed or not."""
        return max(self.totals.detours, self.listed) if self.totals else self.listed

    @property
    def noise_ns(self) -> float:
        """The time that all detours took, ns."""
        return self.totals.noise_ns if self.totals else float(self.duration_ns.sum())

    @property
    def listed_span_ns(self) -> float:
        """The time in which every detour is listed, ns: up to the last one if the source had no room for
        all."""
        if self.detours > self.listed:
            return (
                float(self.start_ns[-1] + self.duration_ns[-1]) if self.listed and self.starts_known else 0.0
            )
        return self.span_ns

    @property
    def complete(self) -> bool:
        """Whether start and length of all detours are known, so that phases can be replayed; true for a trace
        without detours."""
        return self.starts_known and self.durations_known and self.listed_span_ns > 0


def over_doubt(count: int) -> str:
    """Returns why figures are doubtful if `count` lengths are beyond the histogram; empty if none is."""
    return (
        f"{count} are longer than the last bucket, by an unknown amount, so the sum is a lower bound; run "
        "the tool with more buckets"
        if count
        else ""
    )


def latency_trace(
    source: str,
    format: str,
    lengths: np.ndarray,
    totals: Totals,
    *,
    parameters: Mapping[str, str] | None = None,
    doubt: str = "",
    cpu: int | None = None,
    span_ns: float = math.nan,
    over: int = 0,
    remarks: tuple[str, ...] = (),
) -> Trace:
    """Returns the trace of a Linux timer's latencies, of which `over` are lower bounds; ns."""
    return Trace(
        source, format, np.zeros(len(lengths)), lengths, span_ns, None, "Linux", cpu, parameters or {},
        starts_known=False, totals=totals, latencies=True, doubt=doubt, over=over, remarks=remarks,
    )  # fmt: skip


def system_text(header: tuple[str, ...]) -> str:
    """Returns what the `#` lines of FTQ, FWQ and selfish state about the system, in a line."""
    words: dict[str, str] = {}
    for line in header:
        for key in ("Sysname", "Release", "Version"):
            if line.startswith(key):
                words.setdefault(key, line[len(key) :].lstrip(" :").strip())
    return " ".join(words.values())


def header_parameters(header: tuple[str, ...]) -> dict[str, str]:
    """Returns `key: value` and `key value` lines as a dictionary; of equal keys the first."""
    found: dict[str, str] = {}
    for line in header:
        key, colon, value = line.partition(":")
        if not colon:
            key, _, value = line.rpartition(" ")
        if key.strip() and value.strip():
            found.setdefault(key.strip(), value.strip())
    return found


# ---- Writers ----


def _number(value: float) -> str:
    """Returns ns without needless digits; three decimals are a picosecond, the simulator's unit."""
    return str(int(value)) if value == int(value) else f"{value:.3f}".rstrip("0")


def _lines(starts: np.ndarray, durations: np.ndarray) -> Iterator[str]:
    for first in range(0, len(starts), WRITE_LINES):
        pairs = zip(
            starts[first : first + WRITE_LINES].tolist(), durations[first : first + WRITE_LINES].tolist()
        )
        yield "".join(f"{_number(start)}\t{_number(duration)}\n" for start, duration in pairs)


def _replayable(trace: Trace) -> Trace:
    if not trace.complete:
        if math.isnan(trace.span_ns):
            raise TraceError(
                f"{trace.source}: the measured time is unknown, so the trace cannot be replayed; give it "
                "with --span SECONDS"
            )
        missing = "starts" if not trace.starts_known else "durations" if not trace.durations_known else "list"
        raise TraceError(
            f"{trace.source}: the {trace.format} format does not hold the {missing} of detours, so the trace "
            "cannot be replayed"
        )
    return trace


def selfish_write(trace: Trace, path: Path) -> None:
    """Writes the trace in the format of netgauge's noise benchmark. TraceError if the detours are not known
    one by one."""
    _replayable(trace)
    span_ns = trace.listed_span_ns
    with written_whole(path) as part, part.open("w", encoding="ascii", errors="replace") as out:
        out.write("# Benchmark Method: selfish detour\n")
        out.write(f"# Source: {trace.source} ({trace.format})\n")
        if trace.system:
            out.write(f"# Sysname: {trace.system}\n")
        if trace.cpu is not None:
            out.write(f"# thread 0, core {trace.cpu}\n")
        if trace.threshold_ns is not None:
            out.write(f"# Threshold [ns]: {_number(trace.threshold_ns)}\n")
        out.write("# Time [ns]\tselfish duration [ns]\n")
        out.writelines(_lines(trace.start_ns, trace.duration_ns))
        out.write(f"# CPU overhead due to noise: {100 * float(trace.duration_ns.sum()) / span_ns:.9f}%\n")
        out.write(f"# Measurement period: {span_ns / 1e9:.12f} s\n")


def noise_write(trace: Trace, path: Path) -> None:
    """Writes the trace in the simulator's format: the first start is 0, the period a comment. TraceError as
    above."""
    _replayable(trace)
    first_ns = float(trace.start_ns[0]) if trace.listed else 0.0
    with written_whole(path) as part, part.open("w", encoding="ascii", errors="replace") as out:
        out.write(f"# Noise trace from {trace.source} ({trace.format})\n")
        out.write(f"# Measurement period: {trace.listed_span_ns / 1e9:.12f} s\n")
        out.writelines(_lines(trace.start_ns - first_ns, trace.duration_ns))


#: The formats of `lab convert --to`.
WRITERS = {"selfish": selfish_write, "noise": noise_write}
