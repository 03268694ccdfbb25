# SPDX-License-Identifier: BSD-2-Clause
"""A program that goes well leaves the console to the node: no line on calls that its C library only tries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu


def quiet(result: qemu.Result) -> bool:
    """The console has the node's start and its end, and nothing else."""
    start = r"tacet: (Tacet|cpu:|clock:|cpus:|memory:) .*|"
    lines = result.console.replace("\r", "").splitlines()
    return all(re.fullmatch(start + r"tacet: exit status=0", line) for line in lines)


@pytest.mark.parametrize("words", [("cp", "/init", "copy"), ("cat", "/init"), ("true",)], ids=lambda w: w[0])
def test_busybox_causes_no_line_on_the_console(words: tuple[str, ...], tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, *words))
    assert quiet(result), result.explain()


@pytest.mark.parametrize("name", ["clocks.glibc", "threads.glibc", "threads.musl", "openmp.glibc"])
def test_starts_of_programs_and_threads_cause_no_line_on_the_console(name: str, tacet: Run) -> None:
    result = expect_exit(tacet(name, cpus=4, options="ranks=1", memory="256M", time_limit=120))
    assert quiet(result), result.explain()
