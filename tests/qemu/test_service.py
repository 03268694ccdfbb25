# SPDX-License-Identifier: BSD-2-Clause
"""A service next to the ranks (`service=`): it works in their wait phases and on their idle CPUs, and
disturbs no rank that computes [Betti09 §IV, Fig. 4]; its end is its own."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit
from test_bad_input import BAD_INPUT, expect_stop
from test_threads import expect_kept_all

import qemu

DAEMON = ["apps/daemon"]


def counted(result: qemu.Result, key: str) -> int:
    found = re.search(rf"^{key}: (\d+)", result.stderr.decode(), re.MULTILINE)
    assert found, result.explain()
    return int(found[1])


def test_ftq_beside_a_daemon_is_silent_if_that_is_idle_and_disturbed_if_not(tacet: Run) -> None:
    entries, disturbed = {}, {}
    for policy in ("idle", "other"):
        result = expect_exit(
            tacet("apps/ftq", "-n", "500", "-s", service=DAEMON, icount=0, options=f"service_policy={policy}")
        )
        entries[policy] = counted(result, "kernel_entries")
        disturbed[policy] = counted(result, "disturbed_quanta")
    assert (entries["idle"], disturbed["idle"]) == (0, 0)
    assert entries["other"] > 10 and disturbed["other"] > 10, (entries, disturbed)


@pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
def test_a_service_works_in_wait_phases_only(icount: int | None, tacet: Run) -> None:
    expect_kept_all(expect_exit(tacet("service.musl", "phases", "10", service=DAEMON, icount=icount)))


def test_a_service_has_the_cpus_of_ranks_that_wait(tacet: Run) -> None:
    expect_kept_all(expect_exit(tacet("service.musl", "neighbour", service=DAEMON, cpus=2)), 2)


def test_a_service_of_another_policy_takes_turns_and_is_announced(tacet: Run) -> None:
    # It samples whether the service is queued, so the order of its steps is to be the same each time.
    other = {"service": DAEMON, "options": "service_policy=other"}
    expect_kept_all(expect_exit(tacet("service.musl", "alone", icount=0, **other)))


@pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
def test_a_rank_sees_how_long_it_runs_and_waits_in_an_iteration(icount: int | None, tacet: Run) -> None:
    expect_kept_all(expect_exit(tacet("service.musl", "iterations", icount=icount)))


def test_the_end_of_a_service_is_not_the_rank_s(tacet: Run) -> None:
    result = expect_exit(tacet("service.musl", "after", service=[*DAEMON, "-x"], cpus=2, options="ranks=1"))
    expect_kept_all(result)
    assert "the service ended with status 2" in result.console, result.explain()


def test_a_service_that_crashes_is_named(tacet: Run) -> None:
    crashing = ["status.musl", "0", "11"]
    result = expect_exit(tacet("service.musl", "after", service=crashing, cpus=2, options="ranks=1"))
    expect_kept_all(result)
    assert "service (status.musl) ended by SIGSEGV" in result.console, result.explain()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("service=/none", r"service=/none: there is no such file in the initrd"),
        ("service=/tmp", r"service=/tmp is not a file"),
        ("service=", r"service= wants a program"),
        ('service="   "', r"service= wants a program"),
        (f'service="{"a " * 17}"', r"service= wants a program and at most 15 arguments"),
        (f"service=/{'a' * 300}", r"service= has more than 255 characters"),
        ("service=/init service_memory=1K", r"option service_memory: '1K' is not a size"),
        ("service=/init service_policy=fifo", r"service_policy=fifo: it can be idle, other"),
    ],
)
def test_a_service_that_cannot_be_is_refused_by_name(options: str, reason: str, tacet: Run) -> None:
    expect_stop(tacet("service.musl", options=options), BAD_INPUT, reason)
