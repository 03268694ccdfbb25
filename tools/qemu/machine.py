# SPDX-License-Identifier: BSD-2-Clause
"""A machine: its devices, how it finds its kernel, and the QEMU command line for it.

Its serial ports are COM1 to COM4 of a PC, hvc0 to hvc3 of a POWER machine:

    first   the kernel's console; its last line says how the run ended (result.py)
    second  the program's standard output, byte by byte, and its standard input
    third   the program's standard error
    fourth  the flight log, if it is kept: a Tacet node sends it at its end, and QEMU writes it to a file

A `Machine` does not describe the first three: they belong to a run, which connects them (streams.py).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import architectures, paths, turns, version
from .errors import RunnerError
from .network import Network


def clock_options(icount: int | None) -> list[str]:
    """QEMU's options for time. With a number, the run is deterministic, and one instruction takes 2**icount
    ns."""
    if icount is None:
        return []
    return ["-icount", f"shift={icount},sleep=off", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm"]


DETERMINISTIC = clock_options(0)


#: The most CPUs of QEMU's machine "pc".
PC_CPUS_MAX = architectures.X86_64.boards[0][0]


@dataclass(frozen=True)
class DirectBoot:
    """A kernel that QEMU loads itself (`-kernel`), its command line, and a boot module or initramfs."""

    kernel: Path
    command_line: str
    module: Path | None = None

    def options(self) -> list[str]:
        module = [] if self.module is None else ["-initrd", os.path.abspath(self.module)]
        return ["-kernel", os.path.abspath(self.kernel), "-append", self.command_line, *module]


@dataclass(frozen=True)
class Machine:
    """One virtual computer.

    arch          its architecture, by name (architectures.py)
    cpus          virtual CPUs; on x86_64, those above 255 need QEMU 10
    memory        in QEMU's form: 256M, 2G
    cpu           QEMU's model of the CPU; None: the architecture's default
    firmware      name of the firmware for a kernel that QEMU loads; None: the architecture's default
    icount        guest time is a function of the executed instructions, 2**icount ns for each, and every run
                  prints the same digits; None: the host's time
    turns_ns      with icount and several CPUs: the longest turn of a CPU on the clock (turns.py; needs QEMU
    10);
                  0: QEMU decides, up to 100 ms
    qemu          `system`, the installed QEMU, or `newest`, QEMU 10 if it is unpacked
    qemu_options  further options, after all others: devices, disks, a monitor
    boot          the kernel that QEMU loads; None: the firmware looks for one on the devices
    com4          a file that gets all bytes of the fourth serial port
    network       its network card; None: it has none
    """

    arch: str = architectures.DEFAULT
    cpus: int = 1
    memory: str = "256M"
    cpu: str | None = None
    firmware: str | None = None
    icount: int | None = None
    turns_ns: int = 0
    qemu: str = "system"
    qemu_options: Sequence[str] = ()
    boot: DirectBoot | None = None
    com4: Path | None = None
    network: Network | None = None

    def architecture(self) -> architectures.Architecture:
        return architectures.named(self.arch)

    def cpu_model(self) -> str:
        model = self.cpu or self.architecture().cpu
        return model if self.icount is None else model + self.architecture().icount_cpu

    def command(self) -> list[str]:
        """QEMU's command line, without serial ports. RunnerError if there is no such QEMU."""
        board = self.architecture().board(self.cpus, self.firmware, direct=self.boot is not None)
        return [
            *(
                version.qemu_binary(self.qemu, self.arch),
                "-nodefaults",
                "-no-user-config",
                "-no-reboot",
                "-display",
                "none",
            ),
            *("-machine", board, "-accel", "tcg"),
            *("-cpu", self.cpu_model(), "-smp", str(self.cpus), "-m", self.memory),
            *clock_options(self.icount),
            *(self.boot.options() if self.boot else ()),
            *(self.network.options(direct=self.boot is not None) if self.network else ()),
            *self.qemu_options,
        ]

    def takes_turns(self) -> bool:
        """Whether its CPUs share one deterministic clock in bounded turns. RunnerError if QEMU cannot do
        that."""
        if self.icount is None or self.cpus < 2 or not self.turns_ns:
            return False
        if not self.architecture().turns:
            raise RunnerError(
                f"turns of {self.turns_ns} ns: {self.arch} has no device that can end them; use --turns off"
            )
        if version.qemu_major(version.qemu_binary(self.qemu, self.arch)) < turns.QEMU_MAJOR:
            raise RunnerError(
                f"turns of {self.turns_ns} ns need QEMU {turns.QEMU_MAJOR} (ports/qemu/fetch.sh build, and "
                "--qemu newest); without it, use --turns off"
            )
        return True

    def com4_options(self) -> list[str]:
        """Options for the fourth port: a file that QEMU itself writes, so that a slow reader loses no
        bytes."""
        if self.com4 is None:
            return []
        path = os.path.abspath(self.com4).replace(",", ",,")
        return ["-chardev", f"file,id=klog,path={path}", "-serial", "chardev:klog"]

    def shown_command(self) -> list[str]:
        """A shell command that starts the same machine with the console on the terminal."""
        ports = ["-serial", "stdio", "-serial", "file:program.stdout", "-serial", "file:program.stderr"]
        bounded = [str(paths.ROOT / "tools" / "turns"), str(self.turns_ns)] if self.takes_turns() else []
        if self.network is not None and self.network.enter:
            bounded.insert(0, str(paths.ROOT / "tools" / "with-network"))
        return [*bounded, *self.command(), *ports, *self.com4_options()]
