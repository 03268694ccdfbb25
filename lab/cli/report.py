# SPDX-License-Identifier: BSD-2-Clause
"""`lab report`: makes one HTML page on measured nodes. Its first sentence is the answer: how far this noise
lets a job scale, node by node."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from lab.cli import hosts
from lab.cli.inputs import add_assumed, assumed_of, positive
from lab.common.errors import DataError
from lab.common.files import text_write
from lab.common.paths import REPORT
from lab.common.text import time_ns, time_option
from lab.report.answer import Options, details, leading, verdicts
from lab.report.nodes import Collection, add_node, add_runs, bases, node_argument
from lab.report.page import page_html

#: Default title of a page on nodes; lab/cli/hosts.py has the other.
TITLE = "How far would this noise let a job scale?"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "report",
        description="Make one HTML page on one or several nodes, with tables, pictures, parameters and the "
        "commands to repeat it. The page needs no other file and begins with the answer.",
        epilog="A folder may hold files in any format that the lab reads; other files in it are skipped. "
        "tacet, linux, linux-tuned and linux-rt have colours of their own.",
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="the folder that tacet-noise wrote: a page on many hosts (docs/lab/your-nodes.md)",
    )
    parser.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="a node and the folder (or file) with its measurements; may be repeated",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        metavar="DIR",
        help="the folder that `make run` and `make bench` write, with PROGRAM-SYSTEM.dat: build/report",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=REPORT / "report.html",
        metavar="OUT",
        help=f"the page (default {REPORT}/report.html)",
    )
    parser.add_argument(
        "--grain",
        type=time_ns,
        default="1ms",
        metavar="TIME",
        help="computation between synchronisations (default 1ms)",
    )
    parser.add_argument(
        "--tolerance",
        type=positive,
        default=1.0,
        metavar="PERCENT",
        help="percentage of slowdown to tolerate (default 1)",
    )
    parser.add_argument("--title", default="", help=f"title of the page (default {TITLE!r})")
    parser.add_argument(
        "--note",
        action="append",
        default=[],
        metavar="TEXT",
        help="a note for the page's readers; may be repeated",
    )
    add_assumed(parser)


def collect(options: argparse.Namespace) -> Collection:
    if not options.node and not options.runs:
        raise DataError("no node given; give --node NAME=DIR, or --runs build/report after `make run`")
    collection = Collection()
    assumed = assumed_of(options)
    if options.runs:
        add_runs(collection, options.runs, assumed)
    for text in options.node:
        add_node(collection, *node_argument(text), assumed)
    collection.notes += options.note
    return collection


def _command(options: argparse.Namespace) -> str:
    words = ["tools/lab", "report"]
    words += ["--runs", str(options.runs)] if options.runs else []
    words += [word for node in options.node for word in ("--node", node)]
    words += ["--grain", time_option(options.grain), "--tolerance", f"{options.tolerance:g}"]
    for name in ("format", "ticks_per_ns", "threshold", "span"):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", f"{value}"] if value is not None else []
    return shlex.join([*words, "-o", str(options.out)])


def run(options: argparse.Namespace) -> int:
    if options.folder:
        return hosts.run(options, options.title)
    collection = collect(options)
    for path, reason in collection.left_out:
        print(
            f"lab report: left out: {reason}"
            if str(path) in reason
            else f"lab report: {path}: left out: {reason}",
            file=sys.stderr,
        )
    tolerance = options.tolerance / 100
    found = verdicts(collection.nodes, bases(collection.nodes, options.grain), tolerance)
    chosen = Options(options.grain, tolerance, options.title or TITLE, _command(options))
    with tempfile.TemporaryDirectory() as folder:
        page = page_html(collection, found, chosen, Path(folder))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text_write(options.out, page)
    print(f"{leading(found)}\n{details(collection.nodes, found, chosen)}\n\n{options.out}")
    return 0
