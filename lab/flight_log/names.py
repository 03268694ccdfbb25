# SPDX-License-Identifier: BSD-2-Clause
"""Translates the numbers of the flight log to names.

Names of system calls and of interrupts come from the tree (syscalls.def, a header of each architecture), for
the architecture that the log names. Without them, or for another architecture, numbers are shown.
"""

from __future__ import annotations

import errno
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.common.paths import ROOT
from lab.formats.klog import NEVER, Kind

#: Words that are shown in hexadecimal: addresses and the hardware's numbers.
HEXADECIMAL = {"address", "entry", "instruction", "vector"}

#: Source: Intel SDM 3A, table 6-1.
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

#: Source: Power ISA 3.0B III §6.5; key: the vector's address divided by 256, the kernel's number.
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
    """The names of an architecture's numbers."""

    exceptions: Mapping[int, str]
    header: str  #: the header that numbers its interrupts
    prefix: str  #: the prefix of their names there


#: In the order of syscalls.def's columns.
ARCHITECTURES = {
    "x86_64": Numbers(X86_64_EXCEPTIONS, "arch/x86_64/include/arch/trap.h", "VECTOR_"),
    "ppc64": Numbers(PPC64_EXCEPTIONS, "arch/ppc64/include/arch/interrupts.h", "INTERRUPT_"),
}


def unknown(architecture: str) -> list[str]:
    """Returns a line that says so if this program does not know the architecture."""
    if architecture in ARCHITECTURES:
        return []
    known = ", ".join(ARCHITECTURES)
    return [f"Calls and vectors of {architecture} are shown as numbers; names are known for {known}."]


@functools.cache
def system_calls(architecture: str) -> dict[int, str]:
    """Returns the names of system calls by number; empty without the kernel's list."""
    try:
        text = next((ROOT / "kernel").rglob("syscalls.def")).read_text(encoding="utf-8")
        column = list(ARCHITECTURES).index(architecture)
    except (OSError, StopIteration, ValueError):
        return {}
    macro = r"^(?:LOCAL|STUB|CONST|CALL|VALUE|ON_FILE|ON_SOCKET|ALIAS|REFUSED|PROBED)"
    row = re.compile(rf"{macro}\((\w+), {'-?[0-9]+, ' * column}(\d+),", re.MULTILINE)
    return {int(number): name for name, number in row.findall(text)}


@functools.cache
def vectors(architecture: str) -> dict[int, str]:
    """Returns the names of the architecture's exceptions and interrupts by number."""
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
    """Returns a word's value as text; `field` is its name in the file."""
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
    """Returns an event's words by name; with `late_ns` if it holds a deadline and the time."""
    found: dict[str, str] = {}
    for field, value in zip(kind.words, words):
        if field != "0":
            found[field if field not in found else f"{field}_2"] = word_text(field, value, architecture)
    if kind.words == ("deadline_ns", "now_ns"):
        found["late_ns"] = str(words[1] - words[0])
    return found


def cause(kind: Kind, words: Sequence[int], architecture: str) -> str:
    """Returns what an event counts as: system calls by name, exceptions and interrupts by number, others by
    kind."""
    if kind.words[0] in ("number", "vector"):
        return f"{kind.name} {word_text(kind.words[0], words[0], architecture)}"
    return kind.name
