# SPDX-License-Identifier: BSD-2-Clause
"""Makes tables of the flight log: every event, or the causes on each CPU with count and time."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.common.text import table
from lab.flight_log.names import cause, fields, unknown
from lab.formats.klog import FlightLog, Kind

#: The kind that ends a pair is NAME_end; these are the exceptions.
FURTHER_PAIRS = {"program_end": "program_enter"}


@dataclass(frozen=True)
class Span:
    """The beginning and the end of a pair on one CPU, as indices of events."""

    begin: int
    end: int


def pairs(kinds: Sequence[Kind]) -> dict[int, int]:
    """Returns the kinds that end a pair, with the kinds that begin it."""
    numbers = {kind.name: i for i, kind in enumerate(kinds)}
    found = {}
    for name, number in numbers.items():
        begins = FURTHER_PAIRS.get(name, name.removesuffix("_end"))
        if begins != name and begins in numbers:
            found[number] = numbers[begins]
    return found


def spans(log: FlightLog) -> list[Span]:
    """Returns all complete pairs: an end belongs to the newest beginning of its kind on its CPU with the same
    first word. A pair that began before the log, or that never ends (an exit), is left out."""
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


def heading(log: FlightLog) -> str:
    """Returns what the file holds, in a line or a few."""
    span = f", from {log.time_ns[0]} to {log.time_ns[-1]} ns since boot" if len(log) else ""
    cpus = f"{len(log.cpus)} CPU{'s' if len(log.cpus) > 1 else ''} of {log.architecture}"
    lines = [f"{log.name}: {len(log)} events of {cpus}{span}", *unknown(log.architecture)]
    if log.clock_hz == 0:
        lines.append("The node ended before it knew its clock's rate: times are ticks of the clock.")
    lines += [f"CPU {part.cpu}: {part.lost} older events were overwritten" for part in log.cpus if part.lost]
    return "\n".join(lines)


def _event_rows(log: FlightLog, longest: int, node: str = "") -> Iterator[tuple[int, str]]:
    """Yields each event's time and line; `node` is a column before the CPU's, if not empty."""
    columns = zip(log.time_ns.tolist(), log.cpu.tolist(), log.kind.tolist(), log.words.tolist())
    for time_ns, cpu, number, words in columns:
        kind = log.kinds[number]
        shown = "  ".join(
            f"{field} {value}" for field, value in fields(kind, words, log.architecture).items()
        )
        yield time_ns, f"{time_ns:>15}  {node}{cpu:>3}  {kind.name:<{longest}}  {shown}".rstrip()


def rows(log: FlightLog) -> Iterator[str]:
    """Yields the lines of the table of events."""
    longest = max((len(kind.name) for kind in log.kinds), default=0)
    yield f"{'time_ns':>15}  {'cpu':>3}  {'event':<{longest}}  words"
    for _, line in _event_rows(log, longest):
        yield line


def node_rows(logs: Mapping[str, FlightLog]) -> Iterator[str]:
    """Yields the lines of the table of several nodes' events; their times have one origin."""
    longest = max((len(kind.name) for log in logs.values() for kind in log.kinds), default=0)
    widest = max([4, *map(len, logs)])
    yield f"{'time_ns':>15}  {'node':<{widest}}  {'cpu':>3}  {'event':<{longest}}  words"
    parts = [_event_rows(log, longest, f"{name:<{widest}}  ") for name, log in logs.items()]
    for _, line in heapq.merge(*parts, key=lambda row: row[0]):
        yield line


@dataclass
class Cause:
    """What happened for one reason on one CPU. The times are those of complete pairs; `late_ns` is the
    longest time after a deadline."""

    count: int = 0
    total_ns: int | None = None
    longest_ns: int | None = None
    late_ns: int | None = None


def causes(log: FlightLog) -> dict[tuple[int, str], Cause]:
    """Returns counts and times by CPU and cause. A pair counts once, and so does half a pair."""
    found: dict[tuple[int, str], Cause] = defaultdict(Cause)
    begin_of = pairs(log.kinds)
    ended = {span.end: span.begin for span in spans(log)}
    times, cpus = log.time_ns.tolist(), log.cpu.tolist()
    kinds, all_words = log.kind.tolist(), log.words.tolist()
    for i, (cpu, number, words) in enumerate(zip(cpus, kinds, all_words)):
        kind = log.kinds[number]
        entry = found[cpu, cause(log.kinds[begin_of.get(number, number)], words, log.architecture)]
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


COLUMNS = ["cause", "cpu", "count", "total ns", "longest ns", "most late ns"]


def _cause_rows(log: FlightLog) -> list[list[str]]:
    """Returns each CPU's causes, those with the longest total first."""

    def cell(value: int | None) -> str:
        return "" if value is None else str(value)

    found = causes(log)
    order = sorted(found, key=lambda key: (key[0], -(found[key].total_ns or 0), -found[key].count, key[1]))
    lines = []
    for cpu, name in order:
        c = found[cpu, name]
        lines.append([name, str(cpu), str(c.count), cell(c.total_ns), cell(c.longest_ns), cell(c.late_ns)])
    return lines


def summary(log: FlightLog) -> str:
    """Returns the table of causes."""
    return table(COLUMNS, _cause_rows(log))


def node_summary(logs: Mapping[str, FlightLog]) -> str:
    """Returns the table of causes of several nodes."""
    lines = [[name, *line] for name, log in logs.items() for line in _cause_rows(log)]
    return table(["node", *COLUMNS], lines)
