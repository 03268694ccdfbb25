# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-cores`: silence, wake-ups and timers on several CPUs, in turns of 10 µs.

With `icount`, QEMU's CPUs take turns on one clock. QEMU 10 bounds the turns (tools/qemu/turns.py), so a CPU
waits for less than a turn. On 2, 4 and 8 CPUs:

silence   FTQ on each CPU: no CPU enters the kernel, and no quantum loses a turn or more
wake      `cost -w`: a thread wakes one on another CPU; the instructions of both from call to return. The
other
          CPUs halt, so this is the same for any number of them
timers    `cost` on each CPU sleeps for 1 ms with a slack of 1 ns: each CPU's own timer ends the sleep, never
          early, and late by less than a turn plus the cost on one CPU

All figures are exact and the same in every run. Writes `bench_cores.json` into the folder `--out`. Without
QEMU 10 it says so and writes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.cost_figures import LATE_BELOW_NS
from lab.bench.runner import Result, Runner
from lab.common.errors import LabError
from lab.common.paths import APPS, REPORT
from lab.common.text import table

SUMMARY = "Measure silence, wake-ups and timers on several CPUs, in bounded turns on QEMU's clock."

CPUS = (2, 4, 8)
TURNS_NS = 10_000
QUANTA = 100

#: The aims: kernel entries, nanoseconds.
ENTRIES_MAX = 0
LOSS_BELOW_NS = TURNS_NS
TIMER_BELOW_NS = TURNS_NS + LATE_BELOW_NS


@dataclass(frozen=True)
class Figures:
    """The figures for one number of CPUs: kernel entries of all, the longest loss of a quantum, instructions
    of a wake, and how late sleeps of 1 ms ended: minimum, median of the latest CPU, and maximum, ns."""

    entries: int
    loss_ns: int
    wake: int
    late_min_ns: int
    late_median_ns: int
    late_max_ns: int


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-cores", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument("--apps", type=Path, default=APPS, help="folder of the programs")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="most seconds for each run (default 300)",
    )


def _run(machines: Runner, app: Path, args: list[str], cpus: int, limit: float, options: str) -> Result:
    result = machines.run_tacet(
        app, args, cpus=cpus, icount=0, turns_ns=TURNS_NS, qemu="newest", memory="256M", options=options,
        time_limit=limit,
    )  # fmt: skip
    return runner.result_checked(f"{app.name} on {cpus} CPUs", result)


def numbers(text: str, key: str, count: int) -> list[int]:
    """Returns the value of each of `count` CPUs for a key, from `RANK: KEY: VALUE` or `KEY VALUE`. LabError
    if a CPU has none."""
    found = [int(value) for value in re.findall(rf"\b{key}:? (\d+)", text)]
    if len(found) != count:
        raise LabError(f"{count} CPUs must print {key}, but {len(found)} did:\n{text[-2000:]}")
    return found


def measure(machines: Runner, apps: Path, cpus: int, limit: float) -> Figures:
    """Runs the three programs on this number of CPUs. LabError or RunnerError if one fails."""
    ftq = _run(machines, apps / "ftq", ["-n", str(QUANTA)], cpus, limit, "prefix=rank")
    wake = _run(machines, apps / "cost", ["-w"], cpus, limit, "ranks=1")
    timers = _run(machines, apps / "cost", [], cpus, limit, "prefix=rank")
    said, slept = ftq.stderr.decode(errors="replace"), timers.stdout.decode("ascii", errors="replace")
    return Figures(
        sum(numbers(said, "kernel_entries", cpus)),
        max(numbers(said, "largest_loss_ns", cpus)),
        numbers(wake.stdout.decode("ascii", errors="replace"), "futex_wake_ticks_median", 1)[0],
        min(numbers(slept, "sleep_exact_late_min_ns", cpus)),
        max(numbers(slept, "sleep_exact_late_median_ns", cpus)),
        max(numbers(slept, "sleep_exact_late_max_ns", cpus)),
    )


def held(figures: Figures) -> dict[str, bool]:
    """Returns which aims are held."""
    return {
        "entries": figures.entries <= ENTRIES_MAX,
        "loss_ns": figures.loss_ns < LOSS_BELOW_NS,
        "late_max_ns": figures.late_max_ns < TIMER_BELOW_NS,
    }


def as_table(found: dict[int, Figures]) -> str:
    """Returns a table with figures as rows and numbers of CPUs as columns."""

    def row(name: str, key: str, aim: str = "") -> list[str]:
        cells = [f"{getattr(figures, key):,}" for figures in found.values()]
        kept = [held(figures).get(key) for figures in found.values()]
        return [name, *cells, aim, "" if None in kept else "yes" if all(kept) else "NO"]

    rows = [
        row("FTQ on each CPU: kernel entries of all", "entries", str(ENTRIES_MAX)),
        row("  longest loss of a quantum, ns", "loss_ns", f"< {LOSS_BELOW_NS:,}"),
        row("futex wake to a waiter on another CPU, instructions", "wake"),
        row("1 ms sleep on each CPU, exact: at most late, ns", "late_max_ns", f"< {TIMER_BELOW_NS:,}"),
        row("  median of the latest CPU", "late_median_ns"),
        row("  at least late", "late_min_ns"),
    ]
    return table(["Tacet", *(f"{cpus} CPUs" for cpus in found), "aim", "held"], rows)


def bench(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[int, Figures]:
    """Measures all numbers of CPUs; returns none if QEMU 10 is missing. LabError if a run fails."""
    found: dict[int, Figures] = {}
    for name in ("ftq", "cost"):
        runner.program_found(options.apps / name)
    try:
        for cpus in CPUS:
            print(f"FTQ, wake-ups and timers on {cpus} CPUs …", file=out, flush=True)
            found[cpus] = measure(machines, options.apps, cpus, options.time_limit)
    except machines.RunnerError as error:
        print(f"several CPUs: absent: {error}", file=out, flush=True)
        return {}
    written: dict[str, Any] = {
        str(cpus): {**vars(figures), "held": all(held(figures).values())} for cpus, figures in found.items()
    }
    runner.figures_keep(options.out / "bench_cores.json", written, as_table(found), out)
    return found


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    bench(options, machines or runner.load(), out or sys.stdout)
    return 0
