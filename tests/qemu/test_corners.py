# SPDX-License-Identifier: BSD-2-Clause
"""Corners of the interface, and of the machine as reset leaves it."""

from __future__ import annotations

import pytest
from conftest import Run, expect_exit, program

import qemu
from qemu import architectures


@pytest.mark.parametrize("cpus", [1, 2])
def test_no_descriptor_table_lies_where_programs_can_write(cpus: int, tacet: Run) -> None:
    # UMIP would hide the question. After reset the local table begins at address 0, in the program's half.
    result = expect_exit(tacet("corners.musl", "descriptors", cpus=cpus, cpu="max,-umip,-smap,-smep"))
    assert result.stdout.count(b"broken: 0") == cpus, result.explain()


@pytest.mark.parametrize("corner", ["files", "advice"])
def test_corners_answer_as_on_linux(corner: str, tacet: Run) -> None:
    expect_exit(tacet("corners.musl", corner))


def test_waits_end_by_their_time_and_on_their_boundary(tacet: Run) -> None:
    expect_exit(tacet("corners.musl", "waits", icount=0))


def test_the_last_line_stands_alone_whatever_the_program_left(arch: str) -> None:
    # On the shared console: no stream of the program's own.
    port = architectures.named(arch).terminals[0]
    result = qemu.run_tacet(
        program("corners.musl", arch),
        ["open-line"],
        arch=arch,
        memory="256M",
        options=f"console={port} stdout={port} stderr={port}",
        time_limit=60,
    )
    assert (result.outcome, result.status) == ("exit", 0), result.explain()


def test_the_last_clock_event_device_stays_in_use(tacet: Run) -> None:
    expect_exit(tacet("corners.musl", "device", options="clockevents=writable"))
