# SPDX-License-Identifier: BSD-2-Clause
"""Descriptors of events on a node: between ranks, without a cost while no thread waits, and many of them.
test_conformance.py tries what each call answers."""

from __future__ import annotations

import pytest
from conftest import Run, expect_exit


def expect_kept(result: object, ranks: int = 1) -> None:
    assert result.stdout.count(b"broken: 0\n") == ranks, result.explain()  # type: ignore[attr-defined]


def test_a_rank_sees_files_signals_and_the_end_of_another(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("event_files.musl", "ranks", cpus=2, options="ranks=2")), ranks=2)


@pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
def test_a_timer_that_no_thread_waits_for_costs_no_interrupt_and_counts(
    icount: int | None, tacet: Run
) -> None:
    expect_kept(expect_exit(tacet("event_files.musl", "silent", cpus=1, icount=icount)))


def test_thousands_of_watches_and_sets_of_sets_stay_quick(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("event_files.musl", "many", cpus=1)))
