#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Types the commands of a page's console blocks and puts what they print now into the page if it differs from
what is shown. Wildcards are replaced, too: put them back by hand (look at the difference).

    tests/documents/refresh.py PAGE [LINE]     all blocks, or those before the line and the one that holds it
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import test_documents
from blocks import ROOT, difference, lines_of, read
from reader import TIME_LIMIT, Reader

from tests.making import made


def main() -> int:
    if not 2 <= len(sys.argv) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    document = str(Path(sys.argv[1]).resolve().relative_to(ROOT))
    last = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    made(*test_documents.NEEDED)
    reader = Reader(f"{document}-refresh")
    lines = read(document).splitlines()
    changes: list[tuple[int, int, list[str]]] = []
    for block in test_documents.BLOCKS:
        wanted = not last or block.line <= last <= block.line + len(block.lines) + 1
        if block.document != document or (last and block.line > last):
            continue
        if test_documents.is_long(block) and not (last and wanted):
            continue
        for command in block.commands():
            _, output = reader.type(command.text, test_documents.LONG_LIMIT if wanted else TIME_LIMIT)
            if wanted and (complaint := difference(command, output)):
                print(complaint, end="\n\n", flush=True)
                first = command.line + command.text.count("\n")
                changes.append((first, first + len(command.shown), lines_of(output)))
    for first, end, printed in reversed(changes):
        lines[first:end] = printed
    (ROOT / document).write_text("\n".join(lines) + "\n", encoding="utf-8")
    reader.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
