# SPDX-License-Identifier: BSD-2-Clause
"""`lab goal PATTERN --ranks N -o FILE`: writes a built-in pattern of the simulator as GOAL text, for this
simulator or others.

The simulator writes the file (simulator/goal_write.cpp). Simulating the file gives the same finish times as
the pattern itself, to the picosecond.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lab.common.errors import LabError
from lab.common.simulator import sim

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
        description="Write a built-in pattern as GOAL text.",
        epilog=f"patterns:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pattern", choices=PATTERNS, metavar="PATTERN", help="a pattern of the list below")
    parser.add_argument("--ranks", "-n", type=int, required=True, metavar="N", help="number of ranks")
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


def run(options: argparse.Namespace) -> int:
    if options.check and options.output == "-":
        raise LabError("--check needs a file; name one with -o")
    if options.output != "-" and not Path(options.output).absolute().parent.is_dir():
        raise LabError(f"{options.output}: its folder does not exist; create it, or name another file")
    print(sim(["goal", *pattern_words(options), "--output", options.output]), end="")
    if options.check:
        print(f"{options.output}: {check(options)} ranks end at the same times as in the pattern")
    return 0
