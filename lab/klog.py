# SPDX-License-Identifier: BSD-2-Clause
"""`python3 -m lab.klog FILE`: the flight log of a Tacet node as a table, as a table of causes, or as a picture.

    python3 -m lab.klog build/klog.bin                        every event, all CPUs in the order of time
    python3 -m lab.klog build/klog.bin --summary              causes of each CPU: how often, how long
    python3 -m lab.klog build/klog.bin --chrome trace.json    for https://ui.perfetto.dev or chrome://tracing

The file is what `tools/run --klog FILE` keeps and what /proc/tacet/klog reads as; kernel/include/klog.h defines it. It names its
events, their classes and words itself, so a log of another version of the kernel reads just as well. Names of system calls and
of interrupts come from the tree (kernel/syscall/syscalls.def, arch/x86_64/include/arch/trap.h); without them numbers are shown.

Times are nanoseconds since the kernel's first instruction, computed as the kernel computes them (kernel/clock.c): they are
comparable, to the nanosecond, with the times inside of events and with CLOCK_MONOTONIC in programs on the node.
"""
from __future__ import annotations

import argparse
import errno
import functools
import json
import re
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.runner import ROOT, LabError, table

MAGIC = b"TACETLOG"
VERSION = 1

#: struct klog_header, struct klog_kind, struct klog_cpu, struct klog_event.
HEADER = struct.Struct("<8sIIIIQQ")
KIND = struct.Struct("<24s16s40s")
CPU = struct.Struct("<IIQ")
EVENT = np.dtype([("ticks", "<u8"), ("kind", "<u4"), ("cpu", "<u4"), ("words", "<u8", (2,))])

#: Kind of an event that its CPU overwrote while the kernel read it.
OVERWRITTEN = 0xFFFFFFFF

#: More than any node can hand out; what claims to be larger is no flight log.
CPUS_MOST = 1024
KINDS_MOST = 1024
FILE_MOST = 64 << 20

NS_PER_S = 1_000_000_000
NEVER = 2**64 - 1

#: A pair has an end named after its beginning; these two are named otherwise.
FURTHER_PAIRS = {"program_end": "program_enter"}

#: Words that are addresses or the hardware's numbers.
HEXADECIMAL = {"address", "entry", "instruction", "vector"}

#: Intel SDM 3A, table 6-1.
EXCEPTIONS = {
    0: "divide error", 1: "debug", 2: "non-maskable interrupt", 3: "breakpoint", 4: "overflow", 5: "bound range",
    6: "invalid opcode", 7: "device not available", 8: "double fault", 10: "invalid TSS", 11: "segment not present",
    12: "stack fault", 13: "general protection", 14: "page fault", 16: "x87 error", 17: "alignment check",
    18: "machine check", 19: "SIMD error", 20: "virtualization", 21: "control protection",
}  # fmt: skip


class KlogError(LabError):
    """A file that is no flight log, or not a whole one: what is wrong, and at which offset."""


@dataclass(frozen=True)
class Kind:
    """A kind of event as the file describes it."""

    name: str
    event_class: str
    words: tuple[str, str]  #: "0" where a word says nothing


@dataclass(frozen=True)
class CpuPart:
    """One CPU's share: events that are there, and older ones that are not."""

    cpu: int
    kept: int
    lost: int


@dataclass(frozen=True)
class FlightLog:
    """A whole log; the arrays run over the events of all CPUs in the order of time."""

    name: str
    clock_hz: int  #: 0 where the node ended before it knew; times are ticks then
    kinds: tuple[Kind, ...]
    cpus: tuple[CpuPart, ...]
    time_ns: np.ndarray
    cpu: np.ndarray
    kind: np.ndarray
    words: np.ndarray  #: two to an event

    def __len__(self) -> int:
        return len(self.time_ns)

    def select(self, keep: np.ndarray) -> FlightLog:
        """The log with those events only."""
        arrays = (self.time_ns[keep], self.cpu[keep], self.kind[keep], self.words[keep])
        return FlightLog(self.name, self.clock_hz, self.kinds, self.cpus, *arrays)

    def of(self, kind: str) -> np.ndarray:
        """The words of all events of one kind, in the order of time."""
        numbers = [i for i, k in enumerate(self.kinds) if k.name == kind]
        return self.words[np.isin(self.kind, numbers)]


# ---- Reading ----


class _Bytes:
    """The file's bytes from front to back."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.offset = 0

    def error(self, what: str, offset: int | None = None) -> KlogError:
        return KlogError(f"{self.name}: offset {self.offset if offset is None else offset}: {what}")

    def take(self, count: int, what: str) -> memoryview:
        left = len(self.data) - self.offset
        if left < count:
            raise self.error(f"the file ends {count - left} bytes short, in {what}")
        self.offset += count
        return memoryview(self.data)[self.offset - count : self.offset]

    def text(self, field: bytes, pattern: str, what: str) -> str:
        """A NUL-padded name. Only what a kernel would write: names go to a terminal."""
        plain, _, rest = field.partition(b"\0")
        if rest.strip(b"\0") or not re.fullmatch(pattern.encode(), plain):
            raise self.error(f"{what} is {field[:24]!r}, no name")
        return plain.decode("ascii")


def ticks_to_ns(ticks: np.ndarray, clock_hz: int) -> np.ndarray:
    """As the kernel does: one multiplication by ns per tick times 2**32, and a shift, without overflow."""
    if clock_hz == 0:
        return ticks
    whole, part = divmod((NS_PER_S << 32) // clock_hz, 1 << 32)
    high, low = ticks >> np.uint64(32), ticks & np.uint64(0xFFFFFFFF)
    return ticks * np.uint64(whole) + high * np.uint64(part) + (low * np.uint64(part) >> np.uint64(32))


def _kinds(source: _Bytes, count: int) -> tuple[Kind, ...]:
    found = []
    for i in range(count):
        name, event_class, words = KIND.unpack(source.take(KIND.size, f"the description of event kind {i} of {count}"))
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


def _cpu_events(source: _Bytes, header: tuple[int, int, int], kinds: int, boot_ticks: int) -> tuple[CpuPart, np.ndarray]:
    """One CPU's events, checked. A CPU that overtook the kernel's reading has left gaps: what comes before the last one is left out, so
    that what is kept is everything that happened from its first event on."""
    cpu, count, lost = header
    start = source.offset
    events = np.frombuffer(source.take(count * EVENT.itemsize, f"the {count} events of CPU {cpu}"), dtype=EVENT)
    gaps = np.flatnonzero(events["kind"] == OVERWRITTEN)
    first = int(gaps[-1]) + 1 if len(gaps) else 0
    events = events[first:]

    def refuse(wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            raise source.error(what, start + (first + int(np.argmax(wrong))) * EVENT.itemsize)

    refuse(events["kind"] >= kinds, f"an event of a kind that the file does not describe (CPU {cpu})")
    refuse(events["cpu"] != cpu, f"an event of another CPU among those of CPU {cpu}")
    refuse(events["ticks"] < boot_ticks, f"an event from before the node was started (CPU {cpu})")
    older = np.zeros(len(events), dtype=bool)
    older[1:] = events["ticks"][1:] < events["ticks"][:-1]
    refuse(older, f"an event that is older than the one before it (CPU {cpu})")
    return CpuPart(cpu, len(events), lost + count - len(events)), events


def parse(data: bytes, name: str = "flight log") -> FlightLog:
    """A log from its bytes; KlogError says what is wrong with them, and where."""
    source = _Bytes(data, name)
    if not data:
        raise KlogError(f"{name}: the file is empty: the node did not come to its end, or was not told to send its log")
    if not data.startswith(MAGIC[: len(data)]):
        raise source.error(f"no flight log: it begins with {data[:8]!r} instead of {MAGIC!r}")
    _, version, cpu_count, kind_count, event_bytes, hz, boot_ticks = HEADER.unpack(source.take(HEADER.size, "the header"))
    if version != VERSION:
        raise source.error(f"version {version}; this program reads version {VERSION}", 8)
    if not 1 <= cpu_count <= CPUS_MOST:
        raise source.error(f"{cpu_count} CPUs; a node has 1 to {CPUS_MOST}", 12)
    if not 1 <= kind_count <= KINDS_MOST:
        raise source.error(f"{kind_count} kinds of events; there are 1 to {KINDS_MOST}", 16)
    if event_bytes != EVENT.itemsize:
        raise source.error(f"events of {event_bytes} bytes; version {VERSION} has {EVENT.itemsize}", 20)
    kinds = _kinds(source, kind_count)
    parts: list[CpuPart] = []
    arrays: list[np.ndarray] = []
    for i in range(cpu_count):
        at = source.offset
        header = CPU.unpack(source.take(CPU.size, f"the part of CPU {i}"))
        if header[0] != i:
            raise source.error(f"the part of CPU {header[0]} where that of CPU {i} should be", at)
        part, events = _cpu_events(source, header, kind_count, boot_ticks)
        parts.append(part)
        arrays.append(events)
    if source.offset < len(data):
        raise source.error(f"{len(data) - source.offset} bytes after the end of the log")
    merged = np.concatenate(arrays)
    time_ns = ticks_to_ns(merged["ticks"] - np.uint64(boot_ticks), hz)
    order = np.argsort(time_ns, kind="stable")
    merged = merged[order]
    return FlightLog(name, hz, kinds, tuple(parts), time_ns[order], merged["cpu"], merged["kind"], merged["words"])


def read(path: Path) -> FlightLog:
    """A log from a file."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MOST + 1)
    except OSError as error:
        raise KlogError(f"{path}: {error.strerror}") from None
    if len(data) > FILE_MOST:
        raise KlogError(f"{path}: more than {FILE_MOST} bytes: no flight log is that large")
    return parse(data, str(path))


# ---- Names ----


@functools.cache
def system_calls() -> dict[int, str]:
    """Names by x86_64's number; empty without the kernel's list."""
    try:
        text = (ROOT / "kernel/syscall/syscalls.def").read_text(encoding="utf-8")
    except OSError:
        return {}
    rows = re.findall(r"^(?:LOCAL|STUB|CONST|ALIAS|REFUSED)\((\w+), (\d+),", text, re.MULTILINE)
    return {int(number): name for name, number in rows}


@functools.cache
def vectors() -> dict[int, str]:
    """Names of x86_64's exceptions and interrupts by number."""
    names = dict(EXCEPTIONS)
    try:
        text = (ROOT / "arch/x86_64/include/arch/trap.h").read_text(encoding="utf-8")
    except OSError:
        return names
    for name, number in re.findall(r"\bVECTOR_(\w+) = (0x[0-9a-f]+|\d+)", text):
        if name != "FIRST_INTERRUPT":
            names[int(number, 0)] = name.lower()
    return names


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def word_text(field: str, value: int) -> str:
    """A word's value as a person wants to see it, by the name that the file gives it."""
    if field == "number":
        return system_calls().get(value, str(value))
    if field == "vector":
        name = vectors().get(value)
        return f"{value:#x}" + (f" ({name})" if name else "")
    if field == "result":
        if -4095 <= signed(value) < 0:
            return f"-{errno.errorcode.get(-signed(value), -signed(value))}"
        return str(value) if value < 1 << 32 else f"{value:#x}"
    if field.endswith("_ns"):
        return "never" if value == NEVER else str(value)
    if field in HEXADECIMAL or value >= (1 << 12 if field == "argument" else 1 << 32):
        return f"{value:#x}"
    return str(value)


def fields(kind: Kind, words: Sequence[int]) -> dict[str, str]:
    """An event's words by name; how late it came, where it tells a deadline and the time."""
    found: dict[str, str] = {}
    for field, value in zip(kind.words, words):
        if field != "0":
            found[field if field not in found else f"{field}_2"] = word_text(field, value)
    if kind.words == ("deadline_ns", "now_ns"):
        found["late_ns"] = str(words[1] - words[0])
    return found


def cause(kind: Kind, words: Sequence[int]) -> str:
    """What an event counts as: system calls by name, exceptions and interrupts by number, others by kind."""
    if kind.words[0] in ("number", "vector"):
        return f"{kind.name} {word_text(kind.words[0], words[0])}"
    return kind.name


# ---- Pairs ----


@dataclass(frozen=True)
class Span:
    """A beginning and its end on one CPU, as indices of events."""

    begin: int
    end: int


def pairs(kinds: Sequence[Kind]) -> dict[int, int]:
    """Kinds that end something, with the kinds that begin it."""
    numbers = {kind.name: i for i, kind in enumerate(kinds)}
    found = {}
    for name, number in numbers.items():
        begins = FURTHER_PAIRS.get(name, name.removesuffix("_end"))
        if begins != name and begins in numbers:
            found[number] = numbers[begins]
    return found


def spans(log: FlightLog) -> list[Span]:
    """All pairs that are whole: an end belongs to the newest beginning of its kind on its CPU with the same first word. What began
    before the log does, or has not ended (an exit), has no partner."""
    begin_of = pairs(log.kinds)
    begins = set(begin_of.values())
    opened: dict[tuple[int, int], list[int]] = defaultdict(list)
    found = []
    kinds, cpus, first = log.kind.tolist(), log.cpu.tolist(), log.words[:, 0].tolist()
    for i, (kind, cpu) in enumerate(zip(kinds, cpus)):
        if kind in begins:
            opened[cpu, kind].append(i)
        elif kind in begin_of:
            stack = opened[cpu, begin_of[kind]]
            while stack:
                begin = stack.pop()
                if first[begin] == first[i]:
                    found.append(Span(begin, i))
                    break
    return found


# ---- Tables ----


def heading(log: FlightLog) -> str:
    """What the file holds, in a line or a few."""
    span = f", from {log.time_ns[0]} to {log.time_ns[-1]} ns since boot" if len(log) else ""
    lines = [f"{log.name}: {len(log)} events of {len(log.cpus)} CPU{'s' if len(log.cpus) > 1 else ''}{span}"]
    if log.clock_hz == 0:
        lines.append("The node ended before it knew its clock's rate: times are ticks of the clock.")
    lines += [f"CPU {part.cpu}: {part.lost} older events are gone" for part in log.cpus if part.lost]
    return "\n".join(lines)


def rows(log: FlightLog) -> Iterator[str]:
    """The table of events, line by line."""
    longest = max((len(kind.name) for kind in log.kinds), default=0)
    yield f"{'time_ns':>15}  {'cpu':>3}  {'event':<{longest}}  words"
    columns = zip(log.time_ns.tolist(), log.cpu.tolist(), log.kind.tolist(), log.words.tolist())
    for time_ns, cpu, number, words in columns:
        kind = log.kinds[number]
        told = "  ".join(f"{field} {value}" for field, value in fields(kind, words).items())
        yield f"{time_ns:>15}  {cpu:>3}  {kind.name:<{longest}}  {told}".rstrip()


@dataclass
class Cause:
    """What happened for one reason on one CPU. The times are those of whole pairs; `late_ns` is the longest time after a deadline."""

    count: int = 0
    total_ns: int | None = None
    longest_ns: int | None = None
    late_ns: int | None = None


def causes(log: FlightLog) -> dict[tuple[int, str], Cause]:
    """Counts and times by CPU and cause. A pair counts once; half a pair too."""
    found: dict[tuple[int, str], Cause] = defaultdict(Cause)
    begin_of = pairs(log.kinds)
    ended = {span.end: span.begin for span in spans(log)}
    times, cpus = log.time_ns.tolist(), log.cpu.tolist()
    kinds, all_words = log.kind.tolist(), log.words.tolist()
    for i, (cpu, number, words) in enumerate(zip(cpus, kinds, all_words)):
        kind = log.kinds[number]
        entry = found[cpu, cause(log.kinds[begin_of.get(number, number)], words)]
        if i in ended:
            taken = times[i] - times[ended[i]]
            entry.total_ns = (entry.total_ns or 0) + taken
            entry.longest_ns = max(entry.longest_ns or 0, taken)
        else:
            entry.count += 1
        if kind.words == ("deadline_ns", "now_ns"):
            late = words[1] - words[0]
            entry.late_ns = late if entry.late_ns is None else max(entry.late_ns, late)
    return found


def summary(log: FlightLog) -> str:
    """The table of causes: each CPU's, the longest together first."""

    def cell(value: int | None) -> str:
        return "" if value is None else str(value)

    found = causes(log)
    order = sorted(found, key=lambda key: (key[0], -(found[key].total_ns or 0), -found[key].count, key[1]))
    lines = []
    for cpu, name in order:
        c = found[cpu, name]
        lines.append([name, str(cpu), str(c.count), cell(c.total_ns), cell(c.longest_ns), cell(c.late_ns)])
    return table(["cause", "cpu", "count", "total ns", "longest ns", "most late ns"], lines)


# ---- Chrome's trace format ----


def _argument(value: str) -> int | str:
    """Numbers that JavaScript holds exactly stay numbers."""
    return int(value) if re.fullmatch(r"-?\d{1,15}", value) else value


def _tracks(log: FlightLog) -> Iterator[dict[str, Any]]:
    """Names: the node, and each CPU with the rank that ran there."""
    ranks: dict[int, int] = {}
    for i, kind in enumerate(log.kinds):
        if kind.words[0] == "rank":
            chosen = log.kind == i
            ranks.update(zip(log.cpu[chosen].tolist(), log.words[chosen, 0].tolist()))
    yield {"ph": "M", "ts": 0.0, "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "Tacet node"}}
    for part in log.cpus:
        name = f"CPU {part.cpu}" + (f", rank {ranks[part.cpu]}" if part.cpu in ranks else "")
        common = {"ph": "M", "ts": 0.0, "pid": 0, "tid": part.cpu}
        yield {**common, "name": "thread_name", "args": {"name": name}}
        yield {**common, "name": "thread_sort_index", "args": {"sort_index": part.cpu}}


def chrome(log: FlightLog) -> dict[str, Any]:
    """The log as a Chrome trace: a track a CPU, whole pairs as durations, everything else as instants; µs."""
    whole = spans(log)
    ends = {span.end for span in whole}
    end_of = {span.begin: span.end for span in whole}
    times, cpus = log.time_ns.tolist(), log.cpu.tolist()
    kinds, all_words = log.kind.tolist(), log.words.tolist()
    events: list[dict[str, Any]] = []
    for i, (time_ns, cpu, number, words) in enumerate(zip(times, cpus, kinds, all_words)):
        if i in ends:
            continue
        kind = log.kinds[number]
        told = fields(kind, words)
        event = {"ph": "i", "s": "t", "ts": time_ns / 1000, "pid": 0, "tid": cpu, "name": cause(kind, words), "cat": kind.event_class}
        if i in end_of:
            end = end_of[i]
            told.update(fields(log.kinds[kinds[end]], all_words[end]))
            del event["s"]
            event.update(ph="X", dur=(times[end] - time_ns) / 1000, name=cause(kind, words).removeprefix("system_call "))
            if kind.name == "program_enter":
                event["name"] = f"program of rank {words[0]}"
        event["args"] = {field: _argument(value) for field, value in told.items()}
        events.append(event)
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
    lost = {f"CPU {part.cpu}": part.lost for part in log.cpus if part.lost}
    return {"displayTimeUnit": "ns", "otherData": {"lost events": lost}, "traceEvents": [*_tracks(log), *events]}


# ---- The command ----


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab.klog", description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="what tools/run --klog has kept, or a copy of /proc/tacet/klog")
    parser.add_argument("--summary", action="store_true", help="a table of causes instead of the events")
    parser.add_argument("--chrome", type=Path, metavar="OUT.json", help="write a Chrome trace instead")
    parser.add_argument("--cpu", type=int, metavar="N", help="this CPU's events only")
    parser.add_argument("--from", type=int, dest="since", metavar="NS", help="events from this time on, ns since boot")
    parser.add_argument("--to", type=int, dest="until", metavar="NS", help="events up to this time")
    return parser.parse_args(argv)


def chosen(log: FlightLog, options: argparse.Namespace) -> FlightLog:
    """The events that the options ask for."""
    keep = np.ones(len(log), dtype=bool)
    if options.cpu is not None:
        if options.cpu not in {part.cpu for part in log.cpus}:
            raise KlogError(f"{log.name}: there is no CPU {options.cpu}; there are 0 to {len(log.cpus) - 1}")
        keep &= log.cpu == options.cpu
    if options.since is not None:
        keep &= log.time_ns >= np.uint64(min(max(options.since, 0), NEVER))
    if options.until is not None:
        keep &= log.time_ns <= np.uint64(min(max(options.until, 0), NEVER))
    return log.select(keep)


def show(options: argparse.Namespace, out: TextIO) -> None:
    log = chosen(read(options.file), options)
    if options.chrome:
        options.chrome.write_text(json.dumps(chrome(log)) + "\n", encoding="utf-8")
        print(f"{options.chrome}: {len(log)} events; open it in https://ui.perfetto.dev or chrome://tracing", file=out)
        return
    print(heading(log), file=out)
    if options.summary:
        print("\n" + summary(log), file=out)
        return
    print(file=out)
    for row in rows(log):
        print(row, file=out)
    out.flush()


def main(argv: Sequence[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Entry point; `out` is for tests. 0, or 1 with a message on standard error."""
    try:
        show(arguments(argv), out)
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]  # nobody reads any more; keep Python from complaining at its end
    except (LabError, OSError) as error:
        print(f"lab.klog: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
