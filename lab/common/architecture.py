# SPDX-License-Identifier: BSD-2-Clause
"""What differs between the architectures that the lab measures on, a record each, and the option `--arch`
that chooses one. How a machine is started is the runner's business (tools/qemu/architectures.py)."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from lab.common.paths import REPORT, ROOT


@dataclass(frozen=True)
class Architecture:
    """One architecture, as the lab needs it.

    name       that of build/NAME and of `make ARCH=NAME`
    clock_hz   ticks a second of the clock that programs read, in QEMU with `icount`
    page_kib   a page
    firmware   what starts the machines where nobody chooses; None: there is one only
    systems    those that FTQ is compared on
    strip      the program that takes a kernel's symbols away
    zeroing    bytes that the kernel clears in one counted instruction
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
        """Where results go unless the user says otherwise: in the folder of the call."""
        return REPORT if self.name == DEFAULT else REPORT.with_name(f"{REPORT.name}-{self.name}")

    @property
    def instructions_a_tick(self) -> float:
        """With `icount` and shift 0, where an instruction lasts a nanosecond."""
        return 1e9 / self.clock_hz


DEFAULT = "x86_64"
ALL = {
    architecture.name: architecture
    for architecture in (
        # `rep stosq` counts as an instruction for each of its words.
        Architecture("x86_64", 10**9, 4, None, ("tacet", "linux", "linux_tuned"), "strip", 8),
        # A loop of three instructions clears a line of the cache. The two CPUs of a tuned Linux have no turns
        # there that anybody bounds (tools/qemu/linux_systems.py).
        Architecture(
            "ppc64", 512 * 10**6, 64, "slof", ("tacet", "linux"), "powerpc64le-linux-gnu-strip", 128 / 3
        ),
    )
}


def options_add(parser: argparse.ArgumentParser) -> None:
    """`--arch`, and `--firmware` of its machines. `options_settle` belongs to them."""
    parser.add_argument(
        "--arch", choices=list(ALL), default=DEFAULT, help="the machines' architecture (default x86_64)"
    )
    parser.add_argument(
        "--firmware", help="what starts ppc64's machines: slof, the real one (default), or vof, QEMU's own"
    )


def chosen(options: argparse.Namespace) -> Architecture:
    return ALL[options.arch]


def options_settle(options: argparse.Namespace, **programs: str) -> None:
    """Gives the options that name files, and were not given, what this architecture has: `out`, `kernel`,
    `apps`, and programs of `make apps`, each by the name of its option."""
    architecture = chosen(options)
    options.firmware = options.firmware or architecture.firmware
    usual = {"out": architecture.report, "kernel": architecture.kernel, "apps": architecture.apps}
    usual |= {option: architecture.apps / program for option, program in programs.items()}
    for name, path in usual.items():
        if getattr(options, name, path) is None:
            setattr(options, name, path)
