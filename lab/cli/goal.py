# SPDX-License-Identifier: BSD-2-Clause
"""`lab goal PATTERN --ranks N -o FILE`: writes a built-in pattern of the simulator as GOAL text, for this
simulator or others. `lab goal --trace FOLDER -o FILE`: writes what a traced program did (lab/schedules).

The simulator writes the pattern's file (simulator/goal_write.cpp). Simulating the file gives the same finish
times as the pattern itself, to the picosecond.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from lab.cli.trace import read_folder
from lab.common.errors import LabError
from lab.common.simulator import sim
from lab.schedules import from_trace
from lab.schedules.collectives import ALGORITHMS, DEFAULTS
from lab.schedules.from_trace import Made

#: The simulator's ranks.
RANKS_MAX = 1 << 20

PATTERNS = {
    "dissemination": "log2 N steps: to r + 2^k, from r - 2^k (barrier, small allreduce)",
    "bcast": "binomial tree from rank 0",
    "reduce": "binomial tree to rank 0",
    "recursive-doubling": "exchange with r xor 2^k (allreduce)",
    "ring": "a pipeline of segments through all ranks",
    "alltoall": "one step, to all others and from all others",
    "nway": "dissemination with several partners per step (--ways)",
    "halo2d": "neighbours on a 2-D torus, then an allreduce",
    "halo3d": "neighbours on a 3-D torus, then an allreduce",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listed = "\n".join(f"  {name:<20}{what}" for name, what in PATTERNS.items())
    parser = subparsers.add_parser(
        "goal",
        description="Write a built-in pattern, or what a traced program did, as GOAL text.",
        epilog=f"patterns:\n{listed}\n\nalgorithms: {', '.join(ALGORITHMS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "pattern", nargs="?", choices=PATTERNS, metavar="PATTERN", help="a pattern of the list below"
    )
    parser.add_argument("--ranks", "-n", type=int, metavar="N", help="number of ranks")
    parser.add_argument("--trace", type=Path, metavar="FOLDER", help="traces of all ranks (lab help trace)")
    parser.add_argument(
        "--times",
        type=int,
        default=1,
        metavar="K",
        help="repeat a trace's ranks K times, on K times as many (1)",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="traces of a run with as many ranks as the schedule: say how far they differ",
    )
    parser.add_argument(
        "--collective",
        action="append",
        default=[],
        metavar="NAME=ALGORITHM",
        help="expand a trace's collective by an algorithm, as allgather=ring",
    )
    parser.add_argument(
        "--bytes",
        "-b",
        type=int,
        default=8,
        metavar="B",
        help="bytes of each message; for the ring, of all segments together (8)",
    )
    parser.add_argument(
        "--segment", type=int, default=16384, metavar="B", help="bytes of a segment of the ring (16384)"
    )
    parser.add_argument("--ways", type=int, default=2, metavar="W", help="partners per step of nway (2)")
    parser.add_argument(
        "--iterations", "-i", type=int, default=1, metavar="I", help="number of times the pattern runs (1)"
    )
    parser.add_argument(
        "--compute",
        type=int,
        default=0,
        metavar="NS",
        help="whole ns of computation before each iteration (0)",
    )
    parser.add_argument(
        "--reduction",
        type=int,
        default=0,
        metavar="NS",
        help="whole ns of computation for each message of a reducing step (0)",
    )
    parser.add_argument("--output", "-o", default="-", metavar="FILE", help="file; - for standard output (-)")
    parser.add_argument(
        "--check", action="store_true", help="simulate file and pattern, and compare each rank's finish time"
    )


def pattern_words(options: argparse.Namespace) -> list[object]:
    words: list[object] = [
        options.pattern,
        "-n",
        options.ranks,
        "-b",
        options.bytes,
        "--segment",
        options.segment,
        "--ways",
        options.ways,
        "-i",
        options.iterations,
    ]
    for name in ("compute", "reduction"):
        if getattr(options, name):
            words += [f"--{name}", getattr(options, name)]
    return words


def check(options: argparse.Namespace) -> int:
    """Simulates the file and the pattern. Returns the number of ranks, all with equal finish times; LabError
    if one differs."""
    words = ["--json", "-", "--per-rank"]
    by_file = json.loads(sim(["run", options.output, *words]))["finish_ns"]
    by_pattern = json.loads(sim(["pattern", *pattern_words(options), *words]))["finish_ns"]
    for rank, (ours, right) in enumerate(zip(by_file, by_pattern, strict=True)):
        if ours != right:
            raise LabError(
                f"{options.output}: rank {rank} ends at {ours} ns in the file, but at {right} ns in the "
                "pattern; this is a bug, please report it"
            )
    return len(by_file)


def algorithms_of(options: argparse.Namespace) -> dict[str, str]:
    """Returns the algorithms of --collective."""
    found = {}
    for word in options.collective:
        name, _, algorithm = word.partition("=")
        if name not in DEFAULTS or algorithm not in ALGORITHMS:
            raise LabError(
                f"--collective {word[:60]}: give NAME=ALGORITHM, a name of {', '.join(DEFAULTS)}; "
                f"an algorithm of {', '.join(ALGORITHMS)}"
            )
        found[name] = algorithm
    return found


def against(made: Made, options: argparse.Namespace, algorithms: dict[str, str]) -> None:
    """Prints what a rank does on average in a repeated trace, and in one of as many ranks."""
    traces = read_folder(options.against)
    if len(traces) != made.ranks:
        raise LabError(
            f"{options.against}: traces of {len(traces)} ranks, but the schedule has {made.ranks}; trace a "
            f"run with {made.ranks} ranks, or give another --times"
        )
    real = from_trace.write(traces, Path(os.devnull), 1, algorithms)
    print(f"{'of each rank':<16}{'repeated':>16}{'traced':>16}   differs")
    for what, ours, theirs in (
        ("messages", made.messages, real.messages),
        ("bytes", made.bytes, real.bytes),
        ("computation, us", made.compute_ns / 1000, real.compute_ns / 1000),
    ):
        differs = f"{100 * (ours / theirs - 1):+8.2f} %" if theirs else "       -"
        print(f"{what:<16}{ours / made.ranks:16.1f}{theirs / made.ranks:16.1f}  {differs}")


def trace_run(options: argparse.Namespace) -> int:
    """Writes the schedule of a trace, and says what it leaves out."""
    if options.pattern or options.ranks or options.check:
        raise LabError(
            "--trace has the ranks and messages of its program: leave out PATTERN, --ranks, --check"
        )
    if not 1 <= options.times <= RANKS_MAX:
        raise LabError(f"--times {options.times}: give a number from 1 to {RANKS_MAX}")
    if options.output == "-":
        raise LabError("--trace needs a file; name one with -o")
    traces = read_folder(options.trace)
    if len(traces) * options.times > RANKS_MAX:
        raise LabError(f"{len(traces)} ranks {options.times} times are more than {RANKS_MAX}; lower --times")
    algorithms = algorithms_of(options)
    made = from_trace.write(traces, Path(options.output), options.times, algorithms)
    print(f"{options.output}: {made.ranks} ranks, {made.operations} operations, {made.messages} messages")
    for what, count in sorted(made.left.items()):
        print(f"left out: {what} ({count} times)" if count > 1 else f"left out: {what}")
    if options.against:
        against(made, options, algorithms)
    return 0


def run(options: argparse.Namespace) -> int:
    if options.trace:
        return trace_run(options)
    if not options.pattern or not options.ranks:
        raise LabError("give a PATTERN and --ranks N, or --trace FOLDER; lab help goal lists the patterns")
    if options.check and options.output == "-":
        raise LabError("--check needs a file; name one with -o")
    if options.output != "-" and not Path(options.output).absolute().parent.is_dir():
        raise LabError(f"{options.output}: its folder does not exist; create it, or name another file")
    print(sim(["goal", *pattern_words(options), "--output", options.output]), end="")
    if options.check:
        print(f"{options.output}: {check(options)} ranks end at the same times as in the pattern")
    return 0
