# SPDX-License-Identifier: BSD-2-Clause
"""`lab klog FILE`: shows the flight log of a Tacet node as a table, as a table of causes, or as a picture;
`lab klog DIR`: the flight logs of all nodes together.

    tools/lab klog build/klog.bin                        every event, all CPUs in the order of time
    tools/lab klog build/klog.bin --summary              causes on each CPU: how often, how long
    tools/lab klog build/klog.bin --chrome trace.json    for https://ui.perfetto.dev or chrome://tracing
    tools/lab klog logs --last 0.1 --chrome trace.json   all nodes' last 100 ms

`make run APP=…` and `tools/run --klog FILE` write FILE; `conductorctl klog --to DIR` writes DIR.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.common.files import text_write
from lab.flight_log.causes import heading, node_rows, node_summary, rows, summary
from lab.flight_log.chrome import chrome, node_chrome
from lab.flight_log.names import unknown
from lab.formats.klog import NEVER, NS_PER_S, FlightLog, KlogError, read
from lab.formats.klog_nodes import Interval, read_folder, together

SUMMARY = "Show the flight log of a Tacet node, or of all nodes, as events, as causes, or as a picture."


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("klog", description=SUMMARY)
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE|DIR",
        help="a file of tools/run --klog, a copy of /proc/tacet/klog, or a folder of conductorctl klog",
    )
    parser.add_argument("--summary", action="store_true", help="a table of causes instead of the events")
    parser.add_argument("--chrome", type=Path, metavar="OUT.json", help="write a Chrome trace instead")
    parser.add_argument("--cpu", type=int, metavar="N", help="this CPU's events only")
    parser.add_argument(
        "--from", type=int, dest="since", metavar="NS", help="events from this time on, in ns since boot"
    )
    parser.add_argument("--to", type=int, dest="until", metavar="NS", help="events up to this time")
    parser.add_argument(
        "--last", type=float, metavar="SECONDS", help="for a folder: the end of the time that all logs cover"
    )


def chosen(log: FlightLog, options: argparse.Namespace) -> FlightLog:
    """Returns the events that the options select."""
    keep = np.ones(len(log), dtype=bool)
    if options.cpu is not None:
        if options.cpu not in {part.cpu for part in log.cpus}:
            raise KlogError(f"{log.name}: no CPU {options.cpu}; its CPUs are 0 to {len(log.cpus) - 1}")
        keep &= log.cpu == options.cpu
    if options.since is not None:
        keep &= log.time_ns >= np.uint64(min(max(options.since, 0), NEVER))
    if options.until is not None:
        keep &= log.time_ns <= np.uint64(min(max(options.until, 0), NEVER))
    return log.select(keep)


def trace_write(path: Path, trace: dict[str, Any], events: int, out: TextIO) -> None:
    text_write(path, json.dumps(trace) + "\n")
    print(f"{path}: {events} events; open it in https://ui.perfetto.dev or chrome://tracing", file=out)


def nodes_heading(folder: Path, interval: Interval) -> str:
    """Returns the heading for a folder: the time that all logs cover, and whether their clocks agree."""
    beats, spread_ns = interval.beat_spread_ns()
    events, nodes = sum(map(len, interval.logs.values())), len(interval.logs)
    architectures = sorted({log.architecture for log in interval.logs.values()})
    return (
        f"{folder}: {events} events of {nodes} node{'s' if nodes > 1 else ''} within "
        f"{interval.length_ns / NS_PER_S:.6f} s, which all logs cover\n"
        f"Times are ns after {interval.begin_ns} of the conductor's clock; words have the node's own.\n"
        f"{beats} beats reached all nodes, each within {spread_ns / 1000:.1f} us on all."
        + "".join(f"\n{line}" for architecture in architectures for line in unknown(architecture))
    )


def show_nodes(options: argparse.Namespace, out: TextIO) -> None:
    if options.last is not None and not 0 < options.last <= 1e9:
        raise KlogError(f"--last {options.last:g}: out of range; give more than 0 and at most 1e9 seconds")
    last_ns = None if options.last is None else int(options.last * NS_PER_S)
    interval = together(read_folder(options.file), last_ns)
    print(nodes_heading(options.file, interval), file=out)
    logs = {name: chosen(log, options) for name, log in interval.logs.items()}
    if options.chrome:
        trace_write(options.chrome, node_chrome(logs), sum(map(len, logs.values())), out)
    elif options.summary:
        print("\n" + node_summary(logs), file=out)
    else:
        print(file=out)
        for row in node_rows(logs):
            print(row, file=out)
    out.flush()


def show(options: argparse.Namespace, out: TextIO) -> None:
    if options.file.is_dir():
        show_nodes(options, out)
        return
    if options.last is not None:
        raise KlogError("--last is for a folder of logs; for one log give --from NS, in ns since boot")
    log = chosen(read(options.file), options)
    if options.chrome:
        trace_write(options.chrome, chrome(log), len(log), out)
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
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    show(options, out or sys.stdout)
    return 0
