# SPDX-License-Identifier: BSD-2-Clause
"""The list of tests of whole systems that are x86_64's alone (tests/qemu/only.py): each entry names a file or
a test that there is, and gives a reason; what it does not name runs on every architecture."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

QEMU_TESTS = Path(__file__).resolve().parents[1] / "qemu"
sys.path[:0] = [str(QEMU_TESTS), str(QEMU_TESTS.parents[1] / "tools")]

import only


def names_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {path.stem, *(f"{path.stem}::{name}" for name in tests if name.startswith("test_"))}


def test_each_entry_names_what_is_there_and_says_why() -> None:
    there = set().union(*(names_of(path) for path in QEMU_TESTS.glob("test_*.py")))
    assert {key.partition("[")[0] for key in only.X86_64_ALONE} <= there
    assert all(why.strip() for why in only.X86_64_ALONE.values())


def test_what_is_not_named_runs_on_every_architecture() -> None:
    assert only.names("test_none", "test_none") == ["x86_64", "ppc64"]
    assert only.names("test_bochs", "test_any") == ["x86_64"]
    assert only.left_out("test_none", "test_none[ppc64-case]", "ppc64") == ""


def test_a_case_of_whatever_test_may_be_left_out() -> None:
    assert only.left_out("test_none", "test_none[ppc64-glibc-pie-8]", "ppc64") == only.NO_START
    assert only.left_out("test_none", "test_none[x86_64-glibc-pie-8]", "x86_64") == ""
    assert only.left_out("test_none", "test_none[ppc64-glibc-8]", "ppc64") == ""
