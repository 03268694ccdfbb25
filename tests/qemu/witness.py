# SPDX-License-Identifier: BSD-2-Clause
"""A witness from outside: QEMU's own record of which CPU has entered the kernel, and where.

`-d exec,nochain` writes a line for each block of instructions that a CPU begins, `-dfilter` keeps those in
chosen ranges of addresses: the entry stubs of trap_entry.asm and syscall_entry.asm, and the first instruction
of any function that a test names. The record knows nothing of the kernel's counters, and the kernel nothing
of it.

QEMU writes a block's line before it executes it, and may then turn back for something else (an exhausted
budget of instructions under icount, a request from outside) and begin it again. Interrupts are off in the
kernel's entries, so a block that was really executed is followed, on its CPU, by another one of the range: of
equal lines in a row, one counts.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qemu import architectures

VECTORS = 256
#: Of x86_64's entry of a vector (arch/x86_64/include/arch/trap.h).
TRAP_STUB_BYTES = 9
FIRST_INTERRUPT = 32
SYSTEM_CALL_ENTRIES = ("syscall_entry", "syscall_entry_logged")

#: POWER's vectors, where they come in with translation on, and scv's (arch/ppc64/include/arch/trap.h). What
#: comes by the decrementer and from outside has x86_64's numbers in the counters.
VECTORED_AT, VECTORS_AT, VECTORS_END = 0xC000000000003000, 0xC000000000004000, 0xC000000000006000
EXCEPTIONS = (0x300, 0x380, 0x400, 0x480, 0x600, 0x700, 0x800, 0xD00, 0xF00, 0xF20, 0xF40, 0xF60)
SYSTEM_CALL, EXTERNAL, DECREMENTER = 0xC00, 0x500, 0x900

_LINE = re.compile(r"^Trace (\d+): \S+ \[[0-9a-f]+/([0-9a-f]+)/", re.MULTILINE)


@cache
def symbols(image: Path) -> dict[str, int]:
    """Addresses of an ELF file's symbols; of several with the same name, the first one."""
    listed = subprocess.run(["nm", image], capture_output=True, text=True, check=True, timeout=60).stdout
    found: dict[str, int] = {}
    for address, _, name in (
        line.split(maxsplit=2) for line in listed.splitlines() if not line.startswith(" ")
    ):
        found.setdefault(name, int(address, 16))
    return found


@dataclass
class Witness:
    """The record of one run.

    folder     where it is kept
    kernel     the image whose entries it is about
    landmarks  functions to watch in addition to the entries: name and address
    arch       of the kernel
    """

    folder: Path
    kernel: Path
    landmarks: Mapping[str, int]
    arch: str = architectures.DEFAULT

    @property
    def path(self) -> Path:
        return self.folder / "record"

    @property
    def options(self) -> list[str]:
        """For QEMU's command line."""
        known = symbols(self.kernel)
        ranges = [(known["syscall_entry"], known["syscall_hole"])]
        if self.arch == architectures.DEFAULT:
            ranges.append((known["trap_stubs_start"], known["trap_stubs_end"]))
        else:
            ranges.append((VECTORED_AT, VECTORS_END))
        ranges += [(address, address + 1) for address in self.marks()]
        kept = ",".join(f"{start:#x}..{end - 1:#x}" for start, end in ranges)
        return ["-d", "exec,nochain", "-dfilter", kept, "-D", str(self.path)]

    def marks(self) -> dict[int, str]:
        """The landmarks. A function of POWER may be called at its second entry, too, two instructions on."""
        entries = (0,) if self.arch == architectures.DEFAULT else (0, 8)
        return {address + at: name for name, address in self.landmarks.items() for at in entries}

    def places(self) -> dict[int, str]:
        """What each address means: exception_V, interrupt_V, system_calls, or a landmark's name."""
        marks = self.marks()
        if self.arch != architectures.DEFAULT:
            stubs = {VECTORS_AT + vector: f"exception_{vector >> 8}" for vector in EXCEPTIONS}
            stubs |= {VECTORS_AT + EXTERNAL: "interrupt_240", VECTORS_AT + DECREMENTER: "interrupt_241"}
            return {
                **stubs,
                **dict.fromkeys((VECTORED_AT, VECTORS_AT + SYSTEM_CALL), "system_calls"),
                **marks,
            }
        known = symbols(self.kernel)
        first = known["trap_stubs_start"]
        stubs = {
            first + v * TRAP_STUB_BYTES: f"{'exception' if v < FIRST_INTERRUPT else 'interrupt'}_{v}"
            for v in range(VECTORS)
        }
        return {**stubs, **{known[name]: "system_calls" for name in SYSTEM_CALL_ENTRIES}, **marks}

    def events(self) -> dict[int, list[str]]:
        """What each CPU has done, in its order."""
        places = self.places()
        found: dict[int, list[str]] = {}
        last: dict[int, int] = {}
        for cpu_text, address_text in _LINE.findall(self.path.read_text(errors="replace")):
            cpu, address = int(cpu_text), int(address_text, 16)
            name, before = places.get(address), last.get(cpu)
            last[cpu] = address
            # A block ends with its page, perhaps between a function's two entries.
            if before == address or (name and before == address - 8 and places.get(before) == name):
                continue
            if name:
                found.setdefault(cpu, []).append(name)
        return found


def is_entry(name: str) -> bool:
    return name == "system_calls" or name.startswith(("exception_", "interrupt_"))


def entries(events: Iterable[str]) -> Counter[str]:
    """The entries among events, by cause."""
    return Counter(name for name in events if is_entry(name))
