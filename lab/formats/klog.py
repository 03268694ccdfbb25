# SPDX-License-Identifier: BSD-2-Clause
"""Reads the flight log of a Tacet node from its file.

The file is written by `tools/run --klog FILE`, or a copy of /proc/tacet/klog; the kernel's klog.h defines its
format. It describes its events, their classes and words itself, so logs of other kernel versions can be read,
too.

Times are nanoseconds since the kernel's first instruction, computed as the kernel's clock.c does. They are
comparable, to the nanosecond, with the times inside of events and with CLOCK_MONOTONIC in programs on the
node.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lab.common.errors import LabError

MAGIC = b"TACETLOG"
VERSION = 2
#: The architecture of files of version 1, which do not state it.
FIRST_ARCHITECTURE = "x86_64"

#: struct klog_header without its end (from version 2 on the architecture's name), struct klog_kind, struct
#: klog_cpu, struct klog_event.
HEADER = struct.Struct("<8sIIIIQQ")
NAME = struct.Struct("<16s")
KIND = struct.Struct("<24s16s40s")
CPU = struct.Struct("<IIQ")
EVENT = np.dtype([("ticks", "<u8"), ("kind", "<u4"), ("cpu", "<u4"), ("words", "<u8", (2,))])

#: The kind of an event that its CPU overwrote while the kernel read it.
OVERWRITTEN = 0xFFFFFFFF

#: Above the limits of any node; a larger file is not a flight log.
CPUS_MAX = 1024
KINDS_MAX = 1024
FILE_MAX = 64 << 20

NS_PER_S = 1_000_000_000
#: The time of an event that never comes.
NEVER = 2**64 - 1


class KlogError(LabError):
    """A file that is not a complete flight log; the message names the error and its offset."""


@dataclass(frozen=True)
class Kind:
    """A kind of event as the file describes it."""

    name: str
    event_class: str
    words: tuple[str, str]  #: "0" if a word is unused


@dataclass(frozen=True)
class CpuPart:
    """One CPU's part: the number of events in the file, and of older ones that were lost."""

    cpu: int
    kept: int
    lost: int


@dataclass(frozen=True)
class FlightLog:
    """A whole log; the arrays hold the events of all CPUs in order of time."""

    name: str
    clock_hz: int  #: 0 if the node ended before it knew; then times are ticks
    kinds: tuple[Kind, ...]
    cpus: tuple[CpuPart, ...]
    time_ns: np.ndarray
    cpu: np.ndarray
    kind: np.ndarray
    words: np.ndarray  #: two per event
    ticks: np.ndarray  #: the cycle counter's own stamps
    architecture: str = FIRST_ARCHITECTURE  #: whose system calls and vectors the numbers mean; any name

    def __len__(self) -> int:
        return len(self.time_ns)

    def select(self, keep: np.ndarray) -> FlightLog:
        """Returns the log with these events only."""
        arrays = ("time_ns", "cpu", "kind", "words", "ticks")
        return replace(self, **{array: getattr(self, array)[keep] for array in arrays})

    def of(self, kind: str) -> np.ndarray:
        """Returns the words of all events of one kind, in order of time."""
        numbers = [i for i, k in enumerate(self.kinds) if k.name == kind]
        return self.words[np.isin(self.kind, numbers)]


class _Bytes:
    """The file's bytes, read in order."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.offset = 0

    def error(self, what: str, offset: int | None = None) -> KlogError:
        return KlogError(f"{self.name}: offset {self.offset if offset is None else offset}: {what}")

    def take(self, count: int, what: str) -> memoryview:
        left = len(self.data) - self.offset
        if left < count:
            raise self.error(f"the file is {count - left} bytes too short, in {what}")
        self.offset += count
        return memoryview(self.data)[self.offset - count : self.offset]

    def text(self, field: bytes, pattern: str, what: str, offset: int | None = None) -> str:
        """Returns a NUL-padded name. Accepts only what a kernel writes, because names go to a terminal."""
        plain, _, rest = field.partition(b"\0")
        if rest.strip(b"\0") or not re.fullmatch(pattern.encode(), plain):
            raise self.error(f"{what} is {field[:24]!r}, not a name", offset)
        return plain.decode("ascii")


def ticks_to_ns(ticks: np.ndarray, clock_hz: int) -> np.ndarray:
    """Converts ticks as the kernel does: a multiplication by ns per tick times 2**32, and a shift, without
    overflow. Returns ticks if `clock_hz` is 0."""
    if clock_hz == 0:
        return ticks
    whole, part = divmod((NS_PER_S << 32) // clock_hz, 1 << 32)
    high, low = ticks >> np.uint64(32), ticks & np.uint64(0xFFFFFFFF)
    return ticks * np.uint64(whole) + high * np.uint64(part) + (low * np.uint64(part) >> np.uint64(32))


def _kinds(source: _Bytes, count: int) -> tuple[Kind, ...]:
    found = []
    for i in range(count):
        name, event_class, words = KIND.unpack(
            source.take(KIND.size, f"the description of event kind {i} of {count}")
        )
        first, second = source.text(words, r"[a-z0-9_]+ [a-z0-9_]+", f"the words of event kind {i}").split()
        found.append(
            Kind(
                source.text(name, r"[a-z][a-z0-9_]*", f"the name of event kind {i}"),
                source.text(event_class, r"[a-z][a-z0-9_]*", f"the class of event kind {i}"),
                (first, second),
            )
        )
    if len({kind.name for kind in found}) < count:
        raise source.error("two kinds of events have the same name")
    return tuple(found)


def _cpu_events(
    source: _Bytes, header: tuple[int, int, int], kinds: int, boot_ticks: int
) -> tuple[CpuPart, np.ndarray]:
    """Returns one CPU's events, checked. If the CPU overwrote events during the kernel's reading there are
    gaps; events before the last gap are dropped, so that the kept events are complete from the first one
    on."""
    cpu, count, lost = header
    start = source.offset
    events = np.frombuffer(
        source.take(count * EVENT.itemsize, f"the {count} events of CPU {cpu}"), dtype=EVENT
    )
    gaps = np.flatnonzero(events["kind"] == OVERWRITTEN)
    first = int(gaps[-1]) + 1 if len(gaps) else 0
    events = events[first:]

    def refuse(wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            raise source.error(what, start + (first + int(np.argmax(wrong))) * EVENT.itemsize)

    refuse(events["kind"] >= kinds, f"an event of a kind that the file does not describe (CPU {cpu})")
    refuse(events["cpu"] != cpu, f"an event of another CPU among those of CPU {cpu}")
    refuse(events["ticks"] < boot_ticks, f"an event from before the node's boot (CPU {cpu})")
    older = np.zeros(len(events), dtype=bool)
    older[1:] = events["ticks"][1:] < events["ticks"][:-1]
    refuse(older, f"an event that is older than the one before it (CPU {cpu})")
    return CpuPart(cpu, len(events), lost + count - len(events)), events


def parse(data: bytes, name: str = "flight log") -> FlightLog:
    """Returns a log from its bytes. KlogError says what is wrong with them, and where."""
    source = _Bytes(data, name)
    if not data:
        raise KlogError(
            f"{name}: the file is empty: the node did not end normally, or was not configured to send its log"
        )
    if not data.startswith(MAGIC[: len(data)]):
        raise source.error(f"not a flight log: it begins with {data[:8]!r} instead of {MAGIC!r}")
    _, version, cpu_count, kind_count, event_bytes, hz, boot_ticks = HEADER.unpack(
        source.take(HEADER.size, "the header")
    )
    if not 1 <= version <= VERSION:
        raise source.error(f"version {version}; this program reads versions 1 to {VERSION}", 8)
    if not 1 <= cpu_count <= CPUS_MAX:
        raise source.error(f"{cpu_count} CPUs; a node has 1 to {CPUS_MAX}", 12)
    if not 1 <= kind_count <= KINDS_MAX:
        raise source.error(f"{kind_count} kinds of events; there are 1 to {KINDS_MAX}", 16)
    if event_bytes != EVENT.itemsize:
        raise source.error(f"events of {event_bytes} bytes; version {VERSION} has {EVENT.itemsize}", 20)
    architecture = FIRST_ARCHITECTURE
    if version > 1:
        at = source.offset
        (name_bytes,) = NAME.unpack(source.take(NAME.size, "the architecture's name"))
        architecture = source.text(name_bytes, r"[a-z][a-z0-9_]*", "the architecture", at)
    kinds = _kinds(source, kind_count)
    parts: list[CpuPart] = []
    arrays: list[np.ndarray] = []
    for i in range(cpu_count):
        at = source.offset
        header = CPU.unpack(source.take(CPU.size, f"the part of CPU {i}"))
        if header[0] != i:
            raise source.error(f"the part of CPU {header[0]} instead of CPU {i}", at)
        part, events = _cpu_events(source, header, kind_count, boot_ticks)
        parts.append(part)
        arrays.append(events)
    if source.offset < len(data):
        raise source.error(f"{len(data) - source.offset} bytes after the end of the log")
    merged = np.concatenate(arrays)
    time_ns = ticks_to_ns(merged["ticks"] - np.uint64(boot_ticks), hz)
    order = np.argsort(time_ns, kind="stable")
    merged = merged[order]
    arrays = (time_ns[order], merged["cpu"], merged["kind"], merged["words"], merged["ticks"])
    return FlightLog(name, hz, kinds, tuple(parts), *arrays, architecture)


def read(path: Path) -> FlightLog:
    """Returns a log from a file. Raises KlogError."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX + 1)
    except OSError as error:
        raise KlogError(f"{path}: {error.strerror}") from None
    if len(data) > FILE_MAX:
        raise KlogError(f"{path}: more than {FILE_MAX} bytes: a flight log is never that large")
    return parse(data, str(path))
