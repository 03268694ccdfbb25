# SPDX-License-Identifier: BSD-2-Clause
"""Comments, messages and documents have none of the words at which a reader stops, and a function's comment
begins with a verb (voice.py)."""

from __future__ import annotations

import re

import pytest
import voice

#: Parts of the tree, each a case of its own.
PARTS = (
    *("kernel", "arch", "drivers", "boot", "ports", "libc", "service", "apps", "simulator", "kit", "tools"),
    *("lab", "docs", "tests", "README.md", "CONTRIBUTING.md"),
)

#: Places where the words may stand: the beginning of a finding (PATH:LINE: KIND), and why.
ALLOWED = {
    r"tests/conformance/\S*: ": "recorded answers of Linux hold a digest of the source",
    r"tests/programs/(machine|raw_call)\.h:\d+: ": "the same: conformance programs include them",
    r"tests/programs/\S*: message: ": "what a test program prints is read by its test alone",
}


def refused(part: str) -> list[str]:
    """Returns what is found in a part of the tree, without what is allowed."""
    return [
        line
        for path in voice.files([part])
        if (voice.ROOT / path).is_file()
        for line in voice.check(path, (voice.ROOT / path).read_text(encoding="utf-8", errors="replace"))
        if not any(re.match(place, line) for place in ALLOWED)
    ]


@pytest.mark.parametrize("part", PARTS)
def test_a_stranger_understands_at_first_reading(part: str) -> None:
    found = refused(part)
    assert not found, "\n" + "\n".join(found)


def test_what_is_allowed_is_there() -> None:
    text = "\n".join(
        line
        for path in voice.files(["tests/conformance", "tests/programs"])
        for line in voice.check(path, (voice.ROOT / path).read_text(encoding="utf-8", errors="replace"))
    )
    unused = [place for place in ALLOWED if not re.search(place, text)]
    assert not unused


# ---- The check itself ----


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.c", "int a; /* nobody reads it */\n", "a.c:1: comment: nobody"),
        ("a.c", 'say("it is begun anew");\n', "a.c:1: message: anew"),
        ("a.c", "int nobody, anew;\n", ""),
        ("a.c", "/* The node's name. */\nconst char *node_name(void);\n", "a.c:1: comment of a function"),
        ("a.c", "/* Returns the node's name. */\nconst char *node_name(void);\n", ""),
        ("a.c", "/* Threads that wait. */\nstruct list *waiting(void);\n", "a.c:1: comment of a function"),
        ("a.c", "/* ---- Names ---- */\nstatic int name(void)\n", ""),
        ("a.c", "/* The node's name. */\nstruct name {\n", ""),
        ("a.asm", "mov rax, 1 ; so many\n", "a.asm:1: comment: so many"),
        ("a.py", 'def a():\n    """Whoever waits."""\n', "a.py:2: comment: Whoever"),
        ("a.py", 'print("ends by itself")\n', "a.py:1: message: by itself"),
        ("a.md", "It stands beside it, `nobody` or not.\n", "a.md:1: page: beside"),
        ("a.md", "```console\n$ echo nobody\n```\n", ""),
    ],
)
def test_what_is_refused_is_named(path: str, text: str, said: str) -> None:
    found = voice.check(path, text)
    assert len(found) == bool(said) and "".join(found).startswith(said), found
