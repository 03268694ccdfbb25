# SPDX-License-Identifier: BSD-2-Clause
"""The lab's packages stand in an order, and each uses only those before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"

#: As the lab documents it.
ORDER = (
    re.search(r"those before it: ([\w,\s]+)\.", (LAB / "__init__.py").read_text())[1].replace(",", "").split()
)


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The lab's packages that a module imports, with the line."""
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "lab":
            modules = [f"lab.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        yield from ((node.lineno, module.split(".")[1]) for module in modules if module.startswith("lab."))


def upward(package: str, source: str) -> list[str]:
    """What a module of a package imports from a later one."""
    later = ORDER[ORDER.index(package) + 1 :]
    return [f"line {line}: {name}" for line, name in imported(source) if name in later]


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {path.parent.name for path in LAB.glob("*/__init__.py")}
    assert packages == set(ORDER) and len(ORDER) > 5
    assert {path.name for path in LAB.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("package", ORDER)
def test_a_package_uses_only_those_before_it(package: str) -> None:
    found = {path.name: upward(package, path.read_text()) for path in (LAB / package).glob("*.py")}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from lab import cli", "cli"),
        ("import lab.report.page", "report"),
        ("from lab.bench import sloc", "bench"),
    ],
)
def test_an_import_from_a_later_package_is_found(source: str, name: str) -> None:
    assert upward("pictures", f"def late():\n    {source}\n") == [f"line 2: {name}"]
