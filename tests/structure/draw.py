#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws comments, messages and paragraphs of the tree, for readers who say what each means.

    tests/structure/draw.py FOLDER [--seed S] [--comments N] [--messages N] [--paragraphs N]

Writes FOLDER/questions.md, numbered texts with their file and, for a comment, the line of code that it stands
at, and FOLDER/places.txt, the place of each. A reader without the code reads the questions once and writes
what each text means; a second one compares that with the code. The same seed draws the same texts of the same
tree. A comment has 8 words or more, a message 5, a paragraph 25; tests are not drawn.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import voice

LEAST_WORDS = {voice.COMMENT: 8, voice.MESSAGE: 5, voice.PAGE: 25}
FOLDERS = (
    "kernel",
    "arch",
    "drivers",
    "boot",
    "ports",
    "libc",
    "service",
    "apps",
    "simulator",
    "kit",
    "tools",
)


def of_page(text: str) -> list[tuple[int, str]]:
    """The paragraphs and items of lists of a page, each with its first line; no tables and fenced blocks. A
    text begins with its heading."""
    found: list[tuple[int, str]] = []
    fenced, begin, heading = False, 0, ""
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_fence = line.lstrip().startswith("```")
        ends = is_fence or fenced or not line.strip() or re.match(r"\s*(?:[|#!<]|[*-] )", line)
        if ends and lines:
            found.append((begin, "\n".join([heading, *lines])))
            lines = []
        if line.startswith("#") and not fenced:
            heading = line
        fenced ^= is_fence
        if not ends or re.match(r"\s*[*-] ", line) and not fenced:
            begin = begin if lines else number
            lines.append(line)
    return found


@dataclass(frozen=True)
class Text:
    """A text, its place, and the line of code that it stands at or above; "" for pages and messages."""

    kind: str
    path: str
    line: int
    words: str
    code: str = ""


def code_at(lines: list[str], first: int, last: int) -> str:
    """The code before a comment on its first line, else the first line of code after it (numbers from 1)."""
    before = re.split(r"/\*|//|(?<!\S)#|;", lines[first - 1])[0].strip()
    after = [line.strip() for line in lines[last : last + 3] if line.strip()]
    return before or (after[0] if after else "")


def texts_of(path: str, text: str) -> Iterator[Text]:
    """The texts of a file. Comments, and pieces of a message, on lines that follow each other are one."""
    if path.endswith(".md"):
        yield from (Text(voice.PAGE, path, line, words) for line, words in of_page(text))
        return
    lines = text.splitlines()
    joined: list[voice.Prose] = []
    for prose in voice.prose_of(path, text):
        alone = not path.endswith((".c", ".h")) and re.match(r"\s*[#;]", lines[prose.line - 1])
        follows = bool(joined) and joined[-1].kind == prose.kind and (alone or prose.kind == voice.MESSAGE)
        if follows and prose.line == joined[-1].line + joined[-1].text.count("\n") + 1:
            joined[-1] = voice.Prose(prose.kind, joined[-1].line, f"{joined[-1].text}\n{prose.text}")
        else:
            joined.append(prose)
    for prose in joined:
        last = prose.line + prose.text.count("\n")
        code = code_at(lines, prose.line, last) if prose.kind == voice.COMMENT else ""
        yield Text(prose.kind, path, prose.line, prose.text.strip(), code)


def is_wanted(text: Text) -> bool:
    words = re.findall(r"(?<![%\w])[A-Za-z]{2,}", text.words)
    return len(words) >= LEAST_WORDS[text.kind] and not re.search(r"SPDX|^----|^\[", text.words)


def drawn(seed: int, counts: dict[str, int]) -> list[Text]:
    """The texts drawn, by kind."""
    paths = voice.files([*FOLDERS, "lab", "docs", "README.md"])
    found = [
        text
        for path in paths
        for text in texts_of(path, (voice.ROOT / path).read_text(encoding="utf-8", errors="replace"))
        if is_wanted(text)
    ]
    return [
        text
        for kind, count in counts.items()
        for text in random.Random(f"{seed} {kind}").sample([one for one in found if one.kind == kind], count)
    ]


def question(number: int, text: Text) -> str:
    code = f"\n\nIt stands at: `{text.code}`" if text.code else ""
    return f"## {number} ({text.kind} in {text.path})\n\n{text.words}{code}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where questions.md and places.txt go")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--comments", type=int, default=60)
    parser.add_argument("--messages", type=int, default=40)
    parser.add_argument("--paragraphs", type=int, default=20)
    given = parser.parse_args()
    counts = {voice.COMMENT: given.comments, voice.MESSAGE: given.messages, voice.PAGE: given.paragraphs}
    given.folder.mkdir(parents=True, exist_ok=True)
    texts = drawn(given.seed, counts)
    questions = [question(number, text) for number, text in enumerate(texts, 1)]
    places = [f"{number} {text.kind} {text.path}:{text.line}" for number, text in enumerate(texts, 1)]
    (given.folder / "questions.md").write_text("\n".join(questions), encoding="utf-8")
    (given.folder / "places.txt").write_text("\n".join(places) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
