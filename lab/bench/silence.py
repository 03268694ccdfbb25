# SPDX-License-Identifier: BSD-2-Clause
"""`lab silence`: checks Tacet's own zero: selfish, FTQ and FWQ for an hour of guest time without one detour.

Runs each program on Tacet in QEMU with `icount`, requires zero detours and zero kernel entries in its window,
and writes `silence.json` and the raw output of each run into the folder `--out`.

A coarse clock makes an hour of guest time affordable: with shift S every instruction lasts 2^S ns. The
programs distinguish only numbers of instructions, so every threshold here is also a number of instructions,
times 2^S:

selfish   A turn of its loop is 11 instructions; no two clock reads of an undisturbed loop are further apart.
          The threshold is 48 instructions, so anything that takes 38 or more in addition to the loop is a
          detour. Tacet's shortest kernel entry, an empty system call, takes more. This is checked first, by
          `selfish -k`, which makes system calls and must see each one as a detour.
FWQ       Samples of an undisturbed core are equal to the instruction; a sample longer by 48 is disturbed.
FTQ       An operation is 64 instructions; a loss of two is a detour, so 192 instructions are always seen.

The kernel's own counters show what none of the programs can see. On several cores only the counters count:
with icount, QEMU's CPUs take turns on one clock, and each CPU's turn is a detour for the others. So the last
run has one rank per core, `selfish` on each, for a few seconds; it requires that all began at the same moment
and that none entered the kernel. Coarse shifts are for Tacet's zero only: on Linux they would lengthen every
detour with the clock.

selfish reads the clock six times as often as FTQ, and clock reads take most time in QEMU, so it runs
with a shift that is larger by 2.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.runner import Result, Runner
from lab.common import architecture
from lab.common.errors import DataError, LabError
from lab.common.files import bytes_write, text_write
from lab.common.text import table
from lab.formats import ftq, fwq, selfish

SUMMARY = "Check Tacet's own zero: selfish, FTQ and FWQ for an hour of guest time without one detour."

#: Shortest detour of selfish and FWQ, instructions; see above.
THRESHOLD_INSTRUCTIONS = 48
#: selfish's shift is larger by this.
SELFISH_SHIFT_MORE = 2
#: Length of FTQ's quantum at shift 0, ns (and so instructions); an FWQ sample is 2^WORK_BITS turns of its
#: loop.
QUANTUM_NS = 4_000_000
WORK_BITS = 18
WORK_INSTRUCTIONS = 16 << WORK_BITS
#: The number of system calls that selfish must see in the control run.
CONTROLS = 20
CONTROL_EVERY_NS = 1_000_000

#: Guest time of the run on several cores, ns, and its shift.
CORES_NS = 5_000_000_000
CORES_SHIFT = 4

HOUR_NS = 3_600 * 10**9
SHIFT_MAX = 10


@dataclass(frozen=True)
class Run:
    """One program's run: its key in silence.json, the program, its arguments, and the function that judges
    its data.

    `judge` returns (detours, window in ns) from the text of the data.
    """

    key: str
    program: str
    shift: int
    args: list[str]
    judge: Callable[[str, str], tuple[int, float]]
    controls: int = 0


def _judge_selfish(text: str, name: str) -> tuple[int, float]:
    data = selfish.parse(text, name)[0]
    return selfish.summarise(data).detours, data.period_ns


def _judge_ftq(text: str, name: str) -> tuple[int, float]:
    data = ftq.parse(text, name)[0]
    return ftq.summarise(data).detours, float(data.window_ns)


def _judge_fwq(text: str, name: str) -> tuple[int, float]:
    data = fwq.parse(text, name)[0]
    summary = fwq.summarise(data)
    if not data.ticks_per_ns:
        raise fwq.FwqError(f"{name}: no '# ticks_per_ns'")
    return summary.disturbed, summary.total / data.ticks_per_ns


def plan(hours: float, shift: int) -> list[Run]:
    """Returns the runs for this amount of guest time."""
    window_ns = round(hours * HOUR_NS)
    coarse = shift + SELFISH_SHIFT_MORE
    quantum_ns, sample_ns = QUANTUM_NS << shift, WORK_INSTRUCTIONS << shift
    selfish_args = ["-s", "-d", f"{THRESHOLD_INSTRUCTIONS << coarse}ns"]
    every_ns = CONTROL_EVERY_NS << coarse
    control_args = [*selfish_args, "-r", f"{every_ns * CONTROLS + every_ns // 2}ns", "-k", f"{every_ns}ns"]
    quanta, samples = -(-window_ns // quantum_ns), -(-window_ns // sample_ns)
    return [
        Run("selfish_control", "selfish", coarse, control_args, _judge_selfish, CONTROLS),
        Run("selfish", "selfish", coarse, [*selfish_args, "-r", f"{window_ns}ns"], _judge_selfish),
        Run("ftq", "ftq", shift, ["-s", "-q", f"{quantum_ns}ns", "-n", str(quanta)], _judge_ftq),
        Run(
            "fwq",
            "fwq",
            shift,
            ["-s", "-d", f"{THRESHOLD_INSTRUCTIONS << shift}ns", "-w", str(WORK_BITS), "-n", str(samples)],
            _judge_fwq,
        ),
    ]


def hours(text: str) -> float:
    """Parses a time in hours, from a second to a month."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 / 3600 <= value <= 720:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in hours; give a number from 0.0003 to 720")
    return value


def shift(text: str) -> int:
    """Parses a shift of `icount`; the shift plus two must be valid, too."""
    if not text.isdigit() or int(text) > SHIFT_MAX - SELFISH_SHIFT_MORE:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a shift; give a whole number from 0 to {SHIFT_MAX - SELFISH_SHIFT_MORE}"
        )
    return int(text)


def cores(text: str) -> int:
    """Parses a number of cores, 0 for none."""
    if not text.isdigit() or int(text) == 1 or int(text) > 64:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of several cores; give 2 to 64, or 0 for none"
        )
    return int(text)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("silence", description=SUMMARY)
    architecture.options_add(parser)
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--hours", type=hours, default=1.0, help="guest hours of each program (default 1)")
    parser.add_argument(
        "--shift",
        type=shift,
        default=8,
        help="an instruction lasts 2^SHIFT ns (default 8, ten seconds each; 4: minutes)",
    )
    parser.add_argument(
        "--cores", type=cores, default=4, help="cores of the run on several cores; 0: no such run (default 4)"
    )
    parser.add_argument("--apps", type=Path, help="folder of the programs")
    parser.add_argument("--memory", default="256M", help="memory of the machine (default 256M)")
    parser.add_argument(
        "--qemu", choices=("system", "newest"), default="newest", help="which QEMU (default newest)"
    )
    parser.add_argument("--tacet-options", default="", help="more options for Tacet's command line")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="most seconds for each run (default 3600)",
    )


def judged(run: Run, result: Result, window_ns: float) -> tuple[dict[str, Any], str]:
    """Returns the figures of one run, and what is wrong with them, or an empty text."""
    report = ftq.parse_report(result.stderr.decode(errors="replace"))
    try:
        detours, seen_ns = run.judge(result.stdout.decode("ascii", errors="replace"), run.key)
    except DataError as error:
        raise LabError(f"{error}\n{runner.console_tail(result)}") from None
    entries = int(report["kernel_entries"]) if report.get("kernel_entries", "").isdigit() else None
    figures: dict[str, Any] = {
        "detours": detours,
        "kernel_entries": entries,
        "window_s": seen_ns / 1e9,
        "shift": run.shift,
        "threshold_ns": None if run.program == "ftq" else THRESHOLD_INSTRUCTIONS << run.shift,
        "threshold_instructions": 192 if run.program == "ftq" else THRESHOLD_INSTRUCTIONS,
        "clock_invariant": report.get("clock_invariant"),
        "smi": report.get("smi"),
        "wall_s": round(result.seconds, 1),
        "command": shlex.join(result.command),
    }
    if run.controls:
        figures["controls"] = run.controls
    expected = run.controls
    what = f"{run.controls} system calls made" if run.controls else "silence expected"
    if entries is None:
        return figures, "the kernel entries were not counted"
    if report.get("detours") != str(detours):
        return figures, f"the program says {report.get('detours')} detours, the lab {detours}"
    if detours != expected or entries != expected:
        return figures, f"{what}, but {detours} detours seen, {entries} kernel entries counted"
    if not run.controls and seen_ns < window_ns * (1 - 1e-4):
        return figures, f"only {seen_ns / 1e9:.1f} s of guest time were measured"
    return figures, ""


def kept(options: argparse.Namespace, key: str, result: Result) -> Result:
    """Keeps a run's raw output. Returns `result` if the program ended normally, else raises LabError."""
    bytes_write(options.out / f"silence-{key}.dat", result.stdout)
    log = result.stderr.decode(errors="replace") + "\n--- console ---\n" + result.console
    text_write(options.out / f"silence-{key}.log", log)
    return runner.result_checked(key, result)


def rank_reports(text: str) -> dict[int, dict[str, str]]:
    """Returns the summaries of the ranks, from lines that begin with `RANK: `."""
    lines: dict[int, list[str]] = {}
    for line in text.splitlines():
        match = re.match(r"(\d+): (.*)", line)
        if match:
            lines.setdefault(int(match[1]), []).append(match[2])
    return {rank: ftq.parse_report("\n".join(part)) for rank, part in sorted(lines.items())}


def ranks_judged(count: int, result: Result) -> tuple[dict[str, Any], str]:
    """Returns the figures of the run on several cores, and what is wrong with them, or an empty text."""
    reports = rank_reports(result.stderr.decode(errors="replace"))
    entries = {rank: report.get("kernel_entries", "not counted") for rank, report in reports.items()}
    starts = {report.get("start") for report in reports.values()}
    figures: dict[str, Any] = {
        "ranks": len(reports),
        "kernel_entries": {str(rank): int(n) if n.isdigit() else None for rank, n in entries.items()},
        "started_together": len(starts) == 1 and None not in starts,
        "window_s": CORES_NS / 1e9,
        "shift": CORES_SHIFT,
        "wall_s": round(result.seconds, 1),
        "command": shlex.join(result.command),
    }
    if sorted(reports) != list(range(count)):
        return figures, f"{count} ranks were started, but only these reported: {sorted(reports)}"
    if not figures["started_together"]:
        return figures, "the ranks did not begin together"
    noisy = {rank: n for rank, n in entries.items() if n != "0"}
    return figures, f"kernel entries by rank: {noisy}" if noisy else ""


def silence(options: argparse.Namespace, machines: Runner, out: TextIO) -> None:
    """Runs everything. LabError if a run is not silent."""
    architecture.options_settle(options)
    runs = plan(options.hours, options.shift)
    total = len(runs) + (options.cores > 0)
    for run in runs:
        runner.program_found(options.apps / run.program)
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"arch": options.arch, "hours": options.hours}
    wrong: list[str] = []

    def start(title: str, program: str, args: list[str], shift: int, **more: Any) -> Result:
        kernel_options = f"{options.tacet_options} {more.pop('options', '')}".strip()
        try:
            return runner.run_shown(
                title, out,
                lambda: machines.run_tacet(
                    options.apps / program, args, icount=shift, memory=options.memory, qemu=options.qemu,
                    options=kernel_options, time_limit=options.time_limit, arch=options.arch,
                    firmware=options.firmware, **more,
                ),
            )  # fmt: skip
        except machines.RunnerError as error:
            raise LabError(f"{program}: {error}") from None

    def note_failure(key: str, error_text: str) -> None:
        if error_text:
            wrong.append(f"{key}: {error_text}")

    for i, run in enumerate(runs, start=1):
        title = f"[{i}/{total}] {run.key}, shift {run.shift}"
        result = kept(options, run.key, start(title, run.program, run.args, run.shift))
        found[run.key], error_text = judged(run, result, options.hours * HOUR_NS)
        note_failure(run.key, error_text)
    if options.cores:
        title = f"[{total}/{total}] selfish on {options.cores} cores, shift {CORES_SHIFT}"
        args = ["-s", "-r", f"{CORES_NS}ns"]
        result = kept(
            options,
            "cores",
            start(title, "selfish", args, CORES_SHIFT, cpus=options.cores, options="prefix=rank"),
        )
        found["cores"], error_text = ranks_judged(options.cores, result)
        note_failure("cores", error_text)
    runner.figures_keep(options.out / "silence.json", found, as_table(runs, found), out)
    if wrong:
        raise LabError("not silent: " + "; ".join(wrong))


def as_table(runs: Sequence[Run], found: dict[str, Any]) -> str:
    """Returns a table with programs as rows."""
    rows = []
    for run in runs:
        figures = found[run.key]
        name = f"{run.program}, {run.controls} system calls made" if run.controls else run.program
        rows.append(
            [
                name,
                str(figures["detours"]) if figures["detours"] else "zero detours",
                str(figures["kernel_entries"]),
                f"{figures['window_s']:,.1f} s",
                f"{figures['threshold_instructions']} instr.",
                f"{figures['wall_s']:.0f} s",
            ]
        )
    if "cores" in found:
        figures = found["cores"]
        entries = "/".join(str(count) for count in figures["kernel_entries"].values())
        rows.append(
            [
                f"selfish on {figures['ranks']} cores",
                "not counted",
                entries,
                f"{figures['window_s']:,.1f} s",
                "counters",
                f"{figures['wall_s']:.0f} s",
            ]
        )
    return table(["Tacet", "detours", "kernel entries", "guest time", "shortest seen", "took"], rows)


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    silence(options, machines or runner.load(), out or sys.stdout)
    return 0
