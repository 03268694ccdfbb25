# SPDX-License-Identifier: BSD-2-Clause
"""Bugs of the kernel, made to order: a copy of the kernel in which one function begins with other
instructions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qemu import architectures, paths
from qemu.symbols import Symbols

INVALID = b"\x0f\x0b"  # UD2
FOR_EVER = b"\xeb\xfe"  # a jump to itself

#: The same, by architecture.
FOR_EVER_OF = {"x86_64": FOR_EVER, "ppc64": 3 * b"\0\0\0\x48"}

#: No valid instruction. A function of POWER has two entries, the second one eight bytes on.
INVALID_OF = {"x86_64": INVALID, "ppc64": bytes(12)}


def planted(
    folder: Path, function: str, code: bytes | None = None, arch: str = architectures.DEFAULT
) -> Path:
    """The copy's file. Its symbols and lines are those of the kernel. No code: an invalid instruction."""
    return planted_all(folder, {function: code or INVALID_OF[arch]}, arch)


def planted_all(folder: Path, codes: Mapping[str, bytes], arch: str = architectures.DEFAULT) -> Path:
    """The same, with code in several functions."""
    original = paths.kernel(arch)
    symbols = Symbols(original)
    data = bytearray(original.read_bytes())
    for function, code in codes.items():
        address = symbols.find(function).address
        segment = next(s for s in symbols.segments if s.address <= address < s.address + s.file_bytes)
        at = segment.offset + address - segment.address
        data[at : at + len(code)] = code
    kernel = folder / "tacet.elf"
    kernel.write_bytes(data)
    return kernel
