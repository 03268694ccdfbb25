# SPDX-License-Identifier: BSD-2-Clause
"""The program of a run: its file, its arguments, what it finds on the node, and the mistakes that people make
with it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import architectures
from .errors import RunnerError

PT_INTERP = 3
PROGRAM_HEADERS_MAX = 64

_STATIC = (
    "link it statically: gcc -static, g++ -static, gfortran -static, or libc/tacet-cc for musl "
    "(docs/porting.md)"
)


@dataclass(frozen=True)
class Program:
    """What runs on a node.

    app     a static ELF program of the node's machine; None: whatever the boot module holds
    args    its arguments, without its name
    env     its environment
    files   a folder whose content the node has as /
    cwd     the folder of the node that it starts in; None: /tmp, where the node's other files are read-only
    stdin   a file or terminal: the program's standard input; None: an empty one
    """

    app: Path | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Path | None = None
    stdin: Path | None = None
    cwd: str | None = None

    def check_files(self) -> None:
        """RunnerError if the program or its input is missing."""
        if self.app is not None and not self.app.is_file():
            raise RunnerError(f"no such program: {self.app}")
        if self.stdin is not None and not self.stdin.exists():
            raise RunnerError(f"no such file: {self.stdin}")
        if self.stdin is not None and self.stdin.is_dir():
            raise RunnerError(f"{self.stdin} is a folder; standard input takes a file")


def check_program(app: Path, arch: str = architectures.DEFAULT) -> None:
    """Refuse what cannot run on a node of this architecture, before one is started: RunnerError in one line
    that says what would be right.

    The node itself checks each byte of the headers; this is for the mistakes that people make.
    """
    if app.is_dir():
        raise RunnerError(f"{app} is a folder, not a program")
    if not app.is_file():
        raise RunnerError(f"no such program: {app}")
    content = app.read_bytes()
    if content[:4] != b"\x7fELF":
        what = "a script" if content[:2] == b"#!" else "empty" if not content else "not an ELF file"
        raise RunnerError(f"{app} is {what}; a node runs static ELF programs")
    if len(content) < 64 or content[4:6] != b"\2\1":
        raise RunnerError(f"{app} is not a 64-bit little-endian ELF file")
    machine = architectures.of_program(content)
    if machine is not None and machine.name != arch:
        raise RunnerError(f"{app} is a program for {machine.described}; this node is {arch}")
    if PT_INTERP in _segment_types(content):
        raise RunnerError(f"{app} is linked dynamically, and there is no dynamic linker on a node; {_STATIC}")


def _segment_types(elf: bytes) -> list[int]:
    """The types of the program headers that lie in the file."""
    offset = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    starts = range(offset, offset + size * count, size or 1)[:PROGRAM_HEADERS_MAX]
    return [struct.unpack_from("<I", elf, start)[0] for start in starts if start + 4 <= len(elf)]


def find_program(app: Path, files: Path | None) -> tuple[Path, str | None]:
    """The program's file on this machine and, where it lies in the folder `files`, its path on the node.

    A path of this machine comes first; one that is not here may be a path inside of `files`.
    """
    if files is None:
        return app, None
    if not files.is_dir():
        raise RunnerError(f"{files} is not a folder" if files.exists() else f"no such folder: {files}")
    if not app.exists() and (files / str(app).lstrip("/")).is_file():
        app = files / str(app).lstrip("/")
    if app.resolve().is_relative_to(files.resolve()):
        return app, "/" + str(app.resolve().relative_to(files.resolve()))
    return app, None
