# SPDX-License-Identifier: BSD-2-Clause
"""What differs between the machines that a node may have, a record each; what runs them asks here, and never
for an architecture's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import RunnerError
from .sizes import MIB


@dataclass(frozen=True)
class Architecture:
    """One architecture, as the runner needs it.

    name            that of arch/NAME, of build/NAME, and of `make ARCH=NAME`
    elf_machine     its number in ELF files
    described       what a person calls programs of it
    emulator        QEMU's program
    boards          QEMU's machines, each with the CPUs that it has at most, smallest first
    firmware        what brings a kernel up that QEMU loads, by name, the usual one first: an addition to the
                    board. A machine that looks for its kernel on a device has the last one
    cpu             QEMU's model of the CPU where a run chooses none
    icount_cpu      what a deterministic run adds to the model
    terminals       the kernel's names of the four serial ports, in QEMU's order: its console, the program's
                    standard output and input, its standard error, the flight log
    timer           the kernel's name of the clock event device that each such machine has
    cards           Tacet has drivers of network cards for it
    turns           the turns of several CPUs on one deterministic clock can be bounded (turns.py)
    threads_since   the first QEMU, by its major version, that emulates several hardware threads a core
    idle            the ways of a CPU to idle (`idle=`); the last one, `poll`, keeps it busy
    memory_step     of what a machine's memory is a multiple, in bytes
    binutils        what stands before the names of its tools
    kernel_address  the kernel's addresses in a text, a regular expression
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
        """QEMU's machine for so many CPUs; `direct`: QEMU itself loads the kernel."""
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
    # Above 255 CPUs only an x2APIC reaches: QEMU 10's, without icount.
    boards=((255, "pc"), (1024, "q35")),
    firmware={"seabios": ""},
    cpu="max",
    # QEMU 10's x2APIC ends a deterministic run with "Bad icount read" when a register of it that depends on
    # the time is read; so such a machine has none.
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
    # TCG has none of the mitigations that the four `cap-` options leave out.
    boards=(
        (1024, "pseries,cap-large-decr=on,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off"),
    ),
    # QEMU's own Open Firmware takes 0.1 s, and knows no device; the real one takes five.
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
    """The architecture of an ELF file by its machine; None where it is none of these."""
    number = int.from_bytes(elf[18:20], "little")
    return next((one for one in ALL.values() if one.elf_machine == number), None)


def of_file(path: Path) -> Architecture | None:
    """The same by the file's path; None also where it cannot be read."""
    try:
        with path.open("rb") as file:
            return of_program(file.read(20))
    except OSError:
        return None
