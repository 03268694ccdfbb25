# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's counters are exact, and say that a computing program is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu

FTQ = "apps/ftq"


def report(result: qemu.Result) -> dict[str, str]:
    """FTQ's summary: "name: value (remark)" lines."""
    return dict(re.findall(r"^(\w+): ([^ \n]+)", result.stderr.decode(), re.MULTILINE))


@pytest.mark.parametrize("cpu", [None, "qemu64"], ids=["usual", "qemu64"])
def test_every_entry_is_counted_once_and_looking_is_none(cpu: str | None, tacet: Run) -> None:
    expect_exit(tacet("counters.musl", cpu=cpu))


def test_ftq_is_never_disturbed(tacet: Run) -> None:
    result = expect_exit(tacet(FTQ, "-n", "1000", "-s", icount=0, time_limit=120))
    reported = report(result)
    assert reported["disturbed_quanta"] == "0" and reported["lost_quanta"] == "0", result.explain()
    assert reported["kernel_entries"] == "0" and reported["detours"] == "0", result.explain()
    assert float(reported["noise_ratio"]) == 0.0, result.explain()
    assert len([line for line in result.stdout.splitlines() if not line.startswith(b"#")]) == 1000, (
        result.explain()
    )


def test_two_runs_of_ftq_print_the_same_bytes(tacet: Run) -> None:
    first, second = (expect_exit(tacet(FTQ, "-n", "300", "-s", icount=0)) for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stderr == second.stderr
    assert first.console == second.console


def test_ftq_on_a_free_running_clock_takes_no_kernel_entry_either(tacet: Run) -> None:
    # Times mean nothing on a shared host; counts do.
    result = expect_exit(tacet(FTQ, "-n", "300", "-s"))
    assert report(result)["kernel_entries"] == "0", result.explain()


def test_a_silent_hour_stays_silent(tacet: Run) -> None:
    # A coarse clock makes an hour of guest time a few seconds of this one.
    result = expect_exit(tacet(FTQ, "-n", "360", "-q", "10s", "-s", icount=10, time_limit=180))
    reported = report(result)
    assert reported["kernel_entries"] == "0" and reported["disturbed_quanta"] == "0", result.explain()


def test_the_file_of_counters_reads_like_a_table(tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, "cat", "/proc/tacet/counters"))
    assert re.fullmatch(
        rb"cpu0 system_calls \d+\n(cpu0 (exception|interrupt) \d+ \d+[^\n]*\n)*", result.stdout
    ), result.explain()
