# SPDX-License-Identifier: BSD-2-Clause
"""What `lab compare` shows, and when: the first table before the tuned Linux, the kernels' command lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lab_ftq import FakeRunner, compare, ftq_result, run_compare, silent, ticking


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    return path


def test_what_the_tuned_linux_needs_is_fetched_meanwhile_and_the_first_table_does_not_wait(
    program: Path, tmp_path: Path
) -> None:
    systems = {"tacet": ftq_result(silent()), "linux": ftq_result(ticking(), "100")}
    machines = FakeRunner(**systems, linux_tuned=ftq_result(silent(), "3"))
    fetched = tmp_path / "fetched"
    status, said = run_compare(machines, program, tmp_path, "--tuned-fetch", f"touch {fetched}")
    assert status == 0 and fetched.exists() and said.count("\ndisturbed quanta ") == 2, said
    assert "Linux, tuned" not in said.split("takes longer:")[0]
    assert "[3/3] FTQ on Linux, tuned: exit" in said
    failing = "echo 'some words' >&2; echo 'no mirror has it' >&2; exit 3"
    status, said = run_compare(machines, program, tmp_path, "--tuned-fetch", failing)
    assert status == 0 and "Linux, tuned: absent: no mirror has it" in said, said


def test_linux_is_measured_while_tacet_s_kernel_is_being_built(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = {"tacet": ftq_result(silent()), "linux": ftq_result(ticking(), "100")}
    machines = FakeRunner(**systems, linux_tuned=ftq_result(silent(), "3"))
    there = tmp_path / "there"
    status, said = run_compare(machines, program, tmp_path, "--kernel-wait", f"touch {there}")
    assert status == 0 and there.exists(), said
    order = [
        said.index(text) for text in ("[1/3] FTQ on Linux:", "[2/3] FTQ on Tacet:", "[3/3] FTQ on Linux, t")
    ]
    assert order == sorted(order) and "Tacet                Linux" in said, said
    status, said = run_compare(machines, program, tmp_path, "--kernel-wait", "echo 'no kernel' >&2; exit 1")
    assert status != 0 and "Tacet's kernel was not built: no kernel" in capsys.readouterr().err, said


def test_the_tuned_linux_can_be_left_out(program: Path, tmp_path: Path) -> None:
    machines = FakeRunner(tacet=ftq_result(silent()), linux=ftq_result(ticking(), "100"))
    status, said = run_compare(machines, program, tmp_path, "--tuned", "no")
    assert status == 0 and "Linux, tuned" not in said and said.count("\ndisturbed quanta ") == 1


def test_the_command_line_of_each_kernel_stands_below_the_table(program: Path, tmp_path: Path) -> None:
    linux, tacet = ftq_result(ticking(), "100"), ftq_result(silent())
    linux.command = ["qemu", "-append", "console=ttyS0 quiet " + "a_long_option=1 " * 9, "-m", "256M"]
    tacet.command = ["qemu", "-append"]
    machines = FakeRunner(tacet=tacet, linux=linux)
    status, said = run_compare(machines, program, tmp_path, "--tuned", "no")
    begin = said.index("command lines of the kernels:")
    assert status == 0 and begin > said.index("kernel entries:")
    assert "  Linux  console=ttyS0 quiet a_long" in said[begin:] and "  Tacet" not in said[begin:]
    assert max(map(len, said[begin:].splitlines()[:4])) <= compare.LINE_WIDTH
