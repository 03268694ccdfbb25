# SPDX-License-Identifier: BSD-2-Clause
"""Lines of code: lines of C and assembly that hold something besides comment and blank.

What counts as a comment: in C, headers, and preprocessed assembly (`.S`), `/* */` and `//`; in NASM (`.asm`), what
follows `;`; in GNU assembly (`.s`), what follows `#`. Strings are respected, so that "//" in one is no comment.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

C_SUFFIXES = frozenset({".c", ".h", ".def", ".S"})
LINE_COMMENT = {".asm": ";", ".inc": ";", ".s": "#"}

#: strings and character constants (kept), or comments (the named group)
_C_TOKEN = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*)""", re.S)


def _without_c_comments(text: str) -> str:
    """`text` with each comment as a blank that keeps its line ends."""

    def blank(match: re.Match[str]) -> str:
        return " " + "\n" * match[0].count("\n") if match["comment"] else match[0]

    return _C_TOKEN.sub(blank, text)


def _without_line_comments(text: str, mark: str) -> str:
    token = re.compile(r""""(?:\\.|[^"\\\n])*"|'[^'\n]*'|`[^`\n]*`|(?P<comment>""" + re.escape(mark) + r"[^\n]*)")
    return token.sub(lambda match: "" if match["comment"] else match[0], text)


def count_text(text: str, suffix: str) -> int:
    """Lines of code in `text`, which is of the kind that files ending in `suffix` hold."""
    if suffix in C_SUFFIXES:
        text = _without_c_comments(text)
    elif suffix in LINE_COMMENT:
        text = _without_line_comments(text, LINE_COMMENT[suffix])
    else:
        raise ValueError(f"no rule for files ending in {suffix!r}")
    return sum(1 for line in text.splitlines() if line.strip())


def count_folders(folders: Iterable[Path]) -> int:
    """Lines of code in all C and assembly files below `folders`; a folder that is not there counts 0."""
    total = 0
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (path.suffix in C_SUFFIXES or path.suffix in LINE_COMMENT):
                total += count_text(path.read_text(encoding="utf-8"), path.suffix)
    return total
