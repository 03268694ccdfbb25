# SPDX-License-Identifier: BSD-2-Clause
"""Makes a GOAL schedule of a program's traces [Hoefler10 §IV-A]: messages and waits as they were, computation
between calls as measured, less the tracer's cost, collectives expanded to messages (collectives.py),
communicators translated to MPI_COMM_WORLD's ranks.

What a call spends inside the library is the simulator's to say, also in a probe that has found a message;
time in calls without messages, and between calls, is computation. With CPU time in the trace computation is
that, because then ranks share CPUs.

Extrapolated to `times` as many ranks [Hoefler10 §V], the ranks of the trace are repeated: messages stay
within a copy, collectives of MPI_COMM_WORLD are those of all ranks. So borders of a grid stay where they
were.

A schedule is written as it is made: memory holds a block of a trace and the requests that are open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    COMPLETES,
    ERROR,
    FILE,
    IN_VAIN,
    ONE_SIDED,
    PART,
    PROBES,
    RECEIVES,
    SENDS,
    Communicator,
    RankTrace,
    TraceError,
)
from lab.schedules.collectives import ALGORITHMS, DEFAULTS, SEND, Part, function_of

#: Tags of collectives: above this, by communicator and count.
COLLECTIVE_TAG = 1 << 30
COMMUNICATORS_MAX = 1 << 13
LINES_AT_ONCE = 1 << 14

#: An operation that the next one follows: its label, and whether it must have ended, or only begun.
After = list[tuple[int, str]]


@dataclass
class Made:
    """What a schedule holds, and what it leaves out."""

    ranks: int
    operations: int = 0
    messages: int = 0
    bytes: int = 0
    compute_ns: int = 0
    left: Counter[str] = field(default_factory=Counter)


@dataclass
class _Job:
    """What the ranks of a job share: numbers of communicators and tags, and algorithms."""

    ranks: int
    times: int
    algorithms: Mapping[str, str]
    comms: dict[object, int] = field(default_factory=dict)
    tags: dict[tuple[int, int], int] = field(default_factory=dict)

    def comm_number(self, comm: Communicator) -> int:
        number = self.comms.setdefault(comm.key, len(self.comms))
        if number >= COMMUNICATORS_MAX:
            raise TraceError(
                f"the program made more than {COMMUNICATORS_MAX} communicators of different ranks"
            )
        return number

    def tag(self, comm: int, tag: int) -> int:
        return self.tags.setdefault((comm, tag), len(self.tags))


@dataclass
class _Rank:
    """The schedule of one rank, as it is written."""

    job: _Job
    trace: RankTrace
    copy: int
    comms: dict[int, Communicator]
    made: Made
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    after: After = field(default_factory=list)
    requests: dict[int, list[int]] = field(default_factory=dict)
    collectives: Counter[int] = field(default_factory=Counter)
    last_ns: int | None = None
    calls: int = 0
    cpu_ns: int = 0

    # ---- Operations ----

    def operation(self, text: str, after: After) -> int:
        self.labels += 1
        self.made.operations += 1
        self.lines.append(f"l{self.labels}: {text}")
        self.lines += [f"l{self.labels} {how} l{label}" for label, how in after]
        return self.labels

    def compute(self, ns: int) -> None:
        if ns > 0:
            self.made.compute_ns += ns
            self.after = [(self.operation(f"calc {ns}", self.after), "requires")]

    def sent(self, is_send: bool, bytes_: int) -> None:
        self.made.messages += is_send
        self.made.bytes += bytes_ if is_send else 0

    def join(self, labels: list[int]) -> int:
        """Adds an operation of no time after all these."""
        return self.operation("calc 0", self.after + [(label, "requires") for label in labels])

    def world(self, number: int, peer: int) -> int:
        comm = self.comms.get(number)
        if comm is None:
            return peer + self.job.ranks * self.copy
        if not 0 <= peer < len(comm.remote) or comm.remote[peer] < 0:
            raise TraceError(
                f"{self.trace.path}: a message to rank {peer}, which communicator {number} lacks"
            )
        return comm.remote[peer] + self.job.ranks * self.copy

    def message(self, row: np.void) -> int | None:
        """Adds a send or a receive; None if it is none, or what it received is not known."""
        flags, peer = int(row["flags"]), int(row["peer"])
        if peer < 0 and not (flags & RECEIVES and peer == mpi_trace.ANY):
            return None
        if flags & mpi_trace.CANCELLED:
            return None
        number = int(row["comm"])
        comm = self.comms.get(number)
        tag = self.job.tag(self.job.comm_number(comm) if comm else number, int(row["tag"]))
        other = self.world(number, peer) if peer >= 0 else -1
        words = f"send {row['bytes']}b to" if flags & SENDS else f"recv {row['bytes']}b from"
        self.sent(bool(flags & SENDS), int(row["bytes"]))
        return self.operation(f"{words} {other} tag {tag}", self.after)

    # ---- Calls ----

    def messages(self, rows: list[np.void]) -> None:
        """Adds the messages of one call: those without a request must end before the program goes on."""
        ends: After = []
        for row in rows:
            label = self.message(row)
            if label is None:
                continue
            if row["request"]:
                self.requests[int(row["request"])] = [label]
                ends += [(label, "irequires")] if row["flags"] & SENDS else []
            else:
                ends.append((label, "requires"))
        self.after = ends or self.after

    def collective(self, row: np.void, name: str, parts: list[int]) -> None:
        function = function_of(name)
        if not function or int(row["comm"]) not in self.comms and int(row["comm"]):
            self.made.left[name] += 1
            return
        comm = self.comms.get(int(row["comm"]))
        members = comm.members if comm else tuple(range(self.job.ranks))
        if comm and comm.members != comm.remote:
            self.made.left[f"{name} between groups"] += 1
            return
        is_world = len(members) == self.job.ranks and members[0] == 0 and members[-1] == len(members) - 1
        number = self.job.comm_number(comm) if comm else 0
        place = comm.rank if comm else self.trace.rank
        ranks, shift = len(members), self.job.ranks * self.copy
        if is_world and self.job.times > 1:
            place, ranks, shift = place + shift, ranks * self.job.times, 0
            parts = parts * self.job.times
        algorithm = ALGORITHMS[self.job.algorithms.get(function, DEFAULTS[function])]
        bytes_ = int(row["bytes"]) if function != "barrier" else 1
        part = Part(
            place, ranks, bytes_ if not parts else sum(parts) // len(parts), max(0, int(row["peer"])), parts
        )
        tag = COLLECTIVE_TAG + (number << 16) + (self.collectives[number] & 0xFFFF)
        self.collectives[number] += 1
        steps, labels, waited = algorithm(part), [], set()
        for step in steps:
            peer = step.peer if is_world else members[step.peer] + shift
            words = f"send {step.bytes}b to" if step.kind == SEND else f"recv {step.bytes}b from"
            after = [(labels[one], "requires") for one in step.after] or self.after
            labels.append(self.operation(f"{words} {peer} tag {tag}", after))
            waited |= set(step.after)
            self.sent(step.kind == SEND, step.bytes)
        last = [label for i, label in enumerate(labels) if i not in waited]
        if row["request"]:
            self.requests[int(row["request"])] = last
        elif last:
            end = self.operation("calc 0", [(label, "requires") for label in last])
            self.after = [(end, "requires")]

    def complete(self, numbers: list[int]) -> None:
        labels = [label for number in numbers for label in self.requests.pop(number, [])]
        if labels:
            self.after = [(self.join(labels), "requires")]

    def call(self, rows: np.ndarray, at: int) -> None:
        """Adds the call that begins at a row."""
        row = rows[at]
        name = self.trace.names[int(row["call"])]
        start_ns, end_ns, flags = int(row["start_ns"]), int(row["end_ns"]), int(row["flags"])
        self.calls += 1
        self.cpu_ns += int(row["cpu_ns"])
        if name in ("Init", "Init_thread"):
            self.gap_begin(end_ns)
            return
        more = rows[at + 1 : at + 1 + int(row["more"])]
        parts = list(more[more["call"] == PART])
        is_message = flags & (SENDS | RECEIVES) and not flags & PROBES or parts
        if flags & (ERROR | IN_VAIN) or not (is_message or flags & (COLLECTIVE | COMPLETES | PROBES)):
            if flags & (ONE_SIDED | FILE):
                self.made.left["one-sided calls and MPI-IO"] += 1
            if name != "Finalize":
                return
        self.compute(self.gap_ns(start_ns))
        if row["polls"]:
            self.compute(int(row["bytes"]))
        if flags & COMPLETES:
            self.complete([int(one) for one in mpi_trace.words_of(rows, at)] or [int(row["request"])])
        elif is_message:
            own = [row] if flags & (SENDS | RECEIVES) else []
            self.messages(own + parts)
        elif flags & COLLECTIVE:
            self.collective(row, name, [int(one) for one in mpi_trace.words_of(rows, at)])
        self.gap_begin(end_ns)

    # ---- Time between ----

    def gap_begin(self, ns: int) -> None:
        self.last_ns, self.calls, self.cpu_ns = ns, 0, 0

    def gap_ns(self, start_ns: int) -> int:
        """Returns the computation since the last call with messages, less the tracer's cost."""
        if self.last_ns is None:
            return 0
        if self.trace.cpu_time:
            return self.cpu_ns - self.calls * self.trace.cost_cpu_ns
        return start_ns - self.last_ns - self.calls * self.trace.cost_between_ns


def _write_rank(out: TextIO, rank: _Rank, bar: Bar) -> None:
    out.write(f"\nrank {rank.trace.rank + rank.job.ranks * rank.copy} {{\n")
    for rows in rank.trace.blocks(bar.add):
        heads = mpi_trace.heads_of(rows)
        for at in heads[rows["call"][heads] != COMM]:
            rank.call(rows, int(at))
            if len(rank.lines) > LINES_AT_ONCE:
                out.write("\n".join(rank.lines) + "\n")
                rank.lines.clear()
    if not rank.labels:
        rank.operation("calc 0", [])
    out.write("\n".join(rank.lines) + "\n}\n")


def write(
    traces: list[RankTrace], path: Path, times: int = 1, algorithms: Mapping[str, str] | None = None
) -> Made:
    """Writes the schedule of all ranks' traces, repeated `times` times. TraceError if they cannot be one."""
    job = _Job(len(traces), times, algorithms or {})
    made = Made(len(traces) * times)
    known = [trace.communicators() for trace in traces]
    for trace in traces:
        if trace.mark:
            made.left[f"the end of rank {trace.rank}: {trace.mark}"] += 1
    bytes_ = times * sum(trace.bytes for trace in traces)
    with (
        written_whole(path) as part,
        part.open("w", encoding="ascii") as out,
        Bar(bytes_, f"writing {path.name}") as bar,
    ):
        out.write(f"num_ranks {made.ranks}\n")
        for copy in range(times):
            for trace, comms in zip(traces, known, strict=True):
                _write_rank(out, _Rank(job, trace, copy, comms, made), bar)
    return made
