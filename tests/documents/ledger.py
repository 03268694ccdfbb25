# SPDX-License-Identifier: BSD-2-Clause
"""commands.txt: how each command of the documents is tried that no console block shows; read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from blocks import ROOT, console_blocks, documents, mentioned, plain, read

LEDGER = Path(__file__).with_name("commands.txt")
#: Commands, and what is said of them.
ROW = re.compile(r"(?:^\S.*\n)+(?:^ .*\n)+", re.MULTILINE)
KEYS = ("run", "before", "status", "prints", "test", "word", "except", "long")


@dataclass(frozen=True)
class Row:
    """One row. `shown`: the commands as documents have them, `*` standing for any text. `run`, `test` or
    `excepted` says how they are tried, or why not."""

    shown: tuple[str, ...]
    run: str = ""
    before: str = ""
    prints: str = ""
    status: int = 0
    test: str = ""
    words: tuple[str, ...] = ()
    excepted: str = ""
    long: bool = False

    @property
    def is_elsewhere(self) -> bool:
        """Its console blocks are not typed: a test of its own runs the command, or nothing does."""
        return bool(self.test or self.excepted)

    @property
    def name(self) -> str:
        return self.shown[0]

    def covers(self, command: str) -> bool:
        return any(command == one or fnmatchcase(command, escaped(one)) for one in self.shown)

    def missing(self) -> str:
        """What the test that this row names lacks, or ""."""
        path, _, name = self.test.partition("::")
        file = ROOT / path
        if not file.is_file():
            return f"there is no {path}"
        source = file.read_text(encoding="utf-8")
        if not re.search(rf"^(?:def {name}\(|TEST\({name}\))", source, re.MULTILINE):
            return f"{path} has no test {name}"
        needed = self.words or tuple(word for shown in self.shown for word in essential(shown))
        absent = [word for word in needed if word not in source]
        return f"{path} does not name {', '.join(absent)}" if absent else ""


def escaped(shown: str) -> str:
    """A pattern in which only `*` is one."""
    return re.sub(r"([\[\]?])", r"[\1]", shown)


def essential(command: str) -> list[str]:
    """The words of a command that a test of it must contain: programs, subcommands, options, variables; not
    what stands for a name (`prog`, `OUT`)."""
    words = []
    for word in plain(command).split():
        if re.fullmatch(r"[A-Z_]+=.*", word):
            words.append(word.split("=")[0])
        elif re.fullmatch(r"[a-z0-9_./-]*[a-z][a-z0-9_./-]*", word) and word != "prog":
            words.append(word)
    return words


def help_row(command: str) -> Row:
    """A row for a command that has a help with its options."""
    options = "".join(rf"(?=(?s:.*){word}\b)" for word in command.split() if word.startswith("--"))
    run = " ".join([*command.split()[:2], "--help"])
    return Row(shown=(plain(command),), run=run, prints=f"usage: {options}")


def row_of(shown: list[str], said: list[tuple[str, str]]) -> Row:
    """A row of the commands and of what is said of them; ValueError if that is nothing, or too much."""
    of = dict(said)
    if unknown := of.keys() - set(KEYS):
        raise ValueError(f"{LEDGER.name}: {shown[0]}: unknown: {', '.join(sorted(unknown))}")
    ways = sum(key in of for key in ("run", "test", "except"))
    if ways > 1 or (ways == 0 and "long" not in of):
        raise ValueError(f"{LEDGER.name}: {shown[0]}: takes one of run, help, test and except, or long alone")
    return Row(
        shown=tuple(map(plain, shown)),
        run=(of["run"] or shown[0]) if "run" in of else "",
        before=of.get("before", ""),
        prints=of.get("prints", ""),
        status=int(of.get("status", 0)),
        test=of.get("test", ""),
        words=tuple(value for key, value in said if key == "word"),
        excepted=of.get("except", ""),
        long="long" in of,
    )


def rows(text: str = "") -> list[Row]:
    """All rows. ValueError for a line of none: what is said of commands stands directly below them."""
    text = re.sub(r"^#.*\n", "", text or LEDGER.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if alone := ROW.sub("", text).strip():
        line = alone.splitlines()[0]
        raise ValueError(f"{LEDGER.name}: {line}: takes one of run, help, test and except, or long alone")
    found = []
    for row in ROW.findall(text):
        said = [line.strip().partition(" ") for line in row.splitlines() if line.startswith(" ")]
        shown = [line for line in row.splitlines() if not line.startswith(" ")]
        if said == [("help", "", "")]:
            found += map(help_row, shown)
        else:
            found.append(row_of(shown, [(key, value) for key, _, value in said]))
    return found


def typed() -> list[str]:
    """The commands of all console blocks."""
    blocks = [block for document in documents() for block in console_blocks(document)]
    return [plain(command.text) for block in blocks for command in block.commands()]


def begins(command: str, longer: str) -> bool:
    return longer == command or longer.startswith(command + " ")


def uncovered(document: str, text: str, ledger: Iterable[Row], consoles: Iterable[str]) -> list[str]:
    """Commands of a document that nothing tries."""
    ledger, consoles = list(ledger), list(consoles)
    return [
        f"{one.document}:{one.line}: {one.text}"
        for one in mentioned(document, text)
        if not any(row.covers(one.text) for row in ledger)
        and not any(begins(one.text, longer) for longer in consoles)
    ]


def unused(ledger: Iterable[Row]) -> list[str]:
    """What rows say that no document does."""
    shown = [one.text for document in documents() for one in mentioned(document, read(document))] + typed()
    commands = [one for row in ledger for one in row.shown]
    return [one for one in commands if not any(fnmatchcase(text, escaped(one)) for text in shown)]
