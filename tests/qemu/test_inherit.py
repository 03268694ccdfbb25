# SPDX-License-Identifier: BSD-2-Clause
"""Locks that inherit priority: their owner has the CPU when the threads that wait for it would have it."""

from __future__ import annotations

import pytest
from conftest import Run, expect_exit


def expect_kept(result: object, ranks: int = 1) -> None:
    assert result.stdout.count(b"broken: 0\n") == ranks, result.explain()  # type: ignore[attr-defined]
    assert result.stderr == b"", result.explain()  # type: ignore[attr-defined]


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("rotation", ["off", "10ms"])
def test_an_owner_runs_in_front_of_whom_its_waiter_would(rotation: str, cpus: int, tacet: Run) -> None:
    expect_kept(expect_exit(tacet("inherit.musl", cpus=cpus, options=f"ranks=1 rotation={rotation}")))


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_no_lock_is_lost_among_circles_times_and_signals(cpus: int, tacet: Run) -> None:
    expect_kept(expect_exit(tacet("inherit.musl", "storm", cpus=cpus, options="ranks=1")))


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_ranks_share_a_lock_that_inherits(kind: str, tacet: Run) -> None:
    expect_kept(expect_exit(tacet(f"inherit.{kind}", "shared", cpus=2, memory="256M")), 2)
