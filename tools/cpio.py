#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write cpio archives in the "newc" format, which Linux uses as initramfs and Tacet as its files.

    tools/cpio.py FOLDER ARCHIVE        pack a folder

Pure Python; needs no root and no cpio program. The same content gives the same bytes: entries are sorted,
times are 0, owners are root, permissions are 0755 or 0644. Format:
Documentation/driver-api/early-userspace/buffer-format.rst in Linux.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"070701"
HEADER_BYTES = 110
TRAILER = "TRAILER!!!"


class CpioError(Exception):
    """A file that cannot be packed, or an archive that cannot be read."""


@dataclass(frozen=True)
class Entry:
    """One file of an archive. `name` is relative ("bin/app"); `mode` includes the type, as in stat(2)."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)  # major and minor number, of device nodes

    @staticmethod
    def folder(name: str) -> Entry:
        return Entry(name, stat.S_IFDIR | 0o755)

    @staticmethod
    def file(name: str, data: bytes, executable: bool = False) -> Entry:
        return Entry(name, stat.S_IFREG | (0o755 if executable else 0o644), data)

    @staticmethod
    def link(name: str, target: str) -> Entry:
        return Entry(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    @staticmethod
    def character_device(name: str, major: int, minor: int) -> Entry:
        return Entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))


def entries_of(folder: Path) -> list[Entry]:
    """Entries for everything below `folder`. Symbolic links stay links. CpioError for sockets and devices."""
    entries: list[Entry] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            entries.append(Entry.link(name, os.readlink(path)))
        elif stat.S_ISDIR(mode):
            entries.append(Entry.folder(name))
        elif stat.S_ISREG(mode):
            entries.append(Entry.file(name, path.read_bytes(), bool(mode & 0o111)))
        else:
            raise CpioError(f"not a file, folder or link: {path}")
    return entries


def _record(number: int, entry: Entry) -> bytes:
    name = os.fsencode(entry.name) + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
    head = MAGIC + b"".join(b"%08x" % field for field in fields) + name
    return head + bytes(-len(head) % 4) + entry.data + bytes(-len(entry.data) % 4)


def pack(entries: Iterable[Entry]) -> bytes:
    """An archive of the entries, sorted by name. Missing parent folders are added. Raises CpioError."""
    by_name: dict[str, Entry] = {}
    for entry in entries:
        parts = entry.name.split("/")
        if "" in parts or "." in parts or ".." in parts or entry.name == TRAILER:
            raise CpioError(f"not a valid name in an archive: {entry.name!r}")
        if len(entry.data) >= 1 << 32:
            raise CpioError(f"too large for the format, which allows less than 4 GiB: {entry.name}")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            by_name.setdefault(parent, Entry.folder(parent))
        by_name[entry.name] = entry
    # A folder's name sorts before its contents.
    records = [_record(number, by_name[name]) for number, name in enumerate(sorted(by_name), 1)]
    archive = b"".join(records) + _record(0, Entry(TRAILER, 0))
    return archive + bytes(-len(archive) % 512)


def unpack(archive: bytes) -> Iterator[Entry]:
    """The entries of an archive, in its order. Raises CpioError."""
    at = 0
    while True:
        header = archive[at : at + HEADER_BYTES]
        if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
            raise CpioError(f"no entry at byte {at}")
        fields = [int(header[6 + 8 * i : 14 + 8 * i], 16) for i in range(13)]
        size, name_bytes = fields[6], fields[11]
        name = os.fsdecode(archive[at + HEADER_BYTES : at + HEADER_BYTES + name_bytes - 1])
        if name == TRAILER:
            return
        start = at + (HEADER_BYTES + name_bytes + 3 & ~3)
        yield Entry(name, fields[1], archive[start : start + size], (fields[9], fields[10]))
        at = start + (size + 3 & ~3)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Pack a folder as a newc cpio archive, the same bytes each time."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("archive", type=Path)
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        print(f"cpio.py: no such folder: {arguments.folder}", file=sys.stderr)
        return 1
    try:
        part = arguments.archive.with_name(arguments.archive.name + ".part")
        part.write_bytes(pack(entries_of(arguments.folder)))
        part.replace(arguments.archive)
    except (CpioError, OSError) as error:
        print(f"cpio.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
