# SPDX-License-Identifier: BSD-2-Clause
"""Facts for the drawings, read from the sources: the folders and rooms, where a function is defined, the
value of a constant. A missing item is an error, so that no drawing shows something that no longer exists."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tools.drawings.svg import DrawingError

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "structure"))

from structure import ROOMS, without_comments

__all__ = ["ROOMS", "ROOT", "constant", "defined", "folders", "link_constant", "source"]


@cache
def source(path: str) -> str:
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DrawingError(f"{path}: a drawing names this file, but it is not in the tree") from None


@cache
def folders(under: str = "") -> tuple[str, ...]:
    """Names of the tracked folders directly in a folder, in order."""
    command = ["git", "ls-files", "-z", *([under] if under else [])]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    depth = len(Path(under).parts)
    parts = [Path(path).parts for path in listing.split("\0") if path]
    return tuple(sorted({p[depth] for p in parts if len(p) > depth + 1 and not p[depth].startswith(".")}))


def defined(path: str, *names: str) -> None:
    """DrawingError unless the file defines each of these: a function or a variable of C, a label of NASM."""
    text = source(path)
    if not path.endswith(".asm"):
        text = without_comments(text)
    for name in names:
        word = re.escape(name)
        function = rf"^(?!\s)[^;\n=]*\b{word}\([^;{{]*\)\n\{{"
        table = rf"^(?!\s)[\w *]*\b{word}\[[^;]*="
        pattern = rf"^{word}:" if path.endswith(".asm") else f"{function}|{table}"
        if not re.search(pattern, text, re.M):
            raise DrawingError(f"{path} does not define {name}, which a drawing names")


def _value(text: str, known: dict[str, int], where: str) -> int:
    """The value of a constant expression of C."""
    plain = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
    plain = re.sub(r"\b[A-Za-z_]\w*", lambda m: str(known[m[0]]) if m[0] in known else m[0], plain)
    if not re.fullmatch(r"(?:0[xX][0-9a-fA-F]+|[\d\s()+*<>~&|-])+", plain):
        raise DrawingError(f"{where}: cannot compute the constant {text!r}")
    return int(eval(plain, {"__builtins__": {}}))


def constant(path: str, name: str, **known: int) -> int:
    """The value of a `#define` in a file; `known` has values of names that it uses. Raises DrawingError."""
    match = re.search(rf"^#define {re.escape(name)}\s+(.+)$", without_comments(source(path)), re.M)
    if not match:
        raise DrawingError(f"{path} does not define {name}, which a drawing shows")
    return _value(match[1].strip(), known, f"{path}: {name}")


def link_constant(path: str, name: str) -> int:
    """The value of a `NAME = value;` in a linker script. Raises DrawingError."""
    match = re.search(rf"^{re.escape(name)} = (0x[0-9a-f]+);", source(path), re.M)
    if not match:
        raise DrawingError(f"{path} does not set {name}, which a drawing shows")
    return int(match[1], 16)
