# SPDX-License-Identifier: BSD-2-Clause
"""`lab sloc`: counts lines of code of each part of the kernel, and shows which parts exceed their limit.

A line of code holds something other than comment and blanks. Comments are: in C, headers, and preprocessed
assembly (`.S`), `/* */` and `//`; in NASM (`.asm`, `.inc`), text after `;`; in GNU assembly (`.s`), text
after `#`. Strings are respected: "//" in a string is not a comment.

A second architecture must not have more lines than the first one; code that both share is in arch/common.

A row is an architecture, the drivers, or a room: a folder of kernel/ with the files directly in it. Rooms are
found by listing, so a new one needs no change here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from lab.common.errors import LabError
from lab.common.paths import ROOT
from lab.common.text import table

SUMMARY = "Count the lines of code of each part of the kernel, without comments."

SILENT_CORE = "silent core"
LINUX_PERSONALITY = "Linux personality"
NINEP = "9P"
NETWORK = "network"
HEARTBEATS = "heartbeats"
JOBS = "jobs"
DRIVERS = "drivers"

#: The part of each room. `network` is only Tacet's own code, without lwIP; `9P` is the client of a file
#: server.
ROOMS = {
    **dict.fromkeys(("init", "process", "time", "mm", "smp", "debug", "lib"), SILENT_CORE),
    **dict.fromkeys(("syscall", "ipc", "fs"), LINUX_PERSONALITY),
    "ninep": NINEP,
    "net": NETWORK,
    "beat": HEARTBEATS,
    "launch": JOBS,
}
#: The most lines of a part: a promise for the silent core, budgets for the others. The table says so if a
#: part has more. The numbers do not follow from a measurement.
LINES_MAX = {SILENT_CORE: 15_500, LINUX_PERSONALITY: 12_000, NINEP: 2_650, NETWORK: 6_400}
PARTS = (SILENT_CORE, LINUX_PERSONALITY, NINEP, NETWORK, HEARTBEATS, JOBS, DRIVERS)

C_SUFFIXES = frozenset({".c", ".h", ".def", ".S"})
LINE_COMMENT = {".asm": ";", ".inc": ";", ".s": "#"}

#: Strings and character constants (kept), or comments (the named group).
_C_TOKEN = re.compile(
    r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*)""", re.S
)


def _without_c_comments(text: str) -> str:
    """Returns `text` with each comment replaced by blanks; line ends stay."""

    def blank(match: re.Match[str]) -> str:
        return " " + "\n" * match[0].count("\n") if match["comment"] else match[0]

    return _C_TOKEN.sub(blank, text)


def _without_line_comments(text: str, mark: str) -> str:
    token = re.compile(
        r""""(?:\\.|[^"\\\n])*"|'[^'\n]*'|`[^`\n]*`|(?P<comment>""" + re.escape(mark) + r"[^\n]*)"
    )
    return token.sub(lambda match: "" if match["comment"] else match[0], text)


def count_text(text: str, suffix: str) -> int:
    """Returns the lines of code in `text` of a file with this suffix. ValueError for an unknown suffix."""
    if suffix in C_SUFFIXES:
        text = _without_c_comments(text)
    elif suffix in LINE_COMMENT:
        text = _without_line_comments(text, LINE_COMMENT[suffix])
    else:
        raise ValueError(f"no rule for files ending in {suffix!r}")
    return sum(1 for line in text.splitlines() if line.strip())


@dataclass(frozen=True)
class Row:
    """A folder's lines of code by part."""

    name: str
    parts: dict[str, int]  #: lines by part; "" is no part

    @property
    def lines(self) -> int:
        return sum(self.parts.values())


def sources(folder: Path, deep: bool) -> Iterator[Path]:
    """Yields the C and assembly files of a folder, and of the folders in it if `deep`."""
    for path in sorted(folder.rglob("*") if deep else folder.glob("*")):
        if path.is_file() and (path.suffix in C_SUFFIXES or path.suffix in LINE_COMMENT):
            yield path


def part_of(path: Path, arch: str) -> str:
    """Returns the part that a file belongs to, by its path in the tree."""
    match path.parts[:-1]:
        case ("arch", name, *_):
            return SILENT_CORE if name in (arch, "common") else ""
        case ("kernel",):
            return SILENT_CORE if path.suffix == ".h" else ""
        case ("kernel", room, *_):
            return ROOMS.get(room, "")
        case ("drivers", *_):
            return DRIVERS
    return ""


def row_of(name: str, files: Iterator[Path], root: Path, arch: str) -> Row:
    parts: dict[str, int] = {}
    for path in files:
        part = part_of(path.relative_to(root), arch)
        parts[part] = parts.get(part, 0) + count_text(path.read_text(encoding="utf-8"), path.suffix)
    return Row(name, parts)


def count(root: Path, arch: str = "x86_64") -> list[Row]:
    """Returns the rows of a tree: architectures, drivers, and the rooms of the kernel. LabError if it has no
    kernel."""
    kernel = root / "kernel"
    if not kernel.is_dir():
        raise LabError(f"{root}: no folder kernel/; this is not the kernel's tree")
    folders = [(folder, True) for folder in sorted((root / "arch").glob("*")) if folder.is_dir()]
    folders += [(root / "drivers", True), (kernel, False)]
    folders += [(folder, False) for folder in sorted(kernel.rglob("*")) if folder.is_dir()]
    found = [
        row_of(str(folder.relative_to(root)), sources(folder, deep), root, arch) for folder, deep in folders
    ]
    return [row for row in found if row.parts]


def sums(rows: Sequence[Row]) -> dict[str, int]:
    """Returns the lines of each part, and of everything."""
    found = {part: sum(row.parts.get(part, 0) for row in rows) for part in PARTS}
    return {**found, "all": sum(row.lines for row in rows)}


def aim_of(row: Row, rows: Sequence[Row], arch: str) -> list[str]:
    """Returns the aim of another architecture: not more lines than `arch`."""
    limit = next((other.lines for other in rows if other.name == f"arch/{arch}"), 0)
    if not row.name.startswith("arch/") or row.name in (f"arch/{arch}", "arch/common") or not limit:
        return ["", ""]
    return [f"<= {limit:,}", "yes" if row.lines <= limit else "NO"]


def as_table(rows: Sequence[Row], arch: str = "x86_64") -> str:
    """Returns a table of the rows and the sums, with their aims."""
    lines = [
        [row.name, f"{row.lines:,}", ", ".join(filter(None, row.parts)), *aim_of(row, rows, arch)]
        for row in rows
    ]
    for part, total in sums(rows).items():
        most = LINES_MAX.get(part)
        aim = ["", ""] if most is None else [f"<= {most:,}", "yes" if total <= most else "NO"]
        lines.append([part, f"{total:,}", "", *aim])
    return table(["", "lines of code", "part", "aim", "held"], lines)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("sloc", description=SUMMARY)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to count (default: this one)")
    parser.add_argument(
        "--arch", default="x86_64", help="the architecture that counts as part of the core (default x86_64)"
    )


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    print(as_table(count(options.tree, options.arch), options.arch), file=out or sys.stdout)
    return 0
