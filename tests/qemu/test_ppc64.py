# SPDX-License-Identifier: BSD-2-Clause
"""The kernel on POWER (docs/power.md): QEMU's pseries, once with its real firmware, and programs of Debian's
cross compiler for Linux on that machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pseries import command, compiled, ended

from tests.making import ROOT

PROGRAM = ROOT / "tests" / "programs" / "ppc64.c"
#: The real firmware alone takes 10 s of an idle machine.
LIMIT_S = 240.0
SEGMENT_VIOLATION = 128 + 11

pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(300, 900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("ppc64") / "ppc64", PROGRAM, "-lm")


def run(program: Path, words: str, firmware: str = "vof") -> tuple[str, int]:
    """The console and the status."""
    end = ended(command(program, words, firmware=firmware), LIMIT_S)
    return end.console, end.status


def test_a_program_has_its_arguments_its_numbers_and_its_status(program: Path) -> None:
    console, status = run(program, "-- words one two", firmware="slof")
    assert status == 7, console
    assert "Linux ppc64le, page 65536\nargument one\nargument two\n" in console
    assert "root of two 1.414213562373095, platform power9\n" in console
    assert re.search(r"tacet: cpu: POWER9.*decrementer of 56 bits", console)


@pytest.mark.parametrize("what", ["files", "sleeps"])
def test_calls_of_this_architecture(program: Path, what: str) -> None:
    console, status = run(program, f"-- {what}")
    assert status == 0, console


def test_memory_has_its_rights_and_who_breaks_them_ends(program: Path) -> None:
    console, status = run(program, "-- memory")
    assert "memory is as it should be" in console and status == SEGMENT_VIOLATION, console
    assert "ended by SIGSEGV: write" in console
