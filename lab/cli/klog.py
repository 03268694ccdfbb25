# SPDX-License-Identifier: BSD-2-Clause
"""`lab klog FILE`: the flight log of a Tacet node as a table, as a table of causes, or as a picture.

    tools/lab klog build/klog.bin                        every event, all CPUs in the order of time
    tools/lab klog build/klog.bin --summary              causes of each CPU: how often, how long
    tools/lab klog build/klog.bin --chrome trace.json    for https://ui.perfetto.dev or chrome://tracing

FILE is what `make run APP=…` and `tools/run --klog FILE` keep.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TextIO

import numpy as np

from lab.common.files import text_write
from lab.flight_log.causes import heading, rows, summary
from lab.flight_log.chrome import chrome
from lab.formats.klog import NEVER, FlightLog, KlogError, read

SUMMARY = "Show the flight log of a Tacet node as a table, as a table of causes, or as a picture."


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("klog", description=SUMMARY)
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="what tools/run --klog has kept, or a copy of /proc/tacet/klog",
    )
    parser.add_argument("--summary", action="store_true", help="a table of causes instead of the events")
    parser.add_argument("--chrome", type=Path, metavar="OUT.json", help="write a Chrome trace instead")
    parser.add_argument("--cpu", type=int, metavar="N", help="this CPU's events only")
    parser.add_argument(
        "--from", type=int, dest="since", metavar="NS", help="events from this time on, ns since boot"
    )
    parser.add_argument("--to", type=int, dest="until", metavar="NS", help="events up to this time")


def chosen(log: FlightLog, options: argparse.Namespace) -> FlightLog:
    """The events that the options ask for."""
    keep = np.ones(len(log), dtype=bool)
    if options.cpu is not None:
        if options.cpu not in {part.cpu for part in log.cpus}:
            raise KlogError(f"{log.name}: there is no CPU {options.cpu}; there are 0 to {len(log.cpus) - 1}")
        keep &= log.cpu == options.cpu
    if options.since is not None:
        keep &= log.time_ns >= np.uint64(min(max(options.since, 0), NEVER))
    if options.until is not None:
        keep &= log.time_ns <= np.uint64(min(max(options.until, 0), NEVER))
    return log.select(keep)


def show(options: argparse.Namespace, out: TextIO) -> None:
    log = chosen(read(options.file), options)
    if options.chrome:
        text_write(options.chrome, json.dumps(chrome(log)) + "\n")
        print(
            f"{options.chrome}: {len(log)} events; open it in https://ui.perfetto.dev or chrome://tracing",
            file=out,
        )
        return
    print(heading(log), file=out)
    if options.summary:
        print("\n" + summary(log), file=out)
        return
    print(file=out)
    for row in rows(log):
        print(row, file=out)
    out.flush()


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Carries the command out; `out` is for tests. LabError or OSError if it fails."""
    show(options, out or sys.stdout)
    return 0
