# SPDX-License-Identifier: BSD-2-Clause
"""Sockets of AF_UNIX between ranks (tests/programs/sockets.c). What a rank says to itself is in the
conformance tests unix_*."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit


def expect_kept(tacet: Run, case: str, *, ranks: int = 2, cpus: int = 2) -> None:
    result = expect_exit(
        tacet(
            "sockets.musl",
            case,
            str(ranks),
            cpus=cpus,
            memory="256M",
            options=f"ranks={ranks}",
            time_limit=60,
        )
    )
    said = re.findall(rb"promises: (\d+), broken: 0\n", result.stdout)
    assert len(said) == ranks and all(int(kept) > 1 for kept in said), result.explain()


def test_bytes_between_ranks_arrive_whole_and_in_order(tacet: Run) -> None:
    """By a path and by an abstract name, with several threads."""
    expect_kept(tacet, "stream", ranks=3, cpus=3)


def test_files_pipes_and_sockets_go_to_another_rank_and_outlive_their_owner(tacet: Run) -> None:
    """With one offset, and threads that wait at either end are woken."""
    expect_kept(tacet, "rights")


def test_a_rank_that_never_reads_costs_its_memory_to_nobody(tacet: Run) -> None:
    """Neither to itself nor to others: the sender waits, and uses up its own memory at most."""
    expect_kept(tacet, "never")


def test_a_rank_that_leaks_sockets_harms_itself_alone(tacet: Run) -> None:
    """Files in circles of sockets are closed at the latest when it ends."""
    expect_kept(tacet, "leak")


@pytest.mark.parametrize("cpus", [2, 4])
def test_whoever_waits_at_a_socket_is_woken_in_whatever_rank(cpus: int, tacet: Run) -> None:
    expect_kept(tacet, "wait", cpus=cpus)
