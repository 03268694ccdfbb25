# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the comparisons (compare.py: FTQ, compare_phases.py: phase): the systems, the options, and the
run of one program on one system, whose output is kept.

The tuned Linux needs a second CPU for the kernel's own work. With icount QEMU's CPUs take turns on one clock,
so the work of CPU 0 passes as lost time on CPU 1, where the program runs. QEMU 10 bounds the turns
(tools/qemu/turns.py), so a turn is shorter than any detour that counts, and the column shows only CPU 1's own
noise. If the turns are not bounded (`--turns off`) it does not, and the column is marked.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.runner import Result, Runner
from lab.common import architecture
from lab.common.errors import LabError
from lab.common.files import bytes_write, text_write
from lab.common.paths import APPS, REPORT
from lab.common.text import time_ns
from lab.pictures import style

#: System keys with their names, in the order of columns and curves.
NAMES = {key.replace("-", "_"): name for key, name in style.NAMES.items()}
#: The Linux that tools/qemu runs for each key.
VARIANTS = {"linux": "stock", "linux_tuned": "tuned", "linux_rt": "rt"}
#: Systems that a comparison can do without.
OPTIONAL = ("linux_tuned", "linux_rt")

#: Systems with several CPUs, which therefore take turns.
SEVERAL_CPUS = ("linux_tuned",)
#: Default length of a turn, ns, and its limits: the shortest that QEMU makes, and below a timer tick.
TURNS_NS, TURNS_MIN_NS, TURNS_MAX_NS = 1_000, 1_000, 100_000


class Absent(Exception):
    """A system that this machine cannot run, and that a comparison can do without; the text says why."""


def turns_ns(text: str) -> int:
    """Parses the length of a turn to ns; 0 for `off`."""
    if text == "off":
        return 0
    ns = time_ns(text)
    if not TURNS_MIN_NS <= ns <= TURNS_MAX_NS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a turn; give a time from 1us to 100us, or off")
    return ns


def turns_of(key: str, options: argparse.Namespace) -> int:
    """Returns the length of the turns of this system's CPUs, ns; 0 if it has one CPU, or for `--turns
    off`."""
    return options.turns if key in SEVERAL_CPUS else 0


def unbounded(key: str, options: argparse.Namespace) -> bool:
    """Whether the system's CPUs take unbounded turns, so that its figures include the other CPU's work."""
    return key in SEVERAL_CPUS and not options.turns


def options_add(parser: argparse.ArgumentParser, program: str, any_architecture: bool = False) -> None:
    """Adds the options of every comparison; `program` is the program that it runs, and the name of the option
    for its path. With `any_architecture`, options_settle of lab.common.architecture sets the defaults."""
    parser.set_defaults(arch=architecture.DEFAULT, firmware=None)
    out, path = (None, None) if any_architecture else (REPORT, APPS / program)
    if any_architecture:
        architecture.options_add(parser)
    parser.add_argument("--out", type=Path, default=out, help="folder for the results")
    parser.add_argument(f"--{program}", type=Path, default=path, help=f"path of {program}")
    parser.add_argument("--memory", default="256M", help="memory of the machines (default 256M)")
    parser.add_argument(
        "--qemu",
        choices=("system", "newest"),
        default=None if any_architecture else "newest",
        help="which QEMU "
        + (
            "(default: the installed one for x86_64's systems with one CPU, the newest for others)"
            if any_architecture
            else "(default newest)"
        ),
    )
    parser.add_argument(
        "--turns",
        type=turns_ns,
        default=TURNS_NS,
        metavar="TIME",
        help="length of the turns of the tuned Linux's CPUs on the clock, or off (default 1us)",
    )
    parser.add_argument("--tacet-options", default="", help="more options for Tacet's command line")
    parser.add_argument("--linux-options", default="", help="more options for Linux's command line")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="most seconds for each run (default 900)",
    )


def _qemu(key: str, arch: str) -> str:
    """Returns the default QEMU for a system. It is always the same one, because figures of Linux differ
    between versions, and on x86_64 QEMU 10 may be installed while the first systems are measured."""
    return "newest" if key in SEVERAL_CPUS or arch != architecture.DEFAULT else "system"


def _start(key: str, path: Path, args: list[str], machines: Runner, options: argparse.Namespace) -> Result:
    common: dict[str, Any] = {
        "memory": options.memory,
        "icount": 0,
        "qemu": options.qemu or _qemu(key, options.arch),
        "time_limit": options.time_limit,
        "arch": options.arch,
        "firmware": options.firmware,
    }
    if key == "tacet":
        return machines.run_tacet(path, args, options=options.tacet_options, **common)
    return machines.run_linux(
        path,
        args,
        variant=VARIANTS[key],
        options=options.linux_options,
        turns_ns=turns_of(key, options),
        **common,
    )


def system_run(
    key: str,
    program: str,
    args: list[str],
    machines: Runner,
    options: argparse.Namespace,
    out: TextIO,
    title: str,
    expected_seconds: float | None = None,
) -> Result:
    """Runs the program on one system and keeps its raw output as PROGRAM-SYSTEM.dat and .log. Raises Absent
    or LabError."""
    try:
        result = runner.run_shown(
            title,
            out,
            lambda: _start(key, getattr(options, program), args, machines, options),
            expected_seconds,
        )
    except machines.RunnerError as error:
        if key in OPTIONAL:
            print(f"{title}: absent: {error}", file=out, flush=True)
            raise Absent(str(error)) from None
        raise LabError(f"{NAMES[key]}: {error}") from None
    kept: Path = options.out / f"{program}-{key}.dat"
    bytes_write(kept, result.stdout)
    log = result.stderr.decode(errors="replace") + "\n--- console ---\n" + result.console
    text_write(kept.with_suffix(".log"), log)
    return runner.result_checked(NAMES[key], result)
