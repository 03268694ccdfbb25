#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Print the framebuffer console's font (drivers/screen/font.h) as C, made from the pinned console font that
ports/fetch.py fetches.

    ports/font/make.py > font.c

The font is in PSF version 1, as Linux's console loads it: two magic bytes, a mode, the height; 256 or 512
glyphs of 8 pixels' width, a byte a row; then for each glyph the characters that it stands for, 16 bits each,
up to 0xffff (what follows 0xfffe, sequences of several, is not needed here).
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

PORTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PORTS))

import fetch

MEMBER = "./usr/share/consolefonts/Lat15-VGA16.psf.gz"
OWNER = "Letters: u_vga16, Copyright 2000, 2001 by Dmitry Bolkhovityanov, X11 licence"
ROWS = 16
FIRST, LAST = 0x20, 0xFF
REPLACEMENT = 0xFFFD
MODE_512, MODE_TABLE = 1, 2


def glyphs(psf: bytes) -> dict[int, bytes]:
    """The rows of each character that the font has."""
    if len(psf) < 4 or psf[:2] != b"\x36\x04" or psf[3] != ROWS or not psf[2] & MODE_TABLE:
        raise ValueError(f"no PSF font of {ROWS} rows with a table of characters")
    count = 512 if psf[2] & MODE_512 else 256
    table = psf[4 + count * ROWS :]
    found: dict[int, bytes] = {}
    glyph, in_sequences = 0, False
    for at in range(0, len(table) - 1, 2):
        code = table[at] | table[at + 1] << 8
        if code == 0xFFFF:
            glyph, in_sequences = glyph + 1, False
        elif code == 0xFFFE:
            in_sequences = True
        elif not in_sequences and glyph < count:
            found.setdefault(code, psf[4 + glyph * ROWS : 4 + (glyph + 1) * ROWS])
    return found


def letters(psf: bytes) -> list[bytes]:
    """The rows of the characters FIRST to LAST of Latin-1."""
    known = glyphs(psf)
    missing = [hex(code) for code in range(0x20, 0x7F) if code not in known]
    if missing:
        raise ValueError(f"the font lacks {', '.join(missing)}")
    instead = known.get(REPLACEMENT, known[ord("?")])
    return [known.get(code, instead) for code in range(FIRST, LAST + 1)]


def load() -> bytes:
    """The pinned font's bytes."""
    package = fetch.fetch_port("font")[0]
    tree = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(tree)) as files:
        member = files.extractfile(MEMBER)
        if member is None:
            raise ValueError(f"{package} has no {MEMBER}")
        return gzip.decompress(member.read())


def main() -> int:
    try:
        rows = letters(load())
    except (fetch.FetchError, ValueError, KeyError, subprocess.CalledProcessError, OSError) as error:
        print(f"ports/font/make.py: {error}", file=sys.stderr)
        return 1
    print(f"/* {OWNER}; made by ports/font/make.py. */")
    print('#include "drivers/screen/font.h"\n')
    print(f'const char screen_font_owner[] = "{OWNER}";')
    print("const uint8_t screen_font[FONT_LETTERS][FONT_ROWS] = {")
    for glyph in rows:
        print("    { " + ", ".join(f"0x{row:02x}" for row in glyph) + " },")
    print("};")
    return 0


if __name__ == "__main__":
    sys.exit(main())
