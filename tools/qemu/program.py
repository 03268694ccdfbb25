# SPDX-License-Identifier: BSD-2-Clause
"""The program of a run: its file, its arguments, its files on the node, and checks for common mistakes."""

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
    """A program on a node.

    app     a static ELF program for the node's architecture; None: the one in the boot module
    args    its arguments, without its name
    env     its environment
    files   a folder that becomes the node's /
    cwd     its working directory on the node; None: /tmp (the node's other files are read-only)
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
    """RunnerError if a file cannot run on a node of this architecture; says what would be right.

    The node itself checks every byte of the headers; this check is for common mistakes.
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
    """The types of the program headers that are in the file."""
    offset = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    starts = range(offset, offset + size * count, size or 1)[:PROGRAM_HEADERS_MAX]
    return [struct.unpack_from("<I", elf, start)[0] for start in starts if start + 4 <= len(elf)]


def find_program(app: Path, files: Path | None) -> tuple[Path, str | None]:
    """The program's file on this machine, and its path on the node if it is in the folder `files`, otherwise
    None.

    `app` is a path of this machine; if there is no such file, a path inside `files`. Raises RunnerError.
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
