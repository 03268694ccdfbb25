# SPDX-License-Identifier: BSD-2-Clause
"""Whether a node's files fit into its memory, asked before anything is written to disk or started."""

from __future__ import annotations

from pathlib import Path

from .errors import RunnerError
from .sizes import MIB, parse_size, size_text

#: What QEMU's machine has below 4 GiB for a boot module, less a kernel.
MODULE_MAX = 3008 * MIB
#: What a Tacet kernel takes before it can say itself that the memory is too little.
TACET_ROOM = 4 * MIB
#: What Debian's kernel takes beside the files, which it unpacks.
LINUX_ROOM = 64 * MIB


def folder_bytes(folder: Path) -> int:
    """The content of a folder, about: the archive is somewhat larger."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def check_room(size: int, memory: str, beside: int, copies: int = 1) -> None:
    """RunnerError where a boot module of `size` bytes does not fit: it lies in the node's memory `copies`
    times, with `beside` bytes of the kernel's."""
    if size > MODULE_MAX:
        raise RunnerError(
            f"the node's files are {size_text(size)}; they have to end below 4 GiB of its memory, "
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
