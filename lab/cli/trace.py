# SPDX-License-Identifier: BSD-2-Clause
"""`lab trace FOLDER`: what an MPI program communicated, by the traces of its ranks: those of libmpi-trace
(apps/mpi-trace) or of liballprof. `--to liballprof` writes them as Schedgen reads them."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.common.errors import DataError
from lab.common.progress import Bar
from lab.formats import liballprof, mpi_trace
from lab.formats.mpi_trace import COMM, RankTrace

#: Rows of the table of ranks.
RANKS_SHOWN = 16


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "trace", description="Show what an MPI program communicated, or write it for Schedgen."
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="traces of all ranks: rank-N.trace, or liballprof's"
    )
    parser.add_argument("--to", choices=("liballprof",), help="write the traces in liballprof's text")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="the folder to write to")


def read_folder(folder: Path) -> list[RankTrace]:
    """Returns the traces of all ranks, in any format that the lab reads."""
    if not folder.is_dir():
        raise DataError(f"{folder}: not a folder; give the one with the traces of all ranks")
    if any(folder.glob("rank-*.trace")):
        return mpi_trace.read_folder(folder)
    return liballprof.read_folder(folder)


@dataclass
class Figures:
    """What one rank did."""

    calls: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    unknown: int = 0
    inside_ns: int = 0
    span_ns: int = 0


def figures_of(trace: RankTrace, seen: Callable[[int], None] = lambda _bytes: None) -> Figures:
    figures, first, last = Figures(), None, 0
    for rows in trace.blocks(seen):
        heads = mpi_trace.heads_of(rows)
        calls = rows[heads[rows["call"][heads] != COMM]]
        if not len(calls):
            continue
        for code, count in zip(*np.unique(calls["call"], return_counts=True)):
            figures.calls[trace.names[int(code)]] += int(count)
        for kind in (mpi_trace.SENDS, mpi_trace.RECEIVES):
            found = mpi_trace.messages(rows, kind)
            if kind == mpi_trace.SENDS:
                figures.sent += len(found)
                figures.sent_bytes += int(found["bytes"].sum())
            else:
                figures.received += len(found)
                figures.received_bytes += int(found["bytes"].sum())
        figures.unknown += int(np.count_nonzero(calls["flags"] & mpi_trace.OPEN))
        figures.inside_ns += int((calls["end_ns"] - calls["start_ns"]).sum())
        first = int(calls["start_ns"][0]) if first is None else first
        last = int(calls["end_ns"][-1])
    figures.span_ns = last - (first or 0)
    return figures


def show(traces: list[RankTrace]) -> None:
    one = traces[0]
    print(f"{one.program or 'a program'}: {len(traces)} ranks{', ' + one.library if one.library else ''}")
    if one.cost_between_ns or one.cost_inside_ns:
        print(f"the tracer: {one.cost_between_ns} ns between two calls, {one.cost_inside_ns} ns within one")
    print("rank    calls     sent       bytes received       bytes    in MPI        of s")
    every: Counter[str] = Counter()
    with Bar(sum(trace.bytes for trace in traces), "reading traces") as bar:
        all_figures = [figures_of(trace, bar.add) for trace in traces]
    for trace, figures in zip(traces, all_figures, strict=True):
        every += figures.calls
        if trace.rank < RANKS_SHOWN:
            share = 100 * figures.inside_ns / max(1, figures.span_ns)
            print(
                f"{trace.rank:4} {figures.calls.total():8} {figures.sent:8} {figures.sent_bytes:11} "
                f"{figures.received:8} {figures.received_bytes:11} {share:7.2f} % "
                f"{figures.span_ns / 1e9:11.6f}"
            )
        if figures.unknown:
            print(f"{trace.path}: {figures.unknown} receives without a known message")
        if trace.mark:
            print(f"{trace.path}: incomplete: {trace.mark}")
    if len(traces) > RANKS_SHOWN:
        print(f"… and {len(traces) - RANKS_SHOWN} more ranks")
    print("calls: " + ", ".join(f"{name} {count}" for name, count in every.most_common()))
    local = sum(count for name, count in every.items() if name.startswith(("Win_", "File_")))
    if local:
        print(f"{local} calls of windows or files are there as time, without their messages")


def run(options: argparse.Namespace) -> int:
    if bool(options.to) != bool(options.out):
        raise DataError("--to names the format and -o the folder to write to; give both, or neither")
    traces = read_folder(options.folder)
    if not options.to:
        show(traces)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    calls = liballprof.write_folder(traces, options.out)
    print(f"{options.out}: {calls} calls of {len(traces)} ranks")
    return 0
