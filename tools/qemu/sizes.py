# SPDX-License-Identifier: BSD-2-Clause
"""Sizes of memory: reading QEMU's form, and writing them for people."""

from __future__ import annotations

import re

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_SUFFIXES = "BKMGTPE"
_SIZE = re.compile(r"(\d+)(?:(\.\d+)?([bkmgtpe]))?", re.IGNORECASE)


def parse_size(text: str) -> int | None:
    """The bytes of a size such as 256M or 1.5G; without a suffix it is in MiB. None if QEMU would not accept
    it."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    suffix = (match[3] or "M").upper()
    return int(float(match[1] + (match[2] or "")) * 1024 ** _SUFFIXES.index(suffix))


def size_text(count: int) -> str:
    """A size as text, with a unit that gives few digits."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            digits = 1 if count < 10 * unit and count % unit else 0
            return f"{count / unit:.{digits}f} {name}"
    return f"{count} bytes"
