#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Breaks the sources on purpose, one small change at a time, and says which test finds each.

    tests/mutants.py --list                      the mutants that the seed draws
    tests/mutants.py --folder DIR [--only N]...  try them, in a clone that this makes in DIR

A mutant changes one operator, constant or statement of one source (OPERATORS). The seed draws EACH mutants of
each room; one that does not compile, or that makes the same machine code, is drawn again. Tests run until the
first one fails: the host tests of the room and the fuzzers, its short tests of pytest, all other short tests,
its long tests. The rooms' tests are those of the table in tests/README.md.

Prints a line a mutant: its number, place and change, and what found it: the test's name, after `short` (part
of make test) or `long` (of make test-long alone), or `nothing`. Ends with status 1 if any was not found.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import slices
from tests.running import ROOT
from tests.stages import CPUS, QEMU_FOLDERS, TOOLS_FOLDERS, pytest_words

#: Rooms, by the folder of their sources.
ROOMS = ("kernel/time/", "kernel/ninep/", "kernel/net/", "kernel/process/", "kernel/mm/", "apps/mpi-lite/")
SEED, EACH = 1, 8
#: Replacements: a pattern, and what is written in its place; a name in \\1 stays.
OPERATORS = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" & ", " | "),
    (r"\bif \(!", "if ("),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\b1\b", "2"),
    (r"\b0\b", "1"),
    (r"^(\s+)[a-z_]+\([^;{}]*\);$", r"\1;"),
    (r"^(\s+)return [^;]+;$", r"\1return 0;"),
)
#: How long a part of the tests may take with a mutant, which may make it hang: seconds.
LIMIT_S = 1800


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    room: str
    path: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before.strip()}  =>  {self.after.strip()}"


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a C source that hold code, by number, from 1: no comment, no directive, no line with a
    string."""
    in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        starts = line.lstrip().startswith("/*")
        is_code = not (in_comment or starts or line.startswith("#") or '"' in line or "//" in line)
        in_comment = (in_comment or "/*" in line) and "*/" not in line
        if is_code and line.startswith(" "):
            yield number, line


def candidates(room: str, path: str, text: str) -> list[Mutant]:
    """All mutants of one source."""
    return [
        Mutant(room, path, number, line, line[: found.start()] + found.expand(new) + line[found.end() :])
        for number, line in code_lines(text)
        for old, new in OPERATORS
        for found in re.finditer(old, line)
    ]


def drawn(seed: int) -> dict[str, list[Mutant]]:
    """All mutants of each room, in the order in which the seed draws them."""
    order: dict[str, list[Mutant]] = {}
    for room in ROOMS:
        sources = [*sorted((ROOT / room).rglob("*.c"))]
        found = [
            mutant
            for source in sources
            for mutant in candidates(room, str(source.relative_to(ROOT)), source.read_text(encoding="utf-8"))
        ]
        random.Random(f"{seed} {room}").shuffle(found)
        order[room] = found
    return order


class Clone:
    """A clone of this tree, in which mutants are made and tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / ".git").exists():
            subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        self.rooms = slices.rooms_of((folder / "tests" / "README.md").read_text(encoding="utf-8"))

    def run(self, *words: str) -> tuple[bool, str]:
        """Whether a command succeeds in the clone in time, and its output."""
        try:
            done = subprocess.run(
                words,
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                stdin=subprocess.DEVNULL,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return False, f"FAILED no end within {LIMIT_S} s"
        return done.returncode == 0, done.stdout + done.stderr

    def make(self, *targets: str) -> tuple[bool, str]:
        return self.run("make", "--no-print-directory", f"-j{CPUS}", *targets)

    def code(self, room: str) -> str:
        """A sum of the machine code that the sources of a room end in."""
        if room.startswith("kernel/"):
            data = (self.folder / "build/x86_64/tacet.stripped.elf").read_bytes()
        else:
            objects = sorted((self.folder / "build/mpi-lite").rglob("*.o"))
            data = b"".join(one.read_bytes() for one in objects)
        return hashlib.sha256(data).hexdigest()

    def build(self, room: str) -> bool:
        return self.make("kernel" if room.startswith("kernel/") else "mpi")[0]

    def put(self, mutant: Mutant, line: str) -> None:
        path = self.folder / mutant.path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[mutant.line - 1] = line + "\n"
        path.write_text("".join(lines), encoding="utf-8")

    def found_by(self, mutant: Mutant) -> str:
        """What finds a mutant that is in place."""
        names = set().union(*(tests for room, tests in self.rooms.items() if mutant.path.startswith(room)))
        host = sorted(name for name in names if (self.folder / f"tests/host/{name}.c").exists())
        for name in host:
            well, said = self.make(f"build/host/{name}")
            well = well and self.run(f"build/host/{name}")[0]
            if not well:
                return f"short {name} (host)"
        if not (ran := self.make("test-build"))[0]:
            return f"short the build: {ran[1][-200:]}"
        files = [
            str(path.relative_to(self.folder))
            for folder in (*TOOLS_FOLDERS, *QEMU_FOLDERS)
            for path in sorted((self.folder / folder).glob("test_*.py"))
            if path.stem in names
        ]
        for kind, words in (
            ("short", files),
            ("short", [*QEMU_FOLDERS, *TOOLS_FOLDERS]),
            ("long", ["-m", "long", *files]),
        ):
            command = pytest_words("-x", "-n", str(CPUS), "--dist", "loadgroup", *words)
            _, said = self.run("env", "TACET_BUILT=1", *command)
            if failed := re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE):
                return f"{kind} {failed[1]}"
            if kind == "short" and words != files and not self.make("fuzz", "FUZZ_SECONDS=5")[0]:
                return "short fuzz"
        return "nothing"


def tried(clone: Clone, numbers: set[int], seed: int, each: int) -> Iterator[tuple[int, Mutant, str]]:
    """Tries the mutants with these numbers, or all; yields number, mutant and what found it."""
    number = 0
    for room, mutants in drawn(seed).items():
        assert clone.build(room), f"{room}: the tree as it is does not build"
        whole, taken = clone.code(room), 0
        for mutant in mutants:
            if taken == each:
                break
            clone.put(mutant, mutant.after)
            try:
                if not clone.build(room) or clone.code(room) == whole:
                    continue
                taken, number = taken + 1, number + 1
                if not numbers or number in numbers:
                    yield number, mutant, clone.found_by(mutant)
            finally:
                clone.put(mutant, mutant.before)
        clone.build(room)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests/mutants.py", description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show what the seed draws, and try nothing")
    parser.add_argument("--folder", type=Path, help="where the clone is, or is made")
    parser.add_argument("--only", type=int, action="append", default=[], metavar="N", help="this mutant")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help="mutants of each room")
    arguments = parser.parse_args(words)
    if arguments.list:
        for mutants in drawn(arguments.seed).values():
            print(*mutants[: arguments.each], sep="\n")
        return 0
    if not arguments.folder:
        parser.error("--folder says where the clone is to be made")
    not_found = 0
    clone = Clone(arguments.folder.resolve())
    for number, mutant, by in tried(clone, set(arguments.only), arguments.seed, arguments.each):
        print(f"{number:2} {mutant}\n   found by {by}", flush=True)
        not_found += by == "nothing"
    return 1 if not_found else 0


if __name__ == "__main__":
    sys.exit(main())
