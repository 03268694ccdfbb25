# SPDX-License-Identifier: BSD-2-Clause
"""The differences between the architectures that the lab measures on, a record each, and the option `--arch`.
tools/qemu/architectures.py has how a machine is started."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from lab.common.paths import REPORT, ROOT


@dataclass(frozen=True)
class Architecture:
    """One architecture, as the lab needs it.

    name       as in build/NAME and `make ARCH=NAME`
    clock_hz   ticks per second of the clock that programs read, in QEMU with `icount`
    page_kib   size of a page, KiB
    firmware   default firmware of the machines; None if there is only one
    systems    the systems on which FTQ is compared
    strip      the program that removes a kernel's symbols
    zeroing    bytes that the kernel clears per counted instruction
    """

    name: str
    clock_hz: int
    page_kib: int
    firmware: str | None
    systems: tuple[str, ...]
    strip: str
    zeroing: float

    @property
    def kernel(self) -> Path:
        return ROOT / "build" / self.name / "tacet.elf"

    @property
    def apps(self) -> Path:
        return ROOT / "build" / self.name / "apps"

    @property
    def report(self) -> Path:
        """The default folder of results, in the current folder."""
        return REPORT if self.name == DEFAULT else REPORT.with_name(f"{REPORT.name}-{self.name}")

    @property
    def instructions_a_tick(self) -> float:
        """Instructions per tick of the clock with `icount` and shift 0: an instruction lasts a nanosecond."""
        return 1e9 / self.clock_hz


DEFAULT = "x86_64"
ALL = {
    architecture.name: architecture
    for architecture in (
        # `rep stosq` counts as one instruction per word.
        Architecture("x86_64", 10**9, 4, None, ("tacet", "linux", "linux_tuned"), "strip", 8),
        # A loop of three instructions clears a cache line. A tuned Linux is missing, because the turns of its
        # two CPUs are not bounded on ppc64 (tools/qemu/linux_systems.py).
        Architecture(
            "ppc64", 512 * 10**6, 64, "slof", ("tacet", "linux"), "powerpc64le-linux-gnu-strip", 128 / 3
        ),
    )
}


def options_add(parser: argparse.ArgumentParser) -> None:
    """Adds `--arch` and `--firmware`. After parsing, call `options_settle`."""
    parser.add_argument(
        "--arch", choices=list(ALL), default=DEFAULT, help="the machines' architecture (default x86_64)"
    )
    parser.add_argument(
        "--firmware", help="firmware of ppc64's machines: slof, the real one (default), or vof, QEMU's own"
    )


def chosen(options: argparse.Namespace) -> Architecture:
    return ALL[options.arch]


def options_settle(options: argparse.Namespace, **programs: str) -> None:
    """Sets each option that names a file and was not given to this architecture's default: `out`, `kernel`,
    `apps`, and `programs` of `make apps`, by the name of their option."""
    architecture = chosen(options)
    options.firmware = options.firmware or architecture.firmware
    usual = {"out": architecture.report, "kernel": architecture.kernel, "apps": architecture.apps}
    usual |= {option: architecture.apps / program for option, program in programs.items()}
    for name, path in usual.items():
        if getattr(options, name, path) is None:
            setattr(options, name, path)
