# SPDX-License-Identifier: BSD-2-Clause
"""What the numbers of the flight log mean to a person.

Names of system calls and of interrupts come from the tree (syscalls.def, a header of each architecture), by
the architecture that the log names; without them, or of another architecture, numbers are shown.
"""

from __future__ import annotations

import errno
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.common.paths import ROOT
from lab.formats.klog import NEVER, Kind

#: Words that are addresses or the hardware's numbers.
HEXADECIMAL = {"address", "entry", "instruction", "vector"}

#: Intel SDM 3A, table 6-1.
X86_64_EXCEPTIONS = {
    0: "divide error",
    1: "debug",
    2: "non-maskable interrupt",
    3: "breakpoint",
    4: "overflow",
    5: "bound range",
    6: "invalid opcode",
    7: "device not available",
    8: "double fault",
    10: "invalid TSS",
    11: "segment not present",
    12: "stack fault",
    13: "general protection",
    14: "page fault",
    16: "x87 error",
    17: "alignment check",
    18: "machine check",
    19: "SIMD error",
    20: "virtualization",
    21: "control protection",
}

#: Power ISA 3.0B III §6.5, by the address of the vector over 256, as the kernel counts them.
PPC64_EXCEPTIONS = {
    1: "system reset",
    2: "machine check",
    3: "data storage",
    4: "instruction storage",
    6: "alignment",
    7: "program",
    8: "floating point unavailable",
    13: "trace",
    15: "facility unavailable",
}


@dataclass(frozen=True)
class Numbers:
    """Where an architecture's numbers have their names."""

    exceptions: Mapping[int, str]
    header: str  #: which numbers its interrupts,
    prefix: str  #: by names that begin so


#: In the order of syscalls.def's columns.
ARCHITECTURES = {
    "x86_64": Numbers(X86_64_EXCEPTIONS, "arch/x86_64/include/arch/trap.h", "VECTOR_"),
    "ppc64": Numbers(PPC64_EXCEPTIONS, "arch/ppc64/include/arch/interrupts.h", "INTERRUPT_"),
}


def unknown(architecture: str) -> list[str]:
    """A line that says so, where this program does not know the architecture."""
    if architecture in ARCHITECTURES:
        return []
    known = ", ".join(ARCHITECTURES)
    return [f"Calls and vectors of {architecture} have no names here, where {known} are known."]


@functools.cache
def system_calls(architecture: str) -> dict[int, str]:
    """Names by the architecture's number; empty without the kernel's list."""
    try:
        text = next((ROOT / "kernel").rglob("syscalls.def")).read_text(encoding="utf-8")
        column = list(ARCHITECTURES).index(architecture)
    except (OSError, StopIteration, ValueError):
        return {}
    macro = r"^(?:LOCAL|STUB|CONST|ALIAS|REFUSED|PROBED)"
    row = re.compile(rf"{macro}\((\w+), {'-?[0-9]+, ' * column}(\d+),", re.MULTILINE)
    return {int(number): name for name, number in row.findall(text)}


@functools.cache
def vectors(architecture: str) -> dict[int, str]:
    """Names of the architecture's exceptions and interrupts by number."""
    if architecture not in ARCHITECTURES:
        return {}
    numbers = ARCHITECTURES[architecture]
    names = dict(numbers.exceptions)
    try:
        text = (ROOT / numbers.header).read_text(encoding="utf-8")
    except OSError:
        return names
    for name, number in re.findall(rf"\b{numbers.prefix}(\w+) = (0x[0-9a-f]+|\d+)", text):
        if name != "FIRST_INTERRUPT":
            names[int(number, 0)] = name.lower()
    return names


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def word_text(field: str, value: int, architecture: str) -> str:
    """A word's value as a person wants to see it, by the name that the file gives it."""
    if field == "number":
        return system_calls(architecture).get(value, str(value))
    if field == "vector":
        name = vectors(architecture).get(value)
        return f"{value:#x}" + (f" ({name})" if name else "")
    if field == "result":
        if -4095 <= signed(value) < 0:
            return f"-{errno.errorcode.get(-signed(value), -signed(value))}"
        return str(value) if value < 1 << 32 else f"{value:#x}"
    if field.endswith("_ns"):
        return "never" if value == NEVER else str(value)
    if field in HEXADECIMAL or value >= (1 << 12 if field == "argument" else 1 << 32):
        return f"{value:#x}"
    return str(value)


def fields(kind: Kind, words: Sequence[int], architecture: str) -> dict[str, str]:
    """An event's words by name; how late it came, where it holds a deadline and the time."""
    found: dict[str, str] = {}
    for field, value in zip(kind.words, words):
        if field != "0":
            found[field if field not in found else f"{field}_2"] = word_text(field, value, architecture)
    if kind.words == ("deadline_ns", "now_ns"):
        found["late_ns"] = str(words[1] - words[0])
    return found


def cause(kind: Kind, words: Sequence[int], architecture: str) -> str:
    """What an event counts as: system calls by name, exceptions and interrupts by number, others by kind."""
    if kind.words[0] in ("number", "vector"):
        return f"{kind.name} {word_text(kind.words[0], words[0], architecture)}"
    return kind.name
