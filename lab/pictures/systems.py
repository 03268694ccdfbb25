# SPDX-License-Identifier: BSD-2-Clause
"""The systems of a picture: a name, and one colour, line, marker and hatch for each. Imports no matplotlib,
so that commands which draw nothing start quickly; style.py is for those that draw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.formats.trace import Trace


@dataclass(frozen=True)
class Style:
    """How a system looks. `line` is matplotlib's dash pattern."""

    colour: str
    line: Any
    marker: str
    hatch: str


STYLES = {
    "tacet": Style("#14375e", "-", "o", ""),
    "linux": Style("#d1602a", (0, (8, 1.2)), "s", "///"),
    "linux-tuned": Style("#5f9e8f", (0, (5, 2)), "^", "..."),
    "linux-rt": Style("#a8478f", (0, (1.5, 1.2)), "D", "xxx"),
}
#: The names of the systems that have a colour of their own.
NAMES = {"tacet": "Tacet", "linux": "Linux", "linux-tuned": "Linux, tuned", "linux-rt": "Linux, PREEMPT_RT"}
#: The styles of other systems, in the order in which they appear.
OTHERS = (
    Style("#555555", (0, (7, 2, 1.5, 2)), "v", "\\\\\\"),
    Style("#b08d00", (0, (3, 1)), "P", "+++"),
    Style("#2f7fb5", (0, (1, 2)), "X", "ooo"),
    Style("#8a5a44", (0, (9, 3)), "<", "---"),
)
#: All looks, for things that are no systems.
LOOKS = (*STYLES.values(), *OTHERS)


def style_of(key: str, index: int = 0) -> Style:
    """Returns a system's style; `linux_tuned` is `linux-tuned`. `index`: an unknown system's place among the
    systems of the picture."""
    return STYLES.get(key.lower().replace("_", "-"), OTHERS[index % len(OTHERS)])


def looks_of(keys: Sequence[str]) -> list[Style]:
    """Returns a style for each system of a picture, by its key. Systems with one key, such as the CPUs of a
    node, have its colour, but each its own line, marker and hatch; so have unknown systems beyond four."""
    styles: list[Style] = []
    for index, key in enumerate(keys):
        style = style_of(key, index)
        first = LOOKS.index(style)
        other = LOOKS[(first + sum(one.colour == style.colour for one in styles)) % len(LOOKS)]
        styles.append(Style(style.colour, other.line, other.marker, other.hatch))
    return styles


def key_of(name: str) -> str:
    """Returns a system's key from a name or a file's name: the longest known key that it contains as
    words."""
    plain = name.lower().replace("_", "-")
    found = [key for key in STYLES if re.search(rf"(^|[^a-z]){key}($|[^a-z])", plain)]
    return max(found, key=len) if found else name


@dataclass(frozen=True)
class System:
    """A measured system of a picture: its key (for the style), its name, and its trace."""

    key: str
    name: str
    trace: Trace
