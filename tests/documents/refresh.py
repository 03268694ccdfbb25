#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Types the commands of a page's console blocks and puts what they print now into the page, where it is not
what is shown. What a wildcard covered has to be made one again by hand: look at the difference.

    tests/documents/refresh.py PAGE [LINE]     all blocks, or those before the line and the one that holds it
    tests/documents/refresh.py --long PAGE     all blocks, long ones too, and numbers that are near enough
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import test_documents
from blocks import ANY, ROOT, Command, difference, lines_of, read
from reader import TIME_LIMIT, Reader

from tests.making import made


def is_shown_otherwise(command: Command, output: str) -> bool:
    """Whether a page shows all that a command printed, and with other digits."""
    return not any(ANY in line for line in command.shown) and list(command.shown) != lines_of(output)


def main() -> int:
    everything = sys.argv[1:2] == ["--long"]
    words = sys.argv[1 + everything :]
    if not 1 <= len(words) <= 2 - everything:
        print(__doc__, file=sys.stderr)
        return 2
    document = str(Path(words[0]).resolve().relative_to(ROOT))
    last = int(words[1]) if len(words) > 1 else 0
    made(*test_documents.NEEDED)
    reader = Reader(f"{document}-refresh")
    lines = read(document).splitlines()
    changes: list[tuple[int, int, list[str]]] = []
    for block in test_documents.BLOCKS:
        wanted = not last or block.line <= last <= block.line + len(block.lines) + 1
        if block.document != document or (last and block.line > last):
            continue
        if test_documents.is_long(block) and not everything and not (last and wanted):
            continue
        for command in block.commands():
            _, output = reader.type(command.text, test_documents.LONG_LIMIT if wanted else TIME_LIMIT)
            complaint = difference(command, output)
            if wanted and (complaint or (everything and is_shown_otherwise(command, output))):
                print(complaint or command, end="\n\n", flush=True)
                first = command.line + command.text.count("\n")
                changes.append((first, first + len(command.shown), lines_of(output)))
    for first, end, printed in reversed(changes):
        lines[first:end] = printed
    (ROOT / document).write_text("\n".join(lines) + "\n", encoding="utf-8")
    reader.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
