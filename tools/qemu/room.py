# SPDX-License-Identifier: BSD-2-Clause
"""Checks whether a node's files fit into its memory, before anything is written to disk or started."""

from __future__ import annotations

from pathlib import Path

from .errors import RunnerError
from .sizes import MIB, parse_size, size_text

#: The room for a boot module below 4 GiB in QEMU's machine, without the kernel.
MODULE_MAX = 3008 * MIB
#: The memory that a Tacet kernel needs before it can report that memory is too small.
TACET_ROOM = 4 * MIB
#: The memory that Debian's kernel needs in addition to the files, which it unpacks.
LINUX_ROOM = 64 * MIB


def folder_bytes(folder: Path) -> int:
    """The bytes of a folder's files; the archive is slightly larger."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def check_room(size: int, memory: str, beside: int, copies: int = 1) -> None:
    """RunnerError if a boot module of `size` bytes does not fit: the node's memory holds it `copies` times,
    next to the kernel (the third argument, in bytes)."""
    if size > MODULE_MAX:
        raise RunnerError(
            f"the node's files are {size_text(size)}, but they must be below 4 GiB of its memory, "
            f"where there is room for {size_text(MODULE_MAX)}"
        )
    there = parse_size(memory)
    needed = copies * size + beside
    if there is not None and needed > there:
        right = 1 << (needed + 16 * MIB - 1).bit_length()
        raise RunnerError(
            f"the node's files are {size_text(size)}, its memory is {size_text(there)}; give it more: "
            f"--memory {right // MIB}M"
        )
