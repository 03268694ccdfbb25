# SPDX-License-Identifier: BSD-2-Clause
"""Standard output and input on a slow port: who writes much delays nobody."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit

LINES = 16384  # of 64 bytes, in a MiB
MINE = 32


def test_pages_are_unmapped_while_another_thread_writes(tacet: Run) -> None:
    """Its CPU must answer each time, in the middle of one call that takes seconds."""
    result = expect_exit(tacet("serial.musl", "unmap", cpus=2, options="ranks=1"))
    said = re.fullmatch(
        rb"control 200 rounds of (\d+) ns, beside (\d+) of (\d+) ns, (before|until) the end, whole\n",
        result.stderr,
    )
    assert said and (said[2], said[4]) == (b"200", b"before"), result.explain()
    assert len(result.stdout) == 64 * LINES, result.explain()


@pytest.mark.parametrize("shared", [False, True], ids=["port", "console"])
def test_a_short_write_passes_between_the_lines_of_a_long_one(shared: bool, tacet: Run) -> None:
    options = ["-vga", "std", "-append", "console=com1,vga -- beside"] if shared else []
    result = expect_exit(tacet("serial.musl", "beside", cpus=2, time_limit=120, qemu_options=options))
    text = result.console.replace("\r", "") if shared else result.stdout.decode()
    lines = [line for line in text.splitlines() if not line.startswith("tacet: ")]
    mine = [number for number, line in enumerate(lines) if line.startswith("mine")]
    others = [line for line in lines if not line.startswith("mine")]
    assert [lines[number] for number in mine] == [f"mine {n}" for n in range(MINE)], result.explain()
    assert others == [f"{n:<63}" for n in range(LINES)], result.explain()
    assert mine[-1] < len(lines) // 4, (mine, result.explain())


def test_a_long_write_ends_with_its_process(tacet: Run) -> None:
    result = expect_exit(tacet("serial.musl", "kill", cpus=2, memory="256M", options="ranks=1"), 7)
    assert 0 < len(result.stdout) < 32 << 20, result.explain()
