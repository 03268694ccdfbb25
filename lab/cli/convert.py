# SPDX-License-Identifier: BSD-2-Clause
"""`lab convert`: writes a trace in another tool's format: netgauge's selfish file, or the noise file that the
simulator replays."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lab.cli.inputs import add_assumed, assumed_of
from lab.common.errors import DataError
from lab.formats import registry
from lab.formats.trace import WRITERS


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "convert",
        description="Write a file's detours in another tool's format. A silent trace becomes a file without "
        "a line of data.",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="measured data in any format that has starts and lengths of detours",
    )
    parser.add_argument(
        "--to",
        choices=tuple(WRITERS),
        default="noise",
        help="noise: for build/simulator/sim --noise (default); selfish: for netgauge's readers",
    )
    parser.add_argument("--cpu", type=int, metavar="N", help="the CPU to write, if the file holds several")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT")
    add_assumed(parser)


def run(options: argparse.Namespace) -> int:
    traces = registry.read(options.file, assumed_of(options))
    chosen = [trace for trace in traces if options.cpu is None or trace.cpu == options.cpu]
    if len(chosen) != 1:
        cpus = ", ".join(str(trace.cpu) for trace in traces)
        raise DataError(f"{options.file}: holds CPUs {cpus}; name one of them with --cpu")
    WRITERS[options.to](chosen[0], options.out)
    print(f"{options.out}: {chosen[0].listed:,} detours")
    return 0
