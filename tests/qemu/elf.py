# SPDX-License-Identifier: BSD-2-Clause
"""Make small ELF files, right ones and wrong ones, for tests of the loader.

`build` lays the contents of segments out in a file, with headers that say what the caller wants them to say.
Without contents, the program's code asks the kernel to end it with status 7. Format: System V ABI, chapters 4
and 5.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

EXEC, DYN, REL, CORE = 2, 3, 1, 4
LOAD, INTERP = 1, 3
GNU_STACK = 0x6474E551
R, W, X = 4, 2, 1
PAGE = 65536  # a multiple of x86_64's, too
X86_64, AARCH64, I386 = 62, 183, 3
PPC64, ARM, RISCV = 21, 40, 243

#: mov $231, %eax; mov $7, %edi; syscall: exit_group(7)
CODE = bytes.fromhex("b8e7000000bf070000000f05")
#: li 0, 234; li 3, 7; sc: the same
CODE_PPC64 = bytes.fromhex("ea0000380700603802000044")
STATUS = 7
BASE = 0x400000


@dataclass
class Segment:
    """One program header. What is left out follows from the content; `offset` None is the next page of the
    file."""

    content: bytes = b""
    address: int = BASE
    flags: int = R
    kind: int = LOAD
    memory_bytes: int | None = None
    file_bytes: int | None = None
    offset: int | None = None
    alignment: int = PAGE


def code(address: int = BASE, **fields: int) -> Segment:
    """A segment that ends the program with STATUS."""
    return Segment(CODE, address, R | X, **fields)


def for_machine(content: bytes, machine: int) -> bytes:
    """The same file, or archive of files, for another machine: what was x86_64's is its own, and the other
    way round."""
    if machine == X86_64:
        return content

    def swapped(match: re.Match[bytes]) -> bytes:
        other = {X86_64: machine, machine: X86_64}.get(int.from_bytes(match[2], "little"))
        return match[0] if other is None else match[1] + other.to_bytes(2, "little")

    return re.sub(rb"(\x7fELF\x02\x01.{12})(..)", swapped, content.replace(CODE, CODE_PPC64), flags=re.DOTALL)


def build(
    segments: Sequence[Segment] | None = None,
    *,
    kind: int = EXEC,
    machine: int = X86_64,
    entry: int | None = None,
    bits: int = 64,
    big_endian: bool = False,
    header_bytes: int = 56,
    header_count: int | None = None,
    headers_offset: int = 64,
) -> bytes:
    """An ELF file of these segments; a single right one by default."""
    segments = [code()] if segments is None else list(segments)
    order = ">" if big_endian else "<"
    ident = b"\x7fELF" + bytes([1 if bits == 32 else 2, 2 if big_endian else 1, 1]) + bytes(9)
    first = entry if entry is not None else next((s.address for s in segments if s.flags & X), BASE)
    count = len(segments) if header_count is None else header_count
    if bits == 32:
        header = struct.pack(order + "HHIIIIIHHHHHH", kind, machine, 1, first, 52, 0, 0, 52, 32, 0, 40, 0, 0)
        return (ident + header).ljust(PAGE, b"\0")
    header = ident + struct.pack(
        order + "HHIQQQIHHHHHH",
        kind,
        machine,
        1,
        first,
        headers_offset,
        0,
        0,
        64,
        header_bytes,
        count,
        64,
        0,
        0,
    )
    at = (64 + 56 * len(segments) + PAGE - 1) // PAGE * PAGE
    headers, body = b"", b""
    for segment in segments:
        offset = at + len(body) + segment.address % PAGE if segment.offset is None else segment.offset
        in_file = len(segment.content) if segment.file_bytes is None else segment.file_bytes
        in_memory = in_file if segment.memory_bytes is None else segment.memory_bytes
        headers += struct.pack(
            order + "IIQQQQQQ",
            segment.kind,
            segment.flags,
            offset,
            segment.address,
            segment.address,
            in_file,
            in_memory,
            segment.alignment,
        )
        if segment.offset is None:
            part = bytes(segment.address % PAGE) + segment.content
            body += part + bytes(-len(part) % PAGE)
    return (header + headers).ljust(at, b"\0") + body
