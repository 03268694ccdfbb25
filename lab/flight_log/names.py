# SPDX-License-Identifier: BSD-2-Clause
"""What the numbers of the flight log mean to a person.

Names of system calls and of interrupts come from the tree (syscalls.def, arch/x86_64/include/arch/trap.h);
without them numbers are shown.
"""

from __future__ import annotations

import errno
import functools
import re
from collections.abc import Sequence

from lab.common.paths import ROOT
from lab.formats.klog import NEVER, Kind

#: Words that are addresses or the hardware's numbers.
HEXADECIMAL = {"address", "entry", "instruction", "vector"}

#: Intel SDM 3A, table 6-1.
EXCEPTIONS = {
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


@functools.cache
def system_calls() -> dict[int, str]:
    """Names by x86_64's number; empty without the kernel's list."""
    try:
        text = next((ROOT / "kernel").rglob("syscalls.def")).read_text(encoding="utf-8")
    except (OSError, StopIteration):
        return {}
    row = re.compile(r"^(?:LOCAL|STUB|CONST|ALIAS|REFUSED|PROBED)\((\w+), (\d+),", re.MULTILINE)
    return {int(number): name for name, number in row.findall(text)}


@functools.cache
def vectors() -> dict[int, str]:
    """Names of x86_64's exceptions and interrupts by number."""
    names = dict(EXCEPTIONS)
    try:
        text = (ROOT / "arch/x86_64/include/arch/trap.h").read_text(encoding="utf-8")
    except OSError:
        return names
    for name, number in re.findall(r"\bVECTOR_(\w+) = (0x[0-9a-f]+|\d+)", text):
        if name != "FIRST_INTERRUPT":
            names[int(number, 0)] = name.lower()
    return names


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def word_text(field: str, value: int) -> str:
    """A word's value as a person wants to see it, by the name that the file gives it."""
    if field == "number":
        return system_calls().get(value, str(value))
    if field == "vector":
        name = vectors().get(value)
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


def fields(kind: Kind, words: Sequence[int]) -> dict[str, str]:
    """An event's words by name; how late it came, where it holds a deadline and the time."""
    found: dict[str, str] = {}
    for field, value in zip(kind.words, words):
        if field != "0":
            found[field if field not in found else f"{field}_2"] = word_text(field, value)
    if kind.words == ("deadline_ns", "now_ns"):
        found["late_ns"] = str(words[1] - words[0])
    return found


def cause(kind: Kind, words: Sequence[int]) -> str:
    """What an event counts as: system calls by name, exceptions and interrupts by number, others by kind."""
    if kind.words[0] in ("number", "vector"):
        return f"{kind.name} {word_text(kind.words[0], words[0])}"
    return kind.name
