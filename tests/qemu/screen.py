# SPDX-License-Identifier: BSD-2-Clause
"""Read a framebuffer back as text: QEMU's picture of it (`screendump`, a PPM file), cut into cells, each of
which must be a letter of the kernel's own font, pixel by pixel."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from conftest import ROOT
from monitor import Client

COLUMNS, ROWS = 8, 16


@cache
def font() -> dict[bytes, str]:
    """The letter of each glyph: the first one that looks so."""
    spec = importlib.util.spec_from_file_location("make_font", ROOT / "ports/font/make.py")
    assert spec and spec.loader
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    found: dict[bytes, str] = {}
    for code, rows in enumerate(make.letters(make.load()), make.FIRST):
        found.setdefault(rows, chr(code))
    return found


def picture(path: Path) -> tuple[int, int, bytes]:
    """Width, height, and a byte for each pixel: whether it is not black."""
    magic, size, depth, pixels = path.read_bytes().split(b"\n", 3)
    assert (magic, depth) == (b"P6", b"255"), (magic, depth)
    width, height = map(int, size.split())
    assert len(pixels) == 3 * width * height
    lit = bytes(a | b | c for a, b, c in zip(pixels[0::3], pixels[1::3], pixels[2::3], strict=True))
    return width, height, lit


def text_rows(path: Path, scale: int = 1) -> list[str]:
    """All rows of the screen; AssertionError where a cell is no letter."""
    width, height, lit = picture(path)
    high, wide = ROWS * scale, COLUMNS * scale
    rows = []
    for top in range(0, height - high + 1, high):
        row = ""
        lines = [lit[(top + y * scale) * width :][:width] for y in range(ROWS)]
        for left in range(0, width - wide + 1, wide):
            glyph = bytes(sum(0x80 >> x for x in range(COLUMNS) if line[left + x * scale]) for line in lines)
            assert glyph in font(), f"no letter at row {len(rows)}, column {left // wide}: {glyph.hex(' ')}"
            row += font()[glyph]
        rows.append(row.rstrip())
    return rows


def dump_at_end(folder: Path, client: Client) -> None:
    """Wait until the node is off (-no-shutdown), then keep what is on its screen in `folder`/screen."""
    client.wait_event("SHUTDOWN")
    client.command("screendump", filename=str(folder / "screen"))
    client.quit()
