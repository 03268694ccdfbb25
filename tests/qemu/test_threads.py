# SPDX-License-Identifier: BSD-2-Clause
"""Threads of a rank, on its CPUs: whatever one of them does, the others and the node live on or end as on
Linux. What they do to each other on one CPU is in test_sharing.py."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit, hardware_threads, own_errors
from test_bad_input import BAD_INPUT, expect_stop

from qemu import architectures

KINDS = ["musl", "glibc", "glibc-pie"]


def expect_kept(result: object) -> None:
    kept = re.search(rb"promises: (\d+), broken: 0\n", result.stdout)  # type: ignore[attr-defined]
    assert kept and int(kept[1]) > 25, result.explain()  # type: ignore[attr-defined]
    assert own_errors(result) == b"", result.explain()  # type: ignore


def expect_kept_all(result: object, count: int = 1) -> None:
    """Checks that this number of programs have kept all their promises."""
    kept = re.findall(rb"promises: [1-9]\d*, broken: 0\n", result.stdout)  # type: ignore[attr-defined]
    assert len(kept) == count, result.explain()  # type: ignore[attr-defined]


@pytest.mark.parametrize("cpus", [2, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_lock_wait_meet_and_move(kind: str, cpus: int, tacet: Run) -> None:
    expect_kept(expect_exit(tacet(f"threads.{kind}", cpus=cpus, options="ranks=1")))


def test_a_cpu_can_wait_in_each_way(idle: str, tacet: Run) -> None:
    # Two CPUs: those that poll take turns on the cores of the machine below.
    expect_kept(expect_exit(tacet("threads.glibc", cpus=2, options=f"ranks=1 idle={idle}")))


def test_each_rank_has_threads_on_cpus_of_its_own(tacet: Run) -> None:
    result = expect_exit(tacet("threads.glibc", cpus=8, memory="256M", options="ranks=2 prefix=rank"))
    assert result.stdout.count(b"broken: 0\n") == 2 and result.stderr == b"", result.explain()


def test_hardware_threads_are_cpus_of_their_core_s_rank(arch: str, tacet: Run) -> None:
    result = expect_exit(
        tacet("threads.glibc", options="ranks=2 prefix=rank", **hardware_threads(arch, 8, 4))
    )
    assert result.stdout.count(b"broken: 0\n") == 2 and result.stderr == b"", result.explain()


@pytest.mark.parametrize("kind", KINDS)
def test_a_thread_more_than_a_process_may_have_gets_eagain_every_time(kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"threads.{kind}", "bomb", "128", cpus=1, memory="256M"))
    expect_kept(result)
    refused = "wants more threads than 128, or has no memory left for one: clone answers EAGAIN"
    assert result.console.count(refused) == 1, result.explain()


@pytest.mark.parametrize(("how", "status"), [("fault", 139), ("exit", 7), ("leave", 9)])
def test_the_end_of_a_thread_may_be_the_end_of_all(how: str, status: int, tacet: Run) -> None:
    result = expect_exit(tacet("threads.musl", how, cpus=4, options="ranks=1"), status)
    assert ("ended by SIGSEGV" in result.console) == (how == "fault"), result.explain()


def test_another_rank_s_end_leaves_threads_alone(tacet: Run) -> None:
    result = expect_exit(tacet("threads.musl", "fault", cpus=8, memory="256M", options="ranks=2"), 139)
    assert result.console.count("ended by SIGSEGV") == 2, result.explain()


def test_an_unknown_way_to_wait_is_refused(arch: str, tacet: Run) -> None:
    ways = ", ".join(architectures.named(arch).idle)
    expect_stop(tacet("threads.musl", options="idle=never"), BAD_INPUT, f"idle=never: it can be {ways}")
