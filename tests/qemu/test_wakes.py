# SPDX-License-Identifier: BSD-2-Clause
"""Threads that wait are woken: they do not poll, and no wake-up is lost, whatever they wait for."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Run, expect_exit, program
from test_signals import expect_kept


@pytest.mark.parametrize("icount", [4, None], ids=["icount", "free"])
def test_a_thread_that_waits_costs_no_interrupt_until_it_is_woken(icount: int | None, tacet: Run) -> None:
    expect_kept(tacet("wakes.musl", "silent", cpus=2, options="ranks=1", icount=icount), 40)


def token(cpus: int, rounds: int, idle: str, tacet: Run) -> None:
    result = tacet(
        "wakes.musl", "rings", str(rounds), cpus=cpus, options=f"ranks=1 idle={idle}", time_limit=120
    )
    expect_kept(result, 20)
    assert result.stdout.count(b" threads, ") == 6 * (cpus - 1), result.explain()


@pytest.mark.parametrize(
    ("cpus", "rounds"),
    [
        (2, 500),
        (4, 60),
        pytest.param(2, 5000, marks=pytest.mark.long),
        pytest.param(4, 2000, marks=pytest.mark.long),
    ],
)
def test_a_token_goes_round_without_a_lost_wake_up(
    cpus: int, rounds: int, idle_at_rest: str, tacet: Run
) -> None:
    token(cpus, rounds, idle_at_rest, tacet)


def test_a_token_goes_round_where_cpus_poll(tacet: Run) -> None:
    token(2, 500, "poll", tacet)


def test_what_many_threads_send_to_one_arrives(tacet: Run) -> None:
    expect_kept(tacet("wakes.musl", "crowd", "5000", cpus=4, options="ranks=1", time_limit=120), 7)


def test_a_lock_that_comes_after_its_file_was_closed_does_not_stay(tacet: Run) -> None:
    expect_kept(tacet("wakes.musl", "closed", cpus=2, options="ranks=1"), 4)
    ran = subprocess.run([program("wakes.musl"), "closed"], capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, b""), ran


def test_a_thread_that_waits_is_carried_to_another_cpu_and_waits_on(tacet: Run) -> None:
    expect_kept(tacet("wakes.musl", "moved", cpus=3, options="ranks=1"), 50)


def test_a_process_ends_while_its_threads_wait(tacet: Run) -> None:
    result = expect_exit(tacet("wakes.musl", "ended", cpus=12, memory="256M", options="ranks=1"), 7)
    assert b", broken: 0\n" in result.stdout and result.stderr == b"", result.explain()


def test_ranks_wait_apart(tacet: Run) -> None:
    result = expect_exit(
        tacet("wakes.musl", "rings", "500", cpus=4, options="ranks=2 prefix=rank", time_limit=120)
    )
    assert result.stdout.count(b"broken: 0") == 2, result.explain()
