# SPDX-License-Identifier: BSD-2-Clause
"""`lab compare`: compares the noise of Tacet and of Linux by the same FTQ file, in one table and one picture.

Runs `ftq` in QEMU on Tacet, on stock Linux and, on x86_64, on tuned Linux, one after the other, with
`icount`: guest time is a function of the executed instructions, so two runs print the same digits. Table and
picture are written when Tacet and stock Linux are done; the tuned Linux takes longer than both, and they are
written again with it. Writes into the folder `--out`:

    ftq.png            lost operations over time, one panel per system [Betti09 Fig. 3]
    ftq.json           the figures
    ftq-SYSTEM.dat     FTQ's output, unchanged
    ftq-SYSTEM.log     the program's summary and the console

If Linux is silent, too, the comparison has measured nothing: it fails and says so.

The tuned Linux needs a second CPU, and the two take turns on QEMU's clock (comparison.py). FTQ counts a loss
there only if it is at least as long as a turn (`-d`): an event on the other CPU moves the ends of turns, so a
quantum may have up to a turn more or less. The control is the same machine with `nohz=off`, whose ticks all
show (tests/qemu/test_turns.py). With `--turns off` the column is marked in table, picture and ftq.json.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.comparison import NAMES, OPTIONAL, Absent, options_add, system_run, turns_of, unbounded
from lab.bench.runner import Result, Runner
from lab.common import architecture
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.text import table, time_ns, time_text
from lab.formats import ftq
from lab.pictures.ftq import Panel, ftq_picture

SUMMARY = "Compare the noise of Tacet and of Linux by the same FTQ file on both, in QEMU."

#: The systems of this comparison in the order of columns and panels, if an architecture has them.
SYSTEMS = {key: NAMES[key] for key in ("tacet", "linux", "linux_tuned")}

#: Seconds of a run of 1000 quanta on an idle machine, for the estimates shown on a terminal.
EXPECTED_S = {"tacet": 2.0, "linux": 13.0, "linux_tuned": 40.0}

#: How to read the figures of a system whose turns are not bounded.
REMARKS = {
    "linux_tuned": "QEMU's CPUs take turns of any length on one clock: what CPU 0 executes is missing here. "
    "Only the interrupts are this CPU's own."
}

#: If even the best quanta lack more than this ratio, there may be noise in every quantum.
SHORTFALL_NOTED = 0.0005

#: The figures that the program reports and the lab computes again from the data: (report's key, summary's
#: field).
CHECKED = (
    ("nominal_count", "nominal_count"),
    ("disturbed_quanta", "disturbed_quanta"),
    ("lost_quanta", "lost_quanta"),
    ("detours", "detours"),
    ("largest_loss", "largest_loss"),
)


@dataclass(frozen=True)
class Column:
    """One system: the data and the figures, or why it is absent."""

    key: str
    data: ftq.FtqData | None = None
    summary: ftq.FtqSummary | None = None
    report: dict[str, str] | None = None
    result: Result | None = None
    absent: str = ""
    remark: str = ""

    @property
    def name(self) -> str:
        return SYSTEMS[self.key]

    @property
    def turns_ns(self) -> int:
        """Length of the turns of its CPUs, ns; 0 if it has one CPU, or if the turns are not bounded."""
        return (self.data.threshold_ns or 0) if self.data else 0

    @property
    def kernel_entries(self) -> int | None:
        """Kernel entries (Tacet) or interrupts (Linux) of the CPU in the window; None if not counted."""
        text = (self.report or {}).get("kernel_entries", "")
        return int(text) if text.isdigit() else None

    @property
    def shortfall_ratio(self) -> float | None:
        """The share that even the best quanta lack, compared with the operation calibrated before the window;
        None if not reported."""
        try:
            return float((self.report or {})["shortfall_ratio"])
        except (KeyError, ValueError):
            return None

    @property
    def operation_instructions(self) -> int | None:
        return self.data.operation_instructions if self.data else None

    @property
    def kernel_command_line(self) -> str:
        """The kernel's command line, with the program's name and arguments if it has them."""
        words = self.result.command if self.result else []
        return words[words.index("-append") + 1] if "-append" in words[:-1] else ""


def samples(text: str) -> int:
    """Parses a number of samples for `ftq -n`."""
    if not text.isdigit() or not 1 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of samples; give one from 1 to 10000000")
    return int(text)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("compare", description=SUMMARY)
    options_add(parser, "ftq", any_architecture=True)
    parser.add_argument("--samples", type=samples, default=1000, help="number of quanta (default 1000)")
    parser.add_argument(
        "--quantum",
        type=time_ns,
        default="1ms",
        metavar="TIME",
        help="length of an FTQ quantum (default 1ms)",
    )
    parser.add_argument(
        "--tuned",
        choices=("yes", "no"),
        default="yes",
        help="measure the tuned Linux, too, after the others (default yes)",
    )
    parser.add_argument(
        "--tuned-fetch",
        metavar="COMMAND",
        help="a shell command that fetches what the tuned Linux needs; it runs while the others are measured",
    )
    parser.add_argument(
        "--kernel-wait",
        metavar="COMMAND",
        help="a shell command that ends when Tacet's kernel is built; until then Linux is measured",
    )


def _checked(key: str, data: ftq.FtqData, summary: ftq.FtqSummary, report: dict[str, str]) -> None:
    """Checks that program and lab agree on the figures. LabError if not: output was lost, or one is wrong."""
    for reported, computed in CHECKED:
        if report.get(reported) != str(getattr(summary, computed)):
            raise LabError(
                f"{SYSTEMS[key]}: the program says {reported} {report.get(reported)}, the lab "
                f"{getattr(summary, computed)}: output was lost, or one of them is wrong"
            )
    if len(data.counts) != int(report.get("samples", -1)):
        raise LabError(f"{SYSTEMS[key]}: {report.get('samples')} samples taken, {len(data.counts)} arrived")


def measure(
    key: str,
    machines: Runner,
    options: argparse.Namespace,
    out: TextIO,
    title: str,
    expected_seconds: float | None = None,
) -> Column:
    """Runs one system, keeps its raw output, and computes its figures. Only the tuned Linux may be absent."""
    args = ["-n", str(options.samples), "-q", f"{options.quantum}ns", "-s"]
    if turns := turns_of(key, options):
        args += ["-d", f"{turns}ns"]
    try:
        result = system_run(key, "ftq", args, machines, options, out, title, expected_seconds)
    except Absent as absent:
        return Column(key, absent=str(absent))
    report = ftq.parse_report(result.stderr.decode(errors="replace"))
    try:
        data = ftq.parse(result.stdout.decode("ascii", errors="replace"), f"ftq-{key}.dat")[0]
        summary = ftq.summarise(data)
    except ftq.FtqError as error:
        raise LabError(f"{SYSTEMS[key]}: {error}\n{runner.console_tail(result)}") from None
    _checked(key, data, summary, report)
    remark = REMARKS[key] if unbounded(key, options) and summary.detours else ""
    return Column(key, data, summary, report, result, remark=remark)


def as_json(column: Column) -> dict[str, Any]:
    """Returns one system's figures; times in ns, ratios as fractions of one."""
    if column.data is None or column.summary is None:
        return {"absent": column.absent}
    s = column.summary
    report = column.report or {}
    return {
        "disturbed_quanta": s.disturbed_quanta,
        "detours": s.detours,
        "detours_per_second": s.detours_per_second,
        "noise_ratio": s.noise_ratio,
        "raw_ratio": s.raw_ratio,
        "max_loss_counts": s.largest_loss,
        "max_loss_ns": s.largest_loss_ns,
        "kernel_entries": column.kernel_entries,
        "kernel_entries_by_cause": {
            key.removeprefix("kernel_entries_"): int(value)
            for key, value in report.items()
            if key.startswith("kernel_entries_") and value.isdigit()
        },
        "quantum_ns": s.quantum_ns,
        "samples": s.samples,
        "window_ns": column.data.window_ns,
        "operation_instructions": column.operation_instructions,
        "operation_ns": s.operation_ns,
        "shortfall_ratio": column.shortfall_ratio,
        "nominal_count": s.nominal_count,
        "one_short_quanta": s.one_short_quanta,
        "floor_ns": s.floor_ns,
        "floor_ratio": s.floor_ratio,
        "turns_ns": column.turns_ns,
        "remark": column.remark,
        "command": shlex.join(column.result.command) if column.result else "",
    }


def turns_text(turns_ns: int) -> str:
    """Returns how to read the column of a system whose CPUs take bounded turns."""
    return (
        f"two CPUs take turns of {time_text(turns_ns)} on QEMU's clock, so an operation is longer; only a "
        "loss of at least a turn counts."
    )


def as_table(columns: Sequence[Column]) -> str:
    """Returns a table with systems as columns and figures as rows."""

    def cells(name: str, text: Any) -> list[str]:
        return [name, *("absent" if c.summary is None else text(c, c.summary) for c in columns)]

    rows = [
        cells("disturbed quanta", lambda c, s: f"{s.disturbed_quanta} of {s.samples}"),
        cells(
            "detours per second", lambda c, s: f"{s.detours_per_second:.1f}" if s.detours else "zero detours"
        ),
        cells("noise ratio, disturbed quanta", lambda c, s: f"{100 * s.noise_ratio:.6f} %"),
        cells("noise ratio, raw", lambda c, s: f"{100 * s.raw_ratio:.6f} %"),
        cells("  of which quantisation floor", lambda c, s: f"{100 * s.measured_floor_ratio:.6f} %"),
        cells("largest loss", lambda c, s: f"{s.largest_loss_ns:.0f} ns"),
        cells(
            "kernel entries in the window",
            lambda c, s: "not counted" if c.kernel_entries is None else str(c.kernel_entries),
        ),
        cells("quantum", lambda c, s: f"{s.quantum_ns} ns"),
        cells("operation", lambda c, s: f"{s.operation_ns:.2f} ns, {c.operation_instructions} instr."),
    ]
    notes = [
        "kernel entries: Tacet counts system calls, exceptions and interrupts; Linux's are interrupts only."
    ]
    notes += [f"{c.name}: {turns_text(c.turns_ns)}" for c in columns if c.turns_ns]
    notes += [f"* {c.remark}" for c in columns if c.remark]
    notes += [
        f"{c.name}: even the best quanta lack {100 * c.shortfall_ratio:.3f} %: there may be noise in every "
        "quantum, which these figures do not show; measure with a shorter quantum."
        for c in columns
        if c.shortfall_ratio and c.shortfall_ratio > SHORTFALL_NOTED and not c.turns_ns
    ]
    notes += [f"{c.name}: {c.summary.floor_remark}" for c in columns if c.summary and c.summary.floor_is_high]
    notes += [f"{c.name}: absent: {c.absent}" for c in columns if c.summary is None]
    return "\n".join(
        [
            table(["", *(c.name + " *" * bool(c.remark) for c in columns)], rows),
            "",
            *notes,
            *command_lines(columns),
        ]
    )


#: Width of the lines that show the kernels' command lines.
LINE_WIDTH = 110


def command_lines(columns: Sequence[Column]) -> list[str]:
    """Returns the command line of each kernel, after an empty line."""
    started = [c for c in columns if c.kernel_command_line]
    if not started:
        return []
    name_width = 2 + max(len(c.name) for c in started)
    lines = ["", "command lines of the kernels:"]
    for column in started:
        lines += textwrap.wrap(
            column.kernel_command_line,
            LINE_WIDTH,
            initial_indent=f"  {column.name}".ljust(name_width) + "  ",
            subsequent_indent=" " * (name_width + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def report_write(columns: Sequence[Column], options: argparse.Namespace) -> None:
    """Writes ftq.json and ftq.png."""
    folder: Path = options.out
    figures: dict[str, Any] = {column.key: as_json(column) for column in columns}
    figures["arch"] = options.arch
    figures["command"] = options.command_line
    text_write(folder / "ftq.json", json.dumps(figures, indent=2) + "\n")

    def title(column: Column) -> str:
        entries = column.kernel_entries
        if entries is None:
            return column.name
        kind = "kernel entries" if column.key == "tacet" else "interrupts"
        return f"{column.name} ({entries} {kind})"

    panels = [Panel(c.key, title(c), c.data, c.summary, c.absent, c.remark) for c in columns]
    ftq_picture(
        panels,
        folder / "ftq.png",
        title=f"What the system takes: FTQ, {options.samples:,} quanta of {time_text(options.quantum)}",
        note="\n".join(
            [
                "The same ELF file on every system, in QEMU, one instruction per nanosecond of guest time.",
                *(f"{c.name}: {turns_text(c.turns_ns)}" for c in columns if c.turns_ns),
            ]
        ),
    )


class Fetch:
    """A command that fetches something at low priority while systems are measured. It ends with the
    comparison."""

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(
            ["nice", "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def reason(self) -> str:
        """Waits for the end. Returns why the command failed, or an empty text."""
        _, said = self.process.communicate()
        lines = said.strip().splitlines() or [f"status {self.process.returncode}"]
        return "" if self.process.returncode == 0 else lines[-1]

    def end(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            self.process.communicate()


class Meanwhile:
    """Measures one system while the others run, once the command that fetches its files has ended. The others
    have priority on the CPUs. QEMU counts instructions, so running several at once changes no figure."""

    #: Added to the niceness.
    NICE = 5

    def __init__(self, key: str, command: str, call: Callable[[TextIO], Column]) -> None:
        self.key = key
        self.call = call
        self.fetch = Fetch(command)
        self.begun = time.monotonic()
        self.done: Column | None = None
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            reason = self.fetch.reason()
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self.NICE)
            self.done = Column(self.key, absent=reason) if reason else self.call(io.StringIO())
        except BaseException as failure:  # raised again in the thread that calls column()
            self.failure = failure

    def column(self) -> Column:
        """Waits for the end and returns the column. LabError if it failed."""
        while self.thread.is_alive():
            self.thread.join(1.0)  # a time limit, so that an interrupt is noticed
        if self.failure:
            raise self.failure
        assert self.done is not None
        return self.done

    def shown(self, out: TextIO, title: str, expected_seconds: float) -> Column:
        """Returns the column as `column()` does, and shows on `out` how long it takes."""
        left = max(0.0, expected_seconds - (time.monotonic() - self.begun))
        runner.run_shown(title, out, lambda: self.column().result or Absence(), left)
        column = self.column()
        if column.absent:
            print(f"{title}: absent: {column.absent}", file=out, flush=True)
        return column


@dataclass(frozen=True)
class Absence:
    """The result of a system that did not run."""

    outcome: str = "absent"


class Pace:
    """Estimates how long runs take on this machine, from those that have ended; before the first, the factor
    is 1."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.factor = 1.0

    def expected_s(self, key: str) -> float:
        # Linux's boot takes most of it: 1.6 s of the machine's time.
        return self.factor * EXPECTED_S[key] * (1.6 + self.samples / 1000) / 2.6

    def learn(self, key: str, seconds: float) -> None:
        self.factor *= max(1.0, seconds / self.expected_s(key))


def measured_silently(key: str, machines: Runner, options: argparse.Namespace, out: TextIO) -> Column:
    return measure(key, machines, options, out, SYSTEMS[key])


def show(columns: Sequence[Column], options: argparse.Namespace, out: TextIO) -> None:
    """Writes report and picture, and prints the table and the files' names."""
    report_write(columns, options)
    print(f"\n{as_table(columns)}", file=out)
    print(f"\n{options.out / 'ftq.png'}\n{options.out / 'ftq.json'}", file=out, flush=True)


def compare(options: argparse.Namespace, machines: Runner, out: TextIO) -> None:
    """Runs the whole comparison. LabError if it fails."""
    architecture.options_settle(options, ftq="ftq")
    runner.program_found(options.ftq)
    systems = [
        key for key in architecture.chosen(options).systems if options.tuned == "yes" or key not in OPTIONAL
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    pace = Pace(options.samples)
    columns: list[Column] = []

    def take(key: str) -> None:
        title = f"[{len(columns) + 1}/{len(systems)}] FTQ on {SYSTEMS[key]}"
        column = measure(key, machines, options, out, title, pace.expected_s(key))
        if column.result:
            pace.learn(key, column.result.seconds)
        columns.append(column)

    late = [key for key in systems if key in OPTIONAL]
    first = [key for key in systems if key not in late]
    with contextlib.ExitStack() as stack:
        meanwhile: dict[str, Meanwhile] = {}
        if options.kernel_wait:
            kernel = Fetch(options.kernel_wait)
            stack.callback(kernel.end)
            first.remove("tacet")
            for key in first:
                take(key)
            if reason := kernel.reason():
                raise LabError(f"Tacet's kernel was not built: {reason}")
            first = ["tacet"]
        for key in late if options.tuned_fetch else ():
            call = functools.partial(measured_silently, key, machines, options)
            meanwhile[key] = Meanwhile(key, options.tuned_fetch, call)
            stack.callback(meanwhile[key].fetch.end)
        for key in first:
            take(key)
        columns.sort(key=lambda column: systems.index(column.key))
        show(columns, options, out)
        linux = next(column.summary for column in columns if column.key == "linux")
        if linux is not None and linux.disturbed_quanta == 0:
            raise LabError(
                "Linux shows no disturbed quantum: the method cannot see noise here, so Tacet's zero proves "
                "nothing. Use a longer window (--samples) or another quantum (--quantum) that shows Linux's "
                "ticks."
            )
        if late:
            print("\nNow with a tuned Linux, which takes longer:", file=out, flush=True)
        for key in late:
            if key in meanwhile:
                title = f"[{len(columns) + 1}/{len(systems)}] FTQ on {SYSTEMS[key]}"
                columns.append(meanwhile[key].shown(out, title, pace.expected_s(key)))
            else:
                take(key)
    if late:
        show(columns, options, out)


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    compare(options, machines or runner.load(), out or sys.stdout)
    return 0
