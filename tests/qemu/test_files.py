# SPDX-License-Identifier: BSD-2-Clause
"""Files that can be written, pipes and waiting: as on Linux, where the same programs hold, and common to all
ranks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit, program

from qemu import architectures

BAD_INPUT = 64


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("name", ["files", "events"])
def test_files_are_as_on_linux(name: str, cpus: int, tacet: Run) -> None:
    result = expect_exit(tacet(f"{name}.musl", cpus=cpus, time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == cpus, result.explain()


@pytest.mark.parametrize("name", ["files", "events", "directories"])
def test_linux_holds_the_same_promises(name: str, tmp_path: Path) -> None:
    ran = subprocess.run([program(f"{name}.musl"), tmp_path], capture_output=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, b""), ran


@pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
def test_ranks_share_files_and_outlive_each_other(icount: int | None, tacet: Run) -> None:
    result = expect_exit(tacet("shared_files.musl", cpus=2, icount=icount, time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 2, result.explain()


def test_65536_descriptors_and_the_last_costs_what_the_first_did(tacet: Run) -> None:
    result = expect_exit(tacet("descriptors.musl", icount=0, time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 1, result.explain()


def test_descriptors_end_with_memory_before_the_limit(tacet: Run) -> None:
    result = expect_exit(tacet("descriptors.musl", "without-memory", time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 1, result.explain()


def test_a_directory_of_many_files_costs_hardly_more_than_one_of_few(tacet: Run) -> None:
    result = expect_exit(tacet("directories.musl", icount=0, memory="2G", time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 1, result.explain()


def test_a_broken_pipe_ends_a_program_by_its_signal(tacet: Run) -> None:
    expect_exit(tacet("corners.musl", "broken-pipe"), 128 + 13)


def test_input_may_have_any_byte(tacet: Run, tmp_path: Path) -> None:
    source = tmp_path / "input"
    source.write_bytes(bytes(range(256)) * 80 + b"\x04\x04" + bytes(reversed(range(256))))
    result = expect_exit(tacet("streams.musl", "echo", stdin=source, time_limit=60))
    assert result.stdout == source.read_bytes(), result.explain()


def test_counted_input_wants_a_port_of_its_own(arch: str, tacet: Run) -> None:
    console, output, *_ = architectures.named(arch).terminals
    result = tacet("status.musl", options=f"stdin_bytes=5 console={console},{output}")
    assert result.outcome == "exit", result.explain()
    for options, reason in (
        ("stdin_bytes=x", "stdin_bytes"),
        ("stdin_bytes=", "stdin_bytes"),
        ("stdin_bytes=-1", "stdin_bytes"),
    ):
        result = tacet("status.musl", options=options)
        assert (result.outcome, result.status) == ("stop", BAD_INPUT) and reason in result.reason, (
            result.explain()
        )
    result = tacet("status.musl", qemu_options=["-append", "stdin_bytes=5"])
    assert (result.outcome, result.status) == ("stop", BAD_INPUT) and "stdout=" in result.reason, (
        result.explain()
    )
