# SPDX-License-Identifier: BSD-2-Clause
"""Every system call survives every argument: no crash, no result out of range, no stray write, no address of
the kernel reported."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit

import qemu


def expect_survived(result: qemu.Result, calls: int) -> None:
    expect_exit(result)
    reported = re.search(rb"calls: (\d+), of them (\d+) succeeded; left out: (\d+)\n$", result.stdout)
    assert reported, result.explain()
    assert int(reported[1]) > calls and int(reported[2]) > calls // 20, result.explain()
    assert int(reported[3]) < int(reported[1]) // 4, result.explain()
    assert not re.search(r"ended by|the kernel itself", result.console), result.explain()


@pytest.mark.parametrize(
    ("seed", "cpu", "calls", "share"),
    [
        (1, None, 2000, 100),
        (2, "max,-smap,-smep", 2000, 100),
        (1, None, 10000, 1),
        pytest.param(1, None, 100000, 1, marks=pytest.mark.long),
        pytest.param(2, "max,-smap,-smep", 100000, 1, marks=pytest.mark.long),
        pytest.param(3, "qemu64", 100000, 1, marks=pytest.mark.long),
    ],
)
def test_hostile_arguments_in_every_place_of_every_call_do_no_harm(
    seed: int, cpu: str | None, calls: int, share: int, tacet: Run
) -> None:
    """In one of `share` places; on POWER, whose pages are long to look through, all take many minutes."""
    words = ("hostile.musl", "-s", str(seed), "-n", str(calls), "-p", str(share))
    expect_survived(tacet(*words, cpu=cpu, time_limit=180 if share > 1 else 1800), 4 * calls)


@pytest.mark.parametrize(
    ("seed", "threads", "cpus", "calls", "share"),
    [
        (1, 2, 2, 200, 10_000),
        (2, 2, 1, 200, 10_000),
        pytest.param(3, 3, 4, 50_000, 50, marks=pytest.mark.long),
        pytest.param(4, 7, 2, 50_000, 50, marks=pytest.mark.long),
    ],
)
def test_hostile_calls_of_threads_that_share_all_do_no_harm(
    seed: int, threads: int, cpus: int, calls: int, share: int, tacet: Run
) -> None:
    """Each thread with an arena of its own, whose vectors a further thread changes during the calls."""
    words = ("-s", str(seed), "-n", str(calls), "-p", str(share), "-j", str(threads))
    result = tacet(
        "hostile.musl",
        *words,
        cpus=cpus,
        options="ranks=1 rotation=100us",
        time_limit=3600 if calls > 1000 else 180,
    )
    expect_survived(result, threads * calls)
