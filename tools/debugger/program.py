# SPDX-License-Identifier: BSD-2-Clause
"""The symbols of the program that a node runs, at the addresses where the kernel loads it."""

from __future__ import annotations

import struct
from pathlib import Path

import gdb

ET_DYN = 3
PT_LOAD = 1
#: ARCH_PIE_BASE of arch/platform.h.
PIE_BASE = 0x0000040000000000


def bias_of(elf: bytes) -> int:
    """The distance that the kernel adds to the file's addresses: 0, or for a static-PIE the one that moves
    its first segment to ARCH_PIE_BASE (kernel/init/load.c)."""
    if struct.unpack_from("<H", elf, 16)[0] != ET_DYN:
        return 0
    offset = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    loaded = []
    for i in range(count):
        kind, _, _, address, _, _, _, alignment = struct.unpack_from("<IIQQQQQQ", elf, offset + i * size)
        if kind == PT_LOAD:
            loaded.append((address, max(alignment, 4096)))
    if not loaded:
        return 0
    low, alignment = min(address for address, _ in loaded), max(alignment for _, alignment in loaded)
    return PIE_BASE - (low & ~(alignment - 1))


def add_symbols(path: Path) -> str:
    """Load the symbols of a program. Returns a line that says where. gdb.GdbError."""
    from qemu import RunnerError, check_program

    try:
        check_program(path)
        bias = bias_of(path.read_bytes())
    except (RunnerError, OSError, struct.error) as error:
        raise gdb.GdbError(str(error)) from None
    quoted = '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
    said = gdb.execute(f"add-symbol-file {quoted} -o {bias:#x}", to_string=True)
    where = f"{bias:#x} above their linked addresses (static-PIE)" if bias else "at their linked addresses"
    if "no debugging symbols" in said:
        where += "; it has no debugging information"
    return f"{path.name}: symbols {where}"
