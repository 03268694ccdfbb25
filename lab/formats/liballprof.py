# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes traces of MPI programs in the text of liballprof, the public tracer of the LogGOPSim tools
[Hoefler10 §IV-A]: a file for each rank, a line for each call, `NAME:start:arguments:end`, times in µs. A
data type is `number,size,extent`, a communicator `number,rank,size`; requests, statuses and buffers are
addresses; an array of counts is an address, and then its numbers.

Reading makes the records of mpi_trace.py. The text does not say which request MPI_Test, MPI_Waitany and the
like have found complete: their records name requests without COMPLETES. Nor does it say who belongs to a
communicator, unless it is as large as the job.

Writing is for Schedgen, which takes each rank for one of MPI_COMM_WORLD, finds requests by address, and adds
one tag to both parts of MPI_Sendrecv. So ranks are written as MPI_COMM_WORLD's; a call that completes several
requests as an MPI_Wait for each; one with two tags as MPI_Irecv, MPI_Isend and their waits; persistent
requests as new ones; a loop of polls as a wait, if it has found something. Other calls are left out: Schedgen
has no use of them, and takes some for others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from lab.common.files import written_whole
from lab.common.progress import Bar
from lab.formats import mpi_trace
from lab.formats.mpi_trace import (
    COLLECTIVE,
    COMM,
    COMM_NONE,
    COMPLETES,
    ERROR,
    IN_VAIN,
    NOBODY,
    OPEN,
    PART,
    RECEIVES,
    RECORD,
    SENDS,
    WORDS,
    Communicator,
    RankTrace,
    TraceError,
)  # fmt: skip

LINE_BYTES_MAX = 1 << 20
BLOCK_CALLS = 1 << 14
NAMED = re.compile(r"(?P<stem>.*?)(?P<rank>\d+)\.txt")

# ---- Arguments ----

#: Arguments of the calls that say something, in order, without times. `counts` is an address and numbers.
MESSAGE = ("buffer", "count", "type", "peer", "tag", "comm")
TWO = ("buffer", "count", "type", "buffer", "other_count", "other_type")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Sendrecv": (*MESSAGE[:5], "buffer", "other_count", "other_type", "other_peer", "other_tag", "comm",
                 "status"),
    "Sendrecv_replace": (*MESSAGE[:5], "other_peer", "other_tag", "comm", "status"),
    "Recv": (*MESSAGE, "status"),
    "Irecv": (*MESSAGE, "request"),
    "Wait": ("request", "status"),
    "Waitall": ("count", "request", "status"),
    "Waitany": ("count", "request", "index", "status"),
    "Waitsome": ("count", "request", "outcount", "indices", "status"),
    "Test": ("request", "flag", "status"),
    "Testall": ("count", "request", "flag", "status"),
    "Testany": ("count", "request", "index", "flag", "status"),
    "Barrier": ("comm",),
    "Bcast": ("buffer", "count", "type", "peer", "comm"),
    "Reduce": ("buffer", "buffer", "count", "type", "op", "peer", "comm"),
    "Gather": (*TWO, "peer", "comm"),
    "Scatter": (*TWO, "peer", "comm"),
    "Allgather": (*TWO, "comm"),
    "Alltoall": (*TWO, "comm"),
}  # fmt: skip
for name in ("Send", "Bsend", "Ssend", "Rsend"):
    ARGUMENTS[name] = MESSAGE
    ARGUMENTS["I" + name.lower()] = (*MESSAGE, "request")
for name in ("Allreduce", "Scan", "Exscan"):
    ARGUMENTS[name] = ("buffer", "buffer", "count", "type", "op", "comm")
for name in ("Barrier", "Bcast", "Reduce", "Gather", "Scatter", "Allgather", "Alltoall", "Allreduce", "Scan"):
    ARGUMENTS["I" + name.lower()] = (*ARGUMENTS[name], "request")

WAITS = {"Wait", "Waitall"}
POLLS = {"Waitany", "Waitsome", "Test", "Testall", "Testany"}


@dataclass
class _Reader:
    """The state of reading one file: numbers of requests by address, codes of names."""

    path: Path
    ranks: int
    codes: dict[str, int] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    begun: int = 0
    world: int | None = None

    def error(self, line: int, what: str) -> TraceError:
        return TraceError(f"{self.path}:{line}: {what}")

    def fields(self, line: int, name: str, words: list[str]) -> dict[str, list[int]]:
        """Returns a call's arguments by name, each as its numbers."""
        wanted = ARGUMENTS[name]
        if len(words) != len(wanted):
            raise self.error(line, f"MPI_{name} has {len(words)} arguments; it takes {len(wanted)}")
        found = {}
        for word, what in zip(words, wanted):
            numbers = [int(part) for part in word.split(",")] if _NUMBERS.fullmatch(word) else []
            if len(numbers) != (3 if what.endswith("type") or what == "comm" else 1):
                raise self.error(line, f"MPI_{name}: {word[:40]!r} is no {what}")
            if what.endswith(("peer", "tag", "count")) and not -(2**31) <= numbers[0] < 2**31:
                raise self.error(line, f"MPI_{name}: {word} is no int, as a {what} is")
            found[what] = numbers
        return found

    def calls(self, line: int, name: str, times: tuple[int, int], words: list[str]) -> Iterator[tuple]:
        """Yields the records of one call."""
        code = self.codes.setdefault(name, len(self.codes))
        if name not in ARGUMENTS:
            yield (code, 0, 0, *times, 0, 0, -1, -1, COMM_NONE, 0, 0, 0)
            return
        given = self.fields(line, name, words)
        if name in WAITS or name in POLLS:
            yield from self.completion(code, name, times, given)
            return
        comm, _, size = given["comm"]
        if size == self.ranks and self.world is None:
            self.world = comm
        number = 0 if comm == self.world else comm + 1 & 0x7FFFFFFF
        bytes_, each = self.size(given, "")
        peer = given.get("peer", [-1])[0]
        tag = given.get("tag", [-1])[0]
        kind = RECEIVES if name.lower() in ("recv", "irecv") else SENDS
        kind = kind if "tag" in given else COLLECTIVE
        if kind == RECEIVES and peer == -1:
            kind |= OPEN
        request = 0
        if "request" in given:
            self.begun += 1
            request = self.open[given["request"][0]] = self.begun
        is_two = name.startswith("Sendrecv")
        yield (code, kind, int(is_two), *times, 0, bytes_, peer, tag, number, request, 0, each)
        if is_two:
            bytes_, each = self.size(given, "other_" if name == "Sendrecv" else "")
            peer, tag = given["other_peer"][0], given["other_tag"][0]
            yield (PART, RECEIVES, 0, 0, 0, 0, bytes_, peer, tag, number, 0, 0, each)

    @staticmethod
    def size(given: dict[str, list[int]], which: str) -> tuple[int, int]:
        """Returns bytes, and those of one element. Numbers of 32 bits may have others above them."""
        if f"{which}count" not in given:
            return 0, 0
        each = given[f"{which}type"][1] & 0xFFFFFFFF
        return max(0, given[f"{which}count"][0]) * each & (1 << 63) - 1, each

    def completion(
        self, code: int, name: str, times: tuple[int, int], given: dict[str, list[int]]
    ) -> Iterator[tuple]:
        """Yields a call about requests: those whose addresses are in its array, of 8 or of 4 bytes each."""
        first, count = given["request"][0], given.get("count", [1])[0]
        here = [address for address in self.open if first <= address < first + 8 * max(count, 0)]
        step = 4 if len(here) > 1 and any((address - first) % 8 for address in here) else 8
        here = sorted(address for address in here if (address - first) // step < count)
        numbers = [self.open[address] for address in here]
        flags = COMPLETES if name in WAITS else 0
        if name in WAITS:
            for address in here:
                del self.open[address]
        single = numbers[0] if len(numbers) == 1 else 0
        words = [] if single else numbers
        more = -(-len(words) // 14)
        yield (code, flags, more, *times, 0, 0, -1, -1, COMM_NONE, single, int(name in POLLS), 0)
        for at in range(0, len(words), 14):
            part = words[at : at + 14]
            yield _words(part)


def _words(numbers: list[int]) -> tuple:
    """Returns a record of up to 14 numbers."""
    raw = np.zeros(16, dtype="<u4")
    raw[2 : 2 + len(numbers)] = numbers
    row = raw.view(RECORD)[0]
    return (WORDS, len(numbers), 0, *row.tolist()[3:])


_NUMBERS = re.compile(r"-?\d{1,20}(,-?\d{1,20})*")
_TIME = re.compile(r"\d{1,16}(\.\d{1,9})?|-")


def _ns(text: str) -> int:
    """Returns µs as ns, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


@dataclass(frozen=True)
class LiballprofTrace(RankTrace):
    """One rank's file. Requests that no wait names stay open."""

    def blocks(self, seen: Callable[[int], None] = lambda _bytes: None) -> Iterator[np.ndarray]:
        reader = _Reader(self.path, self.ranks)
        rows: list[tuple] = []
        last_ns, at = 0, 0
        for row in self._rows(reader, seen):
            if len(rows) >= BLOCK_CALLS and row[0] not in (PART, WORDS):
                yield from self._block(reader, rows, at, last_ns)
                at, last_ns, rows = at + len(rows), self._end(rows, last_ns), []
            rows.append(row)
        yield from self._block(reader, rows, at, last_ns)

    @staticmethod
    def _end(rows: list[tuple], last_ns: int) -> int:
        return next((row[4] for row in reversed(rows) if row[0] not in (PART, WORDS)), last_ns)

    def _block(self, reader: _Reader, rows: list[tuple], at: int, last_ns: int) -> Iterator[np.ndarray]:
        self.names.update({code: name for name, code in reader.codes.items()})
        block = np.array(rows, dtype=RECORD)
        self.check(block, at, last_ns)
        yield block

    def _rows(self, reader: _Reader, seen: Callable[[int], None]) -> Iterator[tuple]:
        last_ns = 0
        for number, line in _lines(self.path, seen):
            if not line or line.startswith("#"):
                continue
            name, *words = line.split(":")
            if not re.fullmatch(r"MPI_\w{1,60}", name) or len(words) < 2:
                raise reader.error(number, f"no call: {line[:60]!r}; as 'MPI_Barrier:start:0,0,4:end'")
            start, end = words[0], words[-1]
            if not _TIME.fullmatch(start) or not _TIME.fullmatch(end) or start == end == "-":
                raise reader.error(number, f"no times in µs: {start[:30]!r}, {end[:30]!r}")
            ends_ns = last_ns if end == "-" else _ns(end)
            starts_ns = ends_ns if start == "-" else _ns(start)
            ends_ns = max(ends_ns, starts_ns) if end == "-" else ends_ns
            last_ns = ends_ns
            yield from reader.calls(number, name[4:], (starts_ns, ends_ns), words[1:-1])


def _lines(path: Path, seen: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    """Yields lines with their numbers; a last line without an end is refused."""
    with path.open("rb") as file:
        number = seen_to = 0
        while raw := file.readline(LINE_BYTES_MAX):
            number += 1
            if number % BLOCK_CALLS == 0:
                seen(file.tell() - seen_to)
                seen_to = file.tell()
            if not raw.endswith(b"\n"):
                what = "the file ends within a line" if len(raw) < LINE_BYTES_MAX else "a line is too long"
                raise TraceError(f"{path}:{number}: {what}; the program was killed, or the file was cut")
            if not raw.isascii():
                raise TraceError(f"{path}:{number}: not text; give a file that liballprof has written")
            yield number, raw.decode("ascii").strip()


def read_folder(folder: Path) -> list[RankTrace]:
    """Reads the names of all ranks' files, `…N.txt`, in the order of ranks."""
    found = {}
    for path in sorted(folder.glob("*.txt")):
        match = NAMED.fullmatch(path.name)
        if match and int(match["rank"]) < mpi_trace.RANKS_MAX:
            if int(match["rank"]) in found:
                raise TraceError(f"{folder}: two files of rank {match['rank']}: {path.name} is one of them")
            found[int(match["rank"])] = path
    if not found:
        raise TraceError(f"{folder}: no files …N.txt; give the folder of liballprof's files of all ranks")
    traces: list[RankTrace] = [
        LiballprofTrace(path, rank, max(found) + 1, end=_end_of(path)) for rank, path in sorted(found.items())
    ]
    mpi_trace.ranks_check(folder, traces)
    return traces


def _end_of(path: Path) -> str:
    """Returns how a file ends: the last line is MPI_Finalize's, or it was cut."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - 4096))
        tail = file.read()
    return "MPI_Finalize" if b"\nMPI_Finalize:" in b"\n" + tail else "a line that is not MPI_Finalize's"


# ---- Writing ----


@dataclass
class _Writer:
    """Writes one rank's calls. `comms` gives each communicator its number in all files."""

    out: TextIO
    trace: RankTrace
    comms: dict[int, tuple[Communicator, int]]

    def line(self, name: str, start_ns: int, end_ns: int, *arguments: object) -> None:
        words = ":".join(map(str, arguments))
        self.out.write(f"MPI_{name}:{_us(start_ns)}:{words}{':' if words else ''}{_us(end_ns)}\n")

    def comm(self, number: int) -> str:
        if number not in self.comms:
            return f"{number},{self.trace.rank},{self.trace.ranks}"
        known, everywhere = self.comms[number]
        return f"{everywhere},{known.rank},{len(known.members)}"

    def world_rank(self, comm: int, peer: int) -> int:
        if comm not in self.comms:
            return peer
        remote = self.comms[comm][0].remote
        return remote[peer] if 0 <= peer < len(remote) else peer

    @staticmethod
    def type(row: np.void) -> tuple[int, str]:
        each = max(1, int(row["type_bytes"]))
        return int(row["bytes"]) // each, f"0,{each},{each}"

    def message(self, row: np.void, start_ns: int, end_ns: int, request: int = 0) -> None:
        """Writes a send or a receive, and the request that it begins: its own, or the one given."""
        request = request or int(row["request"])
        count, type_ = self.type(row)
        peer = self.world_rank(int(row["comm"]), int(row["peer"]))
        name = "send" if row["flags"] & SENDS else "recv"
        arguments = [0, count, type_, peer, int(row["tag"]), self.comm(int(row["comm"]))]
        if request:
            self.line(f"I{name}", start_ns, end_ns, *arguments, 8 * request)
        elif name == "send":
            self.line("Send", start_ns, end_ns, *arguments)
        else:
            self.line("Recv", start_ns, end_ns, *arguments, 0)

    def waits(self, requests: list[int], start_ns: int, end_ns: int) -> None:
        for request in requests:
            is_last = request == requests[-1]
            self.line("Wait", start_ns, end_ns if is_last else start_ns, 8 * request, 0)

    def collective(self, name: str, row: np.void, start_ns: int, end_ns: int) -> None:
        count, type_ = self.type(row)
        values = {"count": count, "other_count": count, "type": type_, "other_type": type_, "op": 3,
                  "peer": int(row["peer"]), "comm": self.comm(int(row["comm"])),
                  "request": 8 * int(row["request"])}  # fmt: skip
        arguments = ARGUMENTS.get(name, ("comm",))
        self.line(name, start_ns, end_ns, *(values.get(what, 0) for what in arguments))

    def exchange(self, row: np.void, part: np.void, start_ns: int, end_ns: int, number: int) -> None:
        """Writes MPI_Sendrecv. `number` is of two requests that the program has not."""
        if NOBODY in (row["peer"], part["peer"]) or row["tag"] != part["tag"]:
            requests = []
            for half in (part, row):
                if half["peer"] == NOBODY:
                    continue
                requests.append(number + len(requests))
                self.message(half, start_ns, start_ns, requests[-1])
            self.waits(requests, start_ns, end_ns)
            return
        comm = self.comm(int(row["comm"]))
        halves = []
        for half in (row, part):
            peer = self.world_rank(int(half["comm"]), int(half["peer"]))
            halves += [0, *self.type(half), peer, int(half["tag"])]
        self.line("Sendrecv", start_ns, end_ns, *halves, comm, 0)

    def call(self, rows: np.ndarray, at: int, number: int) -> None:
        """Writes the call that begins at a row."""
        row = rows[at]
        name = self.trace.names[int(row["call"])]
        start_ns, end_ns, flags = int(row["start_ns"]), int(row["end_ns"]), int(row["flags"])
        more = rows[at + 1 : at + 1 + int(row["more"])]
        parts = more[more["call"] == PART]
        if name in ("Init", "Init_thread"):
            self.out.write(f"MPI_Init:-:0:0:{_us(end_ns)}\n")
        elif name == "Finalize":
            self.out.write(f"# Finalize clockdiff: {_us(self.trace.offsets_ns[1])}\n")
            self.out.write(f"MPI_Finalize:{_us(start_ns)}:-\n")
        elif flags & (ERROR | IN_VAIN):
            return
        elif flags & COMPLETES:
            words = [int(word) for word in mpi_trace.words_of(rows, at)]
            self.waits(words or [int(row["request"])], start_ns, end_ns)
        elif name.startswith("Sendrecv") and len(parts):
            self.exchange(row, parts[0], start_ns, end_ns, number)
        elif flags & (SENDS | RECEIVES) and not flags & (mpi_trace.PROBES | mpi_trace.CANCELLED):
            if row["peer"] != NOBODY:
                self.message(row, start_ns, end_ns)
        elif flags & COLLECTIVE and name in ARGUMENTS:
            self.collective(name, row, start_ns, end_ns)
        else:
            for part in parts:
                if part["peer"] != NOBODY:
                    self.message(part, start_ns, start_ns)


def _us(ns: int) -> str:
    """Returns ns as µs, exactly."""
    return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def write_folder(traces: list[RankTrace], folder: Path) -> int:
    """Writes all ranks' files, `pmpi-trace-rank-N.txt`. Returns the number of calls."""
    with Bar(sum(trace.bytes for trace in traces), "writing traces") as bar:
        return _write_ranks(traces, folder, bar)


def _write_ranks(traces: list[RankTrace], folder: Path, bar: Bar) -> int:
    numbers: dict[object, int] = {}
    calls = 0
    for trace in traces:
        known = trace.communicators()
        comms = {number: (comm, numbers.setdefault(comm.key, len(numbers))) for number, comm in known.items()}
        free = 1 << 32
        with (
            written_whole(folder / f"pmpi-trace-rank-{trace.rank}.txt") as part,
            part.open("w", encoding="ascii", errors="replace") as out,
        ):
            out.write(f"# from {trace.path.name}, {trace.program}\n# host: {trace.host}\n")
            out.write(f"# Init clockdiff: {_us(trace.offsets_ns[0])}\n")
            writer = _Writer(out, trace, comms)
            for rows in trace.blocks(bar.add):
                heads = mpi_trace.heads_of(rows)
                for at in heads[rows["call"][heads] != COMM]:
                    writer.call(rows, int(at), free)
                    free += 2
                    calls += 1
    return calls
