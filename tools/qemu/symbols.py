# SPDX-License-Identifier: BSD-2-Clause
"""Names for addresses: functions and objects from an ELF file's symbol table, lines from binutils.

Functions need no tool: the symbol table is read here. Files and lines come from DWARF, by one call of
addr2line for all addresses; if that is missing or does not know a line, only the function is given. A file
that is no ELF file, or has no symbols, gives no names.
"""

from __future__ import annotations

import re
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import architectures, paths

SHT_SYMTAB = 2
SHF_EXECINSTR = 4
PT_LOAD, ET_DYN = 1, 3
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_FILE = 0, 1, 2, 4
ADDR2LINE = "addr2line"
ADDR2LINE_SECONDS = 30.0


@dataclass(frozen=True)
class Symbol:
    name: str
    address: int
    size: int
    kind: int
    file: str  #: the source file of a local symbol; "" for a global one


@dataclass(frozen=True)
class Segment:
    """A loadable part of the file: its linked address in memory, and its place in the file."""

    address: int
    memory_bytes: int
    offset: int
    file_bytes: int
    alignment: int


class Symbols:
    """The symbols of an ELF file that is loaded `bias` bytes above its linked addresses."""

    def __init__(self, path: Path, bias: int = 0) -> None:
        self.path = path
        self.bias = bias

    @cached_property
    def _content(self) -> bytes:
        try:
            content = self.path.read_bytes()
        except OSError:
            return b""
        return content if content[:6] == b"\x7fELF\2\1" and len(content) >= 64 else b""

    @cached_property
    def architecture(self) -> architectures.Architecture:
        """The file's architecture; the default one if its machine is not known."""
        return architectures.of_program(self._content) or architectures.X86_64

    @cached_property
    def _sections(self) -> list[tuple[int, ...]]:
        """For each section: name, type, flags, address, offset, size, link, info, alignment, entry size."""
        if not self._content:
            return []
        start = struct.unpack_from("<Q", self._content, 40)[0]
        entry_bytes, count = struct.unpack_from("<HH", self._content, 58)
        places = (start + i * entry_bytes for i in range(count))
        return [
            struct.unpack_from("<IIQQQQIIQQ", self._content, at)
            for at in places
            if at + 64 <= len(self._content)
        ]

    @cached_property
    def segments(self) -> list[Segment]:
        if not self._content:
            return []
        start = struct.unpack_from("<Q", self._content, 32)[0]
        entry_bytes, count = struct.unpack_from("<HH", self._content, 54)
        found = []
        for at in (start + i * entry_bytes for i in range(count)):
            if at + 56 > len(self._content):
                break
            kind, _, offset, address, _, in_file, in_memory, alignment = struct.unpack_from(
                "<IIQQQQQQ", self._content, at
            )
            if kind == PT_LOAD:
                found.append(Segment(address, in_memory, offset, in_file, alignment))
        return found

    @property
    def position_independent(self) -> bool:
        return bool(self._content) and struct.unpack_from("<H", self._content, 16)[0] == ET_DYN

    @cached_property
    def symbols(self) -> list[Symbol]:
        found: list[Symbol] = []
        for _, kind, _, _, offset, size, link, *_ in self._sections:
            if kind != SHT_SYMTAB or link >= len(self._sections):
                continue
            names = self._sections[link][4]
            file = ""
            for at in range(offset, min(offset + size, len(self._content) - 23), 24):
                name_at, info, _, _, address, bytes_ = struct.unpack_from("<IBBHQQ", self._content, at)
                end = self._content.find(b"\0", names + name_at)
                name = self._content[names + name_at : end].decode(errors="replace")
                if info & 15 == STT_FILE:
                    file = name
                elif name:
                    found.append(Symbol(name, address, bytes_, info & 15, "" if info >> 4 else file))
        return found

    def _is_code(self, address: int) -> bool:
        return any(
            flags & SHF_EXECINSTR and start <= address < start + size
            for _, _, flags, start, _, size, *_ in self._sections
        )

    @cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        """The addresses of functions and labels in the code, ascending, and one symbol for each. A function
        is preferred to a label, and a name that is not reserved to a reserved one."""
        best: dict[int, Symbol] = {}
        kinds = [s for s in self.symbols if s.kind in (STT_FUNC, STT_NOTYPE) and self._is_code(s.address)]

        def rank(symbol: Symbol) -> tuple[bool, bool, bool]:
            return (symbol.kind == STT_FUNC, not symbol.name.startswith("_"), symbol.file == "")

        for symbol in kinds:
            if symbol.address not in best or rank(symbol) > rank(best[symbol.address]):
                best[symbol.address] = symbol
        addresses = sorted(best)
        return addresses, [best[address] for address in addresses]

    def function(self, address: int) -> Symbol | None:
        """The function or label that contains the code at an address of the running program; or None."""
        linked = address - self.bias
        if not self._is_code(linked):
            return None
        addresses, functions = self._functions
        at = bisect_right(addresses, linked) - 1
        for i in range(at, max(at - 64, -1), -1):  # labels may be inside a function whose size includes them
            if functions[i].size and functions[i].address + functions[i].size > linked:
                return functions[i]
        return functions[at] if at >= 0 and not functions[at].size else None

    def find(self, name: str, file: str | None = None) -> Symbol:
        """The symbol with this name and, if given, this source file. Raises KeyError."""
        for symbol in self.symbols:
            if symbol.name == name and (file is None or symbol.file == file):
                return symbol
        raise KeyError(name)

    def read(self, address: int, count: int) -> bytes:
        """The file's bytes at a linked address; zeros beyond a segment's part in the file. Raises
        KeyError."""
        for segment in self.segments:
            if segment.address <= address and address + count <= segment.address + segment.memory_bytes:
                at = segment.offset + address - segment.address
                end = min(at + count, segment.offset + segment.file_bytes)
                return self._content[at : max(at, end)].ljust(count, b"\0")
        raise KeyError(f"{address:#x}")

    def describe(self, addresses: Iterable[int], returns: Iterable[int] = ()) -> dict[int, str]:
        """`function+0xoff (file:line)` for each address in the code; other addresses are left out.

        `returns` are addresses to which calls return: function and line are those of the call.
        """
        after_call = set(returns)
        found: dict[int, Symbol] = {}
        for address in {*addresses, *after_call}:
            symbol = self.function(address - (address in after_call))
            if symbol is not None:
                found[address] = symbol
        ordered = sorted(found)
        lines = self._lines([address - self.bias - (address in after_call) for address in ordered])
        return {
            address: f"{found[address].name}+{address - self.bias - found[address].address:#x}"
            + (f" ({line})" if line else "")
            for address, line in zip(ordered, lines)
        }

    def _lines(self, linked: list[int]) -> list[str]:
        """The file and line of each address; "" if it is not known."""
        if not linked:
            return []
        command = [
            f"{self.architecture.binutils}{ADDR2LINE}",
            "-e",
            str(self.path),
            *(f"{address:x}" for address in linked),
        ]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=ADDR2LINE_SECONDS)
            lines = ran.stdout.splitlines()
        except (OSError, subprocess.TimeoutExpired):
            lines = []
        return [_shown(line) for line in lines] if len(lines) == len(linked) else [""] * len(linked)


def _shown(line: str) -> str:
    """addr2line's answer relative to the tree, even if the file was built when the tree was elsewhere."""
    place = re.match(r"(?!\?\?)(.+):(\d+)", line)
    if place is None or place[2] == "0":
        return ""
    parts = Path(place[1]).parts
    for i in range(len(parts) - 1):
        rest = Path(*parts[i:])
        if not rest.is_absolute() and (paths.ROOT / rest).is_file():
            return f"{rest}:{place[2]}"
    return f"{place[1]}:{place[2]}"
