#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs experiments of docs/lab/reproduce.md and puts the tables they print now into the page.

    tests/documents/refresh_reproduce.py            those measured on Linux and Tacet, which a change of the
                                                    kernel can move; some ten minutes
    tests/documents/refresh_reproduce.py NAME...    these
    tests/documents/refresh_reproduce.py all        the simulated ones, too; an hour

A table stands in the console block whose command is `tools/lab reproduce NAME`; what stands around the blocks
is written by hand. What changed is printed, row by row.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "documents")]

from blocks import ANY, Block, console_blocks, lines_of

from lab.cli.reproduce import EXPERIMENTS

PAGE = "docs/lab/reproduce.md"
COMMAND = re.compile(r"tools/lab reproduce (\S+)")


def shown(block: Block) -> dict[str, tuple[int, int]]:
    """The experiments of a block, each with the first of the page's lines of its output and the line after
    the last."""
    return {
        found[1]: (command.line, command.line + len(command.shown))
        for command in block.commands()
        if (found := COMMAND.fullmatch(command.text))
    }


def on_page(table: str) -> list[str]:
    """A table as a page shows it. Wildcards stand for the progress before it, and for the versions and paths
    after it."""
    return [ANY, *lines_of(table.rpartition("\nMade by ")[0]), ANY]


def replaced(page: list[str], new: dict[tuple[int, int], list[str]]) -> list[str]:
    """A page with new lines in some places; prints those that differ."""
    for (first, end), lines in sorted(new.items(), reverse=True):
        for old in [line for line in page[first:end] if line not in lines]:
            print(f"- {old}")
        for line in [line for line in lines if line not in page[first:end]]:
            print(f"+ {line}")
        page[first:end] = lines
    return page


def main(names: list[str]) -> int:
    places = {name: place for block in console_blocks(PAGE) for name, place in shown(block).items()}
    if not names:
        names = [one.name for one in EXPERIMENTS if "measured" in one.summary and one.name in places]
    elif names == ["all"]:
        names = list(places)
    if unknown := [name for name in names if name not in places]:
        print(f"{PAGE} shows no experiment {unknown[0]!r}; it shows {', '.join(places)}", file=sys.stderr)
        return 2
    for name in names:
        # A page is written after each experiment: an interrupted run loses one.
        subprocess.run([ROOT / "tools" / "lab", "reproduce", name], cwd=ROOT, check=True)
        table = (ROOT / "build" / "lab" / "reproduce" / name / "table.txt").read_text(encoding="utf-8")
        place = next(found[name] for block in console_blocks(PAGE) if name in (found := shown(block)))
        page = replaced((ROOT / PAGE).read_text(encoding="utf-8").splitlines(), {place: on_page(table)})
        (ROOT / PAGE).write_text("\n".join(page) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
