# SPDX-License-Identifier: BSD-2-Clause
"""Bugs of the kernel, made to order: a copy of the kernel in which one function begins with other
instructions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import qemu
from qemu.symbols import Symbols

INVALID = b"\x0f\x0b"  # UD2
FOR_EVER = b"\xeb\xfe"  # a jump to itself


def planted(folder: Path, function: str, code: bytes = INVALID) -> Path:
    """The copy's file. Its symbols and lines are those of the kernel."""
    return planted_all(folder, {function: code})


def planted_all(folder: Path, codes: Mapping[str, bytes]) -> Path:
    """The same, with code in several functions."""
    symbols = Symbols(qemu.KERNEL)
    data = bytearray(qemu.KERNEL.read_bytes())
    for function, code in codes.items():
        address = symbols.find(function).address
        segment = next(s for s in symbols.segments if s.address <= address < s.address + s.file_bytes)
        at = segment.offset + address - segment.address
        data[at : at + len(code)] = code
    kernel = folder / "tacet.elf"
    kernel.write_bytes(data)
    return kernel
