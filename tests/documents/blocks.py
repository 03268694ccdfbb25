# SPDX-License-Identifier: BSD-2-Clause
"""The commands of the documents, as they stand there.

A fenced block with the info string `console` is what a terminal shows: a line that begins with `$ ` is a
command (a backslash at its end takes the next line in), the lines up to the next one are what it prints. In
those, `…` alone on a line stands for any lines, also for none, and `…` within a line for any text. A number
of three digits and more may be printed up to NUMBER_DIFFERS larger or smaller, so that pages need no edit
when a cost moves a little. Commands stand in code spans, too, and in blocks of other kinds.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ANY = "…"
PROMPT = "$ "
FENCE = re.compile(r"^ *```", re.MULTILINE)
FENCED = re.compile(r"^( *)```(.*)\n((?:.*\n)*?) *```.*$", re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")

#: What a command begins with, after variables that are set for it alone. A path of the tree is a command if
#: words follow it, else a file's name. Tests of the host are run by their name alone.
BEGINS = re.compile(
    r"(?:\w+=(?:\"[^\"]*\"|\S*) )*"
    r"(?:make\s|(?:tools|tests|boot|ports|libc|build|docs)/[^\s:]+ |build/host/\S+|\./|sim |gdb "
    r"|qemu-system-\S+ "
    r"|addr2line |ausyscall |(?:/usr/bin/)?python3 |gcc |g\+\+ |gfortran |cmake |git |cat |echo )"
)


@dataclass(frozen=True)
class Command:
    """One command and what the document says that it prints."""

    document: str
    line: int
    text: str
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: $ {self.text}"


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its fence, `lines` are those in it."""

    document: str
    line: int
    info: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.document}:{self.line}"

    def commands(self) -> list[Command]:
        """A console block's commands. ValueError if it begins with something else."""
        before, *parts = re.split(r"^\$ ", "\n".join(self.lines), flags=re.MULTILINE)
        if before:
            raise ValueError(f'{self.name}: a console block begins with "{PROMPT}COMMAND"')
        found: list[Command] = []
        number = self.line + 1
        for part in parts:
            lines = part.removesuffix("\n").split("\n")
            last = next((n for n, line in enumerate(lines) if not line.endswith("\\")), len(lines) - 1)
            found.append(
                Command(self.document, number, "\n".join(lines[: last + 1]), tuple(lines[last + 1 :]))
            )
            number += len(lines)
        return found


def documents() -> list[str]:
    """README.md, the pages of docs/ and tests/README.md, as paths in the tree."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "tests" / "README.md"]
    return [str(page.relative_to(ROOT)) for page in pages]


def blocks(document: str, text: str) -> Iterator[Block]:
    """All fenced blocks of a document, in order."""
    fences = [text.count("\n", 0, fence.start()) + 1 for fence in FENCE.finditer(text)]
    if len(fences) % 2:
        raise ValueError(f"{document}:{fences[-1]}: a fenced block without an end")
    for found in FENCED.finditer(text):
        lines = (line[len(found[1]) :] for line in found[3].splitlines())
        yield Block(document, text.count("\n", 0, found.start()) + 1, found[2].strip(), tuple(lines))


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def console_blocks(document: str) -> list[Block]:
    return [block for block in blocks(document, read(document)) if block.info == "console"]


def plain(command: str) -> str:
    """One form for a command, however it is broken into lines, without a remark after it."""
    return " ".join(re.sub(r"\s#\s.*", "", command.replace("\\\n", " ")).split())


def mentioned(document: str, text: str) -> Iterator[Command]:
    """Commands that no console block shows: in code spans, and in blocks of any other kind."""
    prose = text.splitlines()
    for block in blocks(document, text):
        if block.info != "console":
            joined = re.sub(r"\\\n\s*", " ", "\n".join(block.lines)).splitlines()
            for line in joined:
                if BEGINS.match(line.removeprefix(PROMPT)):
                    yield Command(document, block.line, plain(line.removeprefix(PROMPT)))
        prose[block.line - 1 : block.line + len(block.lines) + 1] = [""] * (len(block.lines) + 2)
    kept = "\n".join(prose)
    for span in SPAN.finditer(kept):
        if BEGINS.match(" ".join(span[1].split()) + ("" if " " not in span[1] else " ")):
            yield Command(document, kept.count("\n", 0, span.start()) + 1, plain(span[1]))


#: A number that is no part of a name, an address, a version or a path.
NUMBER = re.compile(r"(?<![\w.,:/-])\d[\d,]*(?:\.\d+)?(?![\w/:-]|[.,]\d)")
ANY_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
NUMBER_DIFFERS = 0.25


def value(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))


def numbers(line: str) -> list[re.Match[str]]:
    """The numbers of three digits and more in a line."""
    return [found for found in NUMBER.finditer(line) if sum(map(str.isdigit, found[0])) >= 3]


def line_pattern(line: str) -> str:
    """What one line matches. Its long numbers are groups; if it has any, columns may have other widths."""
    parts, at = [], 0
    for found in numbers(line):
        parts += [re.escape(line[at : found.start()]), ANY_NUMBER]
        at = found.end()
    text = "".join([*parts, re.escape(line[at:])]).replace(re.escape(ANY), ".*")
    return re.sub(r"(?:\\ )+", " +", text) if parts else text


def pattern(shown: tuple[str, ...]) -> re.Pattern[str]:
    """What these lines match; each line of the text ends with a newline. Its groups are numbers()."""
    return re.compile(
        "".join(
            r"(?:.*\n)*?" if line.strip() == ANY else line_pattern(line.rstrip()) + r"\n" for line in shown
        )
    )


def is_near(shown: str, printed: str, differs: float) -> bool:
    """Whether two numbers differ by no larger part of the larger one."""
    one, other = value(shown), value(printed)
    return abs(one - other) <= differs * max(one, other)


def matches(shown: Sequence[str], text: str, differs: float = NUMBER_DIFFERS) -> bool:
    """Whether a text is what these lines show."""
    found = pattern(tuple(shown)).fullmatch(text)
    wanted = [number[0] for line in shown if line.strip() != ANY for number in numbers(line)]
    return bool(found) and all(is_near(*pair, differs) for pair in zip(wanted, found.groups()))


def lines_of(output: str) -> list[str]:
    """What was printed, as a page can show it: without blanks at the ends of lines and of the whole."""
    return [line.rstrip() for line in output.rstrip().splitlines()]


def difference(command: Command, output: str) -> str:
    """A diff with the place of the command, or "" if it printed what is shown."""
    printed = lines_of(output)
    shown = lines_of("\n".join(command.shown))
    if matches(shown, "".join(f"{line}\n" for line in printed)):
        return ""
    # Lines that a wildcard covers are no difference: show them as the document does.
    covered = []
    for line in printed:
        alike = [one for one in shown if one.strip() != ANY and matches((one,), f"{line}\n")]
        covered.append(max(alike, key=len, default=line))
    diff = difflib.unified_diff(shown, covered, f"{command.document}:{command.line} shows", "printed",
                                lineterm="", n=2)  # fmt: skip
    return f"{command}\n" + "\n".join(diff)
