# SPDX-License-Identifier: BSD-2-Clause
"""The differences between the architectures of nodes, in one record each. Other modules use its fields and
never compare an architecture's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import RunnerError
from .sizes import MIB


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    name            as in arch/NAME, build/NAME and `make ARCH=NAME` elf_machine     its number in ELF files
    described       its name in messages about programs emulator        QEMU's program boards          QEMU's
    machines, each with its largest number of CPUs, smallest first firmware        firmware that starts a
    kernel loaded by QEMU: names, the default first, with the option that
                    is appended to the board. A machine that finds its kernel on a device has the last one
    cpu             QEMU's CPU model, unless the run chooses one
    icount_cpu      appended to the CPU model in a deterministic run
    terminals       the kernel's names of the four serial ports, in QEMU's order: its console, the program's
                    standard output and input, its standard error, the flight log
    timer           the kernel's name of the clock event device that every machine has
    cards           whether Tacet has drivers of network cards
    turns           whether the turns of several CPUs on one deterministic clock can be bounded (turns.py)
    threads_since   the first major version of QEMU that emulates several hardware threads per core
    idle            the ways of a CPU to idle (`idle=`); the last one, `poll`, keeps it busy
    memory_step     a machine's memory is a multiple of this, in bytes
    binutils        prefix of the names of its binutils
    kernel_address  regular expression for the kernel's addresses in text
    """

    name: str
    elf_machine: int
    described: str
    emulator: str
    boards: tuple[tuple[int, str], ...]
    firmware: Mapping[str, str]
    cpu: str
    icount_cpu: str
    terminals: tuple[str, str, str, str]
    timer: str
    cards: bool
    turns: bool
    threads_since: int
    idle: tuple[str, ...]
    memory_step: int
    binutils: str
    kernel_address: str

    def board(self, cpus: int, firmware: str | None, direct: bool) -> str:
        """QEMU's machine for this number of CPUs. `direct`: QEMU itself loads the kernel. RunnerError if
        there is no such firmware."""
        names = list(self.firmware)
        chosen = firmware or names[0 if direct else -1]
        if chosen not in self.firmware:
            raise RunnerError(f"--firmware of {self.name} is {' or '.join(names)}, not {chosen}")
        fits = [board for most, board in self.boards if cpus <= most]
        return (fits[0] if fits else self.boards[-1][1]) + self.firmware[chosen]


X86_64 = Architecture(
    name="x86_64",
    elf_machine=62,
    described="x86_64",
    emulator="qemu-system-x86_64",
    # More than 255 CPUs need an x2APIC: QEMU 10's, without icount.
    boards=((255, "pc"), (1024, "q35")),
    firmware={"seabios": ""},
    cpu="max",
    # With an x2APIC, QEMU 10 ends a deterministic run with "Bad icount read" when the guest reads one of its
    # registers that depend on time. So a deterministic machine has none.
    icount_cpu=",-x2apic",
    terminals=("com1", "com2", "com3", "com4"),
    timer="lapic",
    cards=True,
    turns=True,
    threads_since=0,
    idle=("halt", "mwait", "poll"),
    memory_step=MIB,
    binutils="",
    kernel_address="ffffffff[89a-f][0-9a-f]{7}",
)

PPC64 = Architecture(
    name="ppc64",
    elf_machine=21,
    described="64-bit PowerPC",
    emulator="qemu-system-ppc64",
    # TCG does not implement the mitigations that the last four `cap-` options turn off.
    boards=(
        (1024, "pseries,cap-large-decr=on,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off"),
    ),
    # QEMU's own Open Firmware takes 0.1 s and supports no device; the real one takes 5 s.
    firmware={"vof": ",x-vof=on", "slof": ""},
    cpu="power9",
    icount_cpu="",
    terminals=("hvc0", "hvc1", "hvc2", "hvc3"),
    timer="decrementer",
    cards=False,
    turns=False,
    threads_since=10,
    idle=("cede", "poll"),
    memory_step=256 * MIB,
    binutils="powerpc64le-linux-gnu-",
    kernel_address="c000000[0-9a-f]{9}",
)

ALL = {architecture.name: architecture for architecture in (X86_64, PPC64)}
DEFAULT = X86_64.name


def named(name: str) -> Architecture:
    if name not in ALL:
        raise RunnerError(f"--arch is {' or '.join(ALL)}, not {name or 'nothing'}")
    return ALL[name]


def of_program(elf: bytes) -> Architecture | None:
    """The architecture of an ELF file; None if it is not one of these."""
    number = int.from_bytes(elf[18:20], "little")
    return next((one for one in ALL.values() if one.elf_machine == number), None)


def of_file(path: Path) -> Architecture | None:
    """The architecture of the ELF file at a path; None also if it cannot be read."""
    try:
        with path.open("rb") as file:
            return of_program(file.read(20))
    except OSError:
        return None
