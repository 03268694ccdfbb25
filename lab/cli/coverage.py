# SPDX-License-Identifier: BSD-2-Clause
"""`lab coverage`: counts how often the lab's 95 % intervals hold the true value, on simulated measurements of
which it is known."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from lab.common.errors import DataError
from lab.common.files import text_write
from lab.common.text import table
from lab.common.version import version
from lab.statistics import coverage

READ_IT = """
Each cell: in how many percent of the measurements with an interval it holds the true value; "of N": in N % of
the measurements there is one. c: it says that it is conservative. refused: offered in under 15 %; the number
after it is the percentage of all measurements that got a wrong one. !: not between 93 % and 97 % (c: 100 %),
with room for chance below 2,000 measurements.
ratio: noise ratio. rate: detours a second. median, 99.9 %: of lengths. longest: the longest detour in a
twentieth of the measured time. difference: of two nodes' ratios, one measured for twice the time."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "coverage",
        description="Count how often the 95 % intervals hold the true value, on simulated measurements with "
        "n detours. 2,000 of each kind take 15 minutes, most of them for n = 100,000.",
    )
    parser.add_argument(
        "--replications",
        type=int,
        default=2_000,
        metavar="N",
        help="simulated measurements for each row (default 2000)",
    )
    parser.add_argument(
        "--detours",
        default=",".join(map(str, coverage.COUNTS)),
        metavar="N,…",
        help="numbers of detours in a measurement (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the generator's seed (default 1)")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="OUT.json", help="also write the counts, with version and seed"
    )


def counts_of(text: str) -> list[int]:
    """Parses numbers of detours. DataError if one is not a whole number from 1 to 10 million."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= 10**7 for word in words):
        raise DataError(f"--detours {text}: give whole numbers from 1 to 10000000, such as 50,1000")
    return [int(word) for word in words]


def run(options: argparse.Namespace) -> int:
    """Prints the table; returns 1 if an interval is not right."""
    counts = counts_of(options.detours)
    if options.replications < 1 or options.seed < 0:
        raise DataError(
            f"--replications {options.replications} --seed {options.seed}: give at least 1 replication, and "
            "a seed of 0 or more"
        )
    made_by = version()  # before the run, in which the tree may change
    found: list[coverage.Cell] = []
    for count in counts:
        for model in coverage.models():
            found += coverage.cells(model, count, options.replications, options.seed)
            if sys.stderr.isatty():
                print(f"{model.name}, {count:,} detours: done", file=sys.stderr, flush=True)
    print(table(["n", "noise", *coverage.FIGURES], coverage.table_rows(found)))
    print(READ_IT)
    print(f"{options.replications:,} replications, seed {options.seed}, {made_by}")
    if options.out:
        text_write(
            options.out,
            json.dumps(
                {
                    "version": made_by,
                    "seed": options.seed,
                    "replications": options.replications,
                    "cells": [cell.as_json() for cell in found],
                },
                indent=1,
            )
            + "\n",
        )
    return 0 if all(cell.right for cell in found) else 1
