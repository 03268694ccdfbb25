#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds words and shapes in comments, messages and documents at which a stranger has to read twice.

    tests/structure/voice.py [PATH...]        default: the whole tree

Prints PATH:LINE: what was found and what to write instead, and ends with status 1 if there is any. It looks
at comments and string literals of C, C++, assembly and Python, and at Markdown outside code. In C a comment
right above a function or its prototype begins with a verb in the third person ("Queues a frame for lwIP.").
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

COMMENT, MESSAGE, PAGE = "comment", "message", "page"

#: What is refused, and what to write.
WORDS: dict[str, str] = {
    r"whoever|whomever|who(?= (?:is|has|wants|asks|reads|writes|takes|gets|does|waits|calls|comes) )": (
        "name the actor: the caller, the sender, the rank, the node"
    ),
    r"nobody|somebody|no one|someone|anybody|anyone": "name the actor, or: no thread, no rank, some rank",
    r"anew": "again",
    r"no more(?=[.,;:)]|$| than before)": "no longer",
    r"so many": "this number of, that number of, COUNT of them",
    r"(?:is|are|was|be) to be had|to be had": "is available",
    r"by itself|of itself|of its own accord": "without …, on its own",
    r"beside": "next to, with; while … runs",
    r"that one(?:'s)?": "name it",
    r"behind": "after, later than; above",
}
PATTERN = re.compile("|".join(rf"(?P<w{i}>\b(?:{words})\b)" for i, words in enumerate(WORDS)), re.IGNORECASE)
SAY = list(WORDS.values())


@dataclass(frozen=True)
class Prose:
    """A piece of text for people, with the line on which it begins."""

    kind: str
    line: int
    text: str
    before_function: bool = False


C_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])*'|(?P<comment>/\*.*?\*/|//[^\n]*)""", re.S
)
#: A function or prototype after a comment: a line at the left edge with a name and a parenthesis.
FUNCTION = re.compile(
    r"\s*\n(?:static |inline |_Noreturn |extern |__attribute__\(\(.*?\)\) )*[a-z_]\w*[\w *]*?\**(\w+)\("
)
NO_FUNCTION = re.compile(r"\s*\n(?:typedef|struct \w+ \{|union|enum|#|return|static_assert|_Static_assert)")


def of_c(text: str) -> Iterator[Prose]:
    for match in C_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            body = re.sub(
                r"\n[ \t]*\*?", "\n", match[0].removeprefix("/*").removeprefix("//").removesuffix("*/")
            )
            at_edge = match.start() == 0 or text[match.start() - 1] == "\n"
            after = FUNCTION.match(text, match.end())
            shape = bool(at_edge and after and not NO_FUNCTION.match(text, match.end()))
            shape = shape and not re.match(r"\s*(?:----|SPDX)", body)
            yield Prose(COMMENT, line, body, shape)
        elif match["string"] and " " in match[0]:
            yield Prose(MESSAGE, line, match[0])


def of_assembly(text: str, mark: str) -> Iterator[Prose]:
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(rf"(?:^|\s){re.escape(mark)}(.*)", line)
        if found:
            yield Prose(COMMENT, number, found[1])


def of_python(text: str) -> Iterator[Prose]:
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(COMMENT, token.start[0], token.string.lstrip("#: "))
        elif token.type == tokenize.STRING and " " in token.string:
            doc = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL, tokenize.DEDENT)
            yield Prose(COMMENT if doc else MESSAGE, token.start[0], token.string)
        before = token.type


def of_page(text: str) -> Iterator[Prose]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield Prose(PAGE, number, re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line))


def prose_of(path: str, text: str) -> Iterator[Prose]:
    match Path(path).suffix:
        case ".c" | ".h" | ".def" | ".cpp" | ".hpp" | ".S":
            yield from of_c(text)
        case ".asm" | ".inc":
            yield from of_assembly(text, ";")
        case ".s":
            yield from of_assembly(text, "#")
        case ".py":
            yield from of_python(text)
        case ".md":
            yield from of_page(text)


#: First words of a function's comment that end like a verb in the third person and are none.
NO_VERBS = frozenset(
    "This As Its Bytes Threads Ranks Processes Numbers Words Lines Names Others Always Sometimes Signals"
    " Files Pages Frames Packets Timers Calls Locks Status Address Less Unless Whereas Thus Besides"
    " Across".split()
)


def begins_with_verb(text: str) -> bool:
    """Whether a function's comment does."""
    word = re.match(r"[\s*!<]*([A-Za-z][\w-]*)", text)
    return bool(word and re.fullmatch(r"[A-Z][a-z-]+s|Optional", word[1]) and word[1] not in NO_VERBS)


def check(path: str, text: str) -> list[str]:
    """What is refused in a file, as PATH:LINE: found: instead."""
    found: list[str] = []
    if not PATTERN.search(text) and Path(path).suffix not in (".c", ".h"):
        return found
    for prose in prose_of(path, text):
        for match in PATTERN.finditer(prose.text):
            line = prose.line + prose.text.count("\n", 0, match.start())
            say = SAY[int(match.lastgroup[1:])] if match.lastgroup else ""
            found.append(f"{path}:{line}: {prose.kind}: {match[0]}: {say}")
        if prose.before_function and not begins_with_verb(prose.text):
            first = prose.text.strip().split("\n")[0][:50]
            found.append(f"{path}:{prose.line}: comment of a function begins with no verb: {first}")
    return found


def files(paths: list[str]) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [
        name
        for name in listed
        if name and not name.startswith(("LICENSE", "tests/data/")) and not name.endswith("voice.py")
    ]


def main() -> int:
    paths = [word for word in sys.argv[1:] if not word.startswith("--")]
    found = [
        line
        for path in files(paths)
        if (ROOT / path).is_file()
        for line in check(path, (ROOT / path).read_text(encoding="utf-8", errors="replace"))
    ]
    print("\n".join(found))
    print(f"{len(found)} places", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
