# SPDX-License-Identifier: BSD-2-Clause
"""What the tests ask for and the kernel does not do yet: tests/conformance/pending, in one place and never
silently.

A line is `KIND/NAME: reason`. Its test runs all the same and must fail (a strict xfail): what works must be
taken off the list. A name that no test has, a line without a reason, and a line given twice are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).resolve().parents[1] / "conformance" / "pending"


def read(text: str) -> dict[str, str]:
    """The reasons, by `KIND/NAME`."""
    reasons: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"(\w+/[\w.+-]+): (\S.*)", line)
        if entry is None:
            raise ValueError(f"{LIST.name}:{number}: expected `KIND/NAME: reason`: {line}")
        if entry[1] in reasons:
            raise ValueError(f"{LIST.name}:{number}: {entry[1]} stands there twice")
        reasons[entry[1]] = entry[2]
    return reasons


def reasons_of(kind: str) -> dict[str, str]:
    """The reasons of one kind, by name."""
    return {
        name.split("/", 1)[1]: reason
        for name, reason in read(LIST.read_text()).items()
        if name.split("/", 1)[0] == kind
    }


def params(kind: str, names: Iterable[str], *values: Any) -> list[Any]:
    """Parameters for pytest, one a name; those that are pending are marked. With `values`, the rows of a
    table in the same order."""
    names = list(names)
    pending = reasons_of(kind)
    if unknown := sorted(pending.keys() - set(names)):
        raise ValueError(f"{LIST.name}: no test has the name {kind}/{unknown[0]}")
    rows = zip(names, *values, strict=True) if values else ((name,) for name in names)
    return [
        pytest.param(
            *row,
            id=row[0],
            marks=[pytest.mark.xfail(reason=pending[row[0]], strict=True)] if row[0] in pending else [],
        )
        for row in rows
    ]
