# SPDX-License-Identifier: BSD-2-Clause
"""`make pictures`: draws docs/pictures/*.svg from the sources and from the measurement that is kept with
them.

    python3 -m tools.drawings [--measured DIR] [--check]

With `--measured build/report` the measurement is first replaced by the one that `make run` has left there.
With `--check` nothing is written: the status says whether each picture is up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab.common.errors import LabError
from tools.drawings import ftq, memory, structure, system_call, timer
from tools.drawings.sources import ROOT
from tools.drawings.svg import DrawingError

FOLDER = ROOT / "docs" / "pictures"

DRAWINGS = {
    "ftq.svg": ftq.drawing,
    "structure.svg": structure.drawing,
    "system-call.svg": system_call.drawing,
    "timer.svg": timer.drawing,
    "memory.svg": memory.drawing,
}


def drawn(folder: Path) -> list[str]:
    """Write all drawings. Returns the names of those that have changed."""
    changed = []
    for name, draw in DRAWINGS.items():
        text = draw().svg()
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


def stale(folder: Path) -> list[str]:
    """The names of drawings that are not up to date."""
    return [
        name
        for name, draw in DRAWINGS.items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != draw().svg()
    ]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.drawings", description="Draw docs/pictures/.")
    parser.add_argument("--measured", type=Path, metavar="DIR", help="first copy make run's results from DIR")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; status 1 if a picture is outdated"
    )
    options = parser.parse_args(words)
    try:
        if options.measured:
            ftq.take_over(options.measured)
        names = stale(FOLDER) if options.check else drawn(FOLDER)
    except (DrawingError, LabError, OSError) as error:
        print(f"make pictures: {error}", file=sys.stderr)
        return 1
    for name in names:
        print(f"docs/pictures/{name}" + " is outdated: run make pictures" * options.check)
    return 1 if options.check and names else 0


if __name__ == "__main__":
    sys.exit(main())
