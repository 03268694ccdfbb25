# SPDX-License-Identifier: BSD-2-Clause
"""Reads traces of MPI programs, as apps/mpi-trace writes them: a file for each rank, text and then records of
64 bytes (trace.h). liballprof.py makes the same records of its own files.

A trace is read in blocks of whole calls, so that memory does not grow with it. What contradicts itself is a
TraceError that names file and record. A trace that does not reach MPI_Finalize is read, and marked: `mark`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError

VERSION = 1
#: The text before the records is shorter than this.
TEXT_BYTES_MAX = 1 << 16
BLOCK_RECORDS = 1 << 16
RANKS_MAX = 1 << 20

RECORD = np.dtype(
    [
        ("call", "<u2"), ("flags", "<u2"), ("more", "<u4"), ("start_ns", "<u8"), ("end_ns", "<u8"),
        ("cpu_ns", "<u8"), ("bytes", "<u8"), ("peer", "<i4"), ("tag", "<i4"), ("comm", "<u4"),
        ("request", "<u4"), ("polls", "<u4"), ("type_bytes", "<u4"),
    ]
)  # fmt: skip
WORDS_OF_RECORD = 14

#: Values of `call` that are no function.
PART, WORDS, COMM = 0xFFFF, 0xFFFE, 0xFFFD
COMM_NONE = 0xFFFFFFFF
ANY, NOBODY, ROOT = -1, -2, -3

SENDS, RECEIVES, COLLECTIVE, COMPLETES, IN_VAIN, ASKED_ANY, OPEN, CANCELLED = (1 << i for i in range(8))
ERROR, ONE_SIDED, FILE, CLIPPED, PERSISTENT, PROBES, INTER, SYNCHRONOUS = (1 << i for i in range(8, 16))

HOW = "is a trace of apps/mpi-trace, which a program writes that is linked with libmpi-trace"


class TraceError(DataError):
    """A trace that cannot be what a program did."""


@dataclass(frozen=True)
class Communicator:
    """A communicator of one rank. `members` are ranks of MPI_COMM_WORLD; `remote` those that messages go to,
    in an intercommunicator another group. `ordinal` counts the rank's communicators of the same groups: with
    them it names the communicator on all its ranks."""

    number: int
    rank: int
    members: tuple[int, ...]
    remote: tuple[int, ...]
    ordinal: int

    @property
    def key(self) -> tuple[frozenset[tuple[int, ...]], int]:
        return frozenset((self.members, self.remote)), self.ordinal


@dataclass(frozen=True)
class RankTrace:
    """One rank's trace: what its text says. `mark` is empty if it is whole."""

    path: Path
    rank: int
    ranks: int
    end: str = "MPI_Finalize"
    records: int = 0
    lost: int = 0
    missed: int = 0
    program: str = ""
    host: str = ""
    library: str = ""
    offsets_ns: tuple[int, int] = (0, 0)
    within_ns: tuple[int, int] = (0, 0)
    cost_between_ns: int = 0
    cost_inside_ns: int = 0
    cost_cpu_ns: int = 0
    cpu_time: bool = False
    names: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    begin_byte: int = 0

    @property
    def bytes(self) -> int:
        """The file's size."""
        return self.path.stat().st_size

    @property
    def mark(self) -> str:
        marks = [] if self.end == "MPI_Finalize" else [f"it ends by {self.end}"]
        marks += [f"{self.lost} calls found no room"] if self.lost else []
        marks += [f"{self.missed} calls of a second thread are missing"] if self.missed else []
        if abs(self.offsets_ns[1] - self.offsets_ns[0]) > 1_000_000 + sum(self.within_ns):
            marks.append(f"its clock went {self.offsets_ns[1] - self.offsets_ns[0]} ns from rank 0's")
        return "; ".join(marks)

    def blocks(self, seen: Callable[[int], None] = lambda _bytes: None) -> Iterator[np.ndarray]:
        """Yields the records, calls never divided. Calls `seen` with the bytes of the file that it reads."""
        left, at, last_ns = np.empty(0, dtype=RECORD), 0, 0
        with self.path.open("rb") as file:
            file.seek(self.begin_byte)
            while data := file.read(BLOCK_RECORDS * RECORD.itemsize):
                if len(data) % RECORD.itemsize:
                    raise TraceError(f"{self.path}: the file ends within record {at + len(left) + 1}")
                seen(len(data))
                rows = np.concatenate([left, np.frombuffer(data, dtype=RECORD)])
                whole = whole_calls(rows)
                last_ns = self.check(rows[:whole], at, last_ns)
                yield rows[:whole]
                left, at = rows[whole:], at + whole
                if len(left) > BLOCK_RECORDS and left[0]["more"] > self.records:
                    break
        if len(left):
            raise TraceError(
                f"{self.path}: record {at + 1} has {left[0]['more']} more, but {len(left) - 1} follow it; "
                "the file ends in the middle"
            )

    def check(self, rows: np.ndarray, at: int, last_ns: int) -> int:
        """Checks a block of whole calls that begins with record `at`. Returns the last call's end."""
        timed = heads_of(rows)
        timed = timed[rows["call"][timed] != COMM]
        calls = rows[timed]
        known = np.isin(calls["call"], list(self.names))
        if not known.all():
            i = int((~known).argmax())
            raise TraceError(
                f"{self.path}: record {at + timed[i] + 1}: function {calls['call'][i]} is not in the file's "
                "list of calls"
            )
        start, end = calls["start_ns"], calls["end_ns"]
        before = np.concatenate([np.array([last_ns], dtype=np.uint64), end[:-1]])
        wrong = (start > end) | (start < before) if len(calls) else np.zeros(0, dtype=bool)
        if wrong.any():
            i = int(wrong.argmax())
            raise TraceError(
                f"{self.path}: record {at + timed[i] + 1}: MPI_{self.names[int(calls['call'][i])]} from "
                f"{start[i]} to {end[i]} ns after {before[i]} ns: the clock has stepped, or the file "
                "is damaged"
            )
        return int(end[-1]) if len(calls) else last_ns

    def communicators(self) -> dict[int, Communicator]:
        """Returns the rank's communicators by number. Reads the whole file."""
        found: dict[int, Communicator] = {}
        ordinals: dict[frozenset[tuple[int, ...]], int] = {}
        for rows in self.blocks():
            for i in np.flatnonzero(rows["call"] == COMM):
                head = rows[i]
                groups = groups_of(self.path, words_of(rows, int(i)), self.ranks)
                remote = groups[-1]
                key = frozenset((groups[0], remote))
                ordinals[key] = ordinals.get(key, -1) + 1
                number = int(head["comm"])
                found[number] = Communicator(number, int(head["peer"]), groups[0], remote, ordinals[key])
        return found


def heads_of(rows: np.ndarray) -> np.ndarray:
    """Returns where calls and communicators begin, in rows that begin with one."""
    return np.flatnonzero((rows["call"] != PART) & (rows["call"] != WORDS))


def whole_calls(rows: np.ndarray) -> int:
    """Returns the number of rows up to the last whole call."""
    heads = heads_of(rows)
    if not len(heads):
        return 0
    last = int(heads[-1])
    ends = last + 1 + int(rows["more"][last])
    return ends if ends <= len(rows) else last


def words_of(rows: np.ndarray, head: int) -> np.ndarray:
    """Returns the numbers that continue a call."""
    more = rows[head + 1 : head + 1 + int(rows["more"][head])]
    more = np.ascontiguousarray(more[more["call"] == WORDS])
    words = more.view("<u4").reshape(len(more), RECORD.itemsize // 4)[:, 2:]
    counts = np.minimum(more["flags"], WORDS_OF_RECORD)
    return words[np.arange(WORDS_OF_RECORD)[None, :] < counts[:, None]]


def groups_of(path: Path, words: np.ndarray, ranks: int) -> list[tuple[int, ...]]:
    """Returns the groups of a communicator: one, or the local and the remote."""
    groups, at = [], 0
    numbers = words.astype(np.int32).tolist()
    while at < len(numbers):
        runs, members = numbers[at], []
        if not 0 <= runs <= (len(numbers) - at - 1) // 3:
            break
        for first, step, length in zip(*(numbers[at + 1 + i : at + 1 + 3 * runs : 3] for i in range(3))):
            if not 0 <= length <= ranks:
                raise TraceError(f"{path}: a communicator's run has {length} of {ranks} ranks")
            members += [first + step * i for i in range(length)]
        if len(members) > ranks or any(not -1 <= member < ranks for member in members):
            raise TraceError(f"{path}: a communicator has ranks that are not in MPI_COMM_WORLD")
        groups.append(tuple(members))
        at += 1 + 3 * runs
    if at != len(numbers) or not 1 <= len(groups) <= 2:
        raise TraceError(f"{path}: a communicator's groups are damaged")
    return groups


# ---- The text ----

FIRST = re.compile(rb"TACET-MPI-TRACE (\d{1,4}) (\d{6})\n")
OFFSET = re.compile(r"(-?\d{1,19}) within (\d{1,19})")
CALL = re.compile(r"call (\d{1,5}) MPI_(\w{1,60}) (\d{1,10})")


def _number(path: Path, values: dict[str, str], key: str, most: int = 2**63) -> int:
    text = values.get(key, "")
    if not re.fullmatch(r"\d{1,19}", text) or int(text) > most:
        raise TraceError(f"{path}: no valid line '{key}: NUMBER'; it has {text[:40]!r}")
    return int(text)


def _offset(path: Path, values: dict[str, str], when: str) -> tuple[int, int]:
    match = OFFSET.fullmatch(values.get(f"clock-offset-{when}-ns", ""))
    if not match:
        raise TraceError(f"{path}: no valid line 'clock-offset-{when}-ns: NS within NS'")
    return int(match[1]), int(match[2])


def read(path: Path) -> RankTrace:
    """Reads the text of one rank's file; TraceError if it is none."""
    with path.open("rb") as file:
        head = file.read(TEXT_BYTES_MAX)
        size = file.seek(0, 2)
    match = FIRST.match(head)
    if not match:
        raise TraceError(f"{path}: it does not begin with 'TACET-MPI-TRACE'; a file that does {HOW}")
    if int(match[1]) != VERSION:
        raise TraceError(f"{path}: version {int(match[1])} of the format; this lab reads version {VERSION}")
    begin = int(match[2])
    text, end, _ = head[:begin].decode("utf-8", "replace").partition("\n\n")
    if not end or begin > len(head):
        raise TraceError(f"{path}: the file ends within its text of {begin} bytes")
    values, names, counts = {}, {}, {}
    for line in text.split("\n")[1:]:
        if call := CALL.fullmatch(line):
            names[int(call[1])] = call[2]
            counts[call[2]] = int(call[3])
        else:
            key, colon, value = line.partition(": ")
            if not colon:
                raise TraceError(f"{path}: not a line of its text: {line[:60]!r}; as 'rank: 0'")
            values[key] = value
    ranks = _number(path, values, "ranks", RANKS_MAX)
    records = _number(path, values, "records")
    if records * RECORD.itemsize != size - begin:
        there = (size - begin) // RECORD.itemsize
        raise TraceError(f"{path}: {records} records in its text, but room for {there}: the file was cut")
    offsets = [_offset(path, values, when) for when in ("init", "finalize")]
    if values.get("end", "") != "MPI_Finalize":
        offsets[1] = offsets[0]
    return RankTrace(
        path,
        _number(path, values, "rank", max(ranks - 1, 0)),
        ranks,
        values.get("end", ""),
        records,
        _number(path, values, "lost-calls"),
        _number(path, values, "missed-calls"),
        values.get("program", ""),
        values.get("host", ""),
        values.get("library", ""),
        (offsets[0][0], offsets[1][0]),
        (offsets[0][1], offsets[1][1]),
        _number(path, values, "cost-between-ns"),
        _number(path, values, "cost-inside-ns"),
        _number(path, values, "cost-cpu-ns"),
        values.get("cpu-time") == "yes",
        names,
        counts,
        begin,
    )


def ranks_check(folder: Path, traces: Sequence[RankTrace]) -> None:
    """Checks that a job's traces are those of all its ranks."""
    ranks = traces[0].ranks
    for trace in traces:
        if trace.ranks != ranks:
            raise TraceError(
                f"{trace.path}: of a job of {trace.ranks} ranks, but {traces[0].path} is of {ranks}; traces "
                "of several jobs are in one folder"
            )
    missing = sorted(set(range(ranks)) - {trace.rank for trace in traces})
    if missing or len(traces) != ranks:
        named = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
        raise TraceError(
            f"{folder}: traces of {len(traces)} of {ranks} ranks; missing: "
            f"{named or 'none, but one is double'}"
        )


def read_folder(folder: Path) -> list[RankTrace]:
    """Reads the texts of all ranks' files, in the order of ranks."""
    paths = sorted(folder.glob("rank-*.trace"))
    if not paths:
        raise TraceError(f"{folder}: no files rank-N.trace; give the folder that TACET_TRACE named")
    traces = sorted(map(read, paths), key=lambda trace: trace.rank)
    ranks_check(folder, traces)
    return traces


# ---- What a program did ----


def messages(rows: np.ndarray, kind: int) -> np.ndarray:
    """Returns the records, parts among them, of messages that were sent (SENDS) or received (RECEIVES)."""
    flags = rows["flags"]
    unwanted = CANCELLED | PROBES | ERROR
    right = (rows["call"] != COMM) & (rows["call"] != WORDS) & (flags & kind != 0) & (flags & unwanted == 0)
    return rows[right & (rows["peer"] >= 0)]


def world_messages(trace: RankTrace, kind: int) -> Iterator[np.ndarray]:
    """Yields messages as rows of sender and receiver in MPI_COMM_WORLD, tag and bytes."""
    remote = {number: np.array(comm.remote) for number, comm in trace.communicators().items()}
    for rows in trace.blocks():
        found = messages(rows, kind)
        peer = found["peer"].astype(np.int64)
        for number in np.unique(found["comm"]):
            here = found["comm"] == number
            ranks = remote.get(int(number))
            if ranks is None or (peer[here] >= len(ranks)).any():
                raise TraceError(
                    f"{trace.path}: a message to a rank that communicator {number} does not have"
                )
            peer[here] = ranks[peer[here]]
        own = np.full(len(found), trace.rank)
        ends = (own, peer) if kind == SENDS else (peer, own)
        yield np.stack([*ends, found["tag"], found["bytes"].astype(np.int64)], axis=1)
