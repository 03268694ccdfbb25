# SPDX-License-Identifier: BSD-2-Clause
"""Ranks of a node share objects of System V, POSIX queues and FIFOs; what a rank has taken with SEM_UNDO is
given back when it ends."""

from __future__ import annotations

import pytest
from conftest import Run, expect_exit


@pytest.mark.parametrize("end", ["exit", pytest.param("kill", marks=pytest.mark.long)])
def test_ranks_share_objects_and_outlive_one_that_ends(tacet: Run, end: str) -> None:
    result = tacet("ipc_ranks.glibc", end, cpus=3, memory="256M", options="ranks=3")
    expect_exit(result, 137 if end == "kill" else 0)
    kept = result.stdout.count(b"broken: 0\n")
    assert kept == (2 if end == "kill" else 3), result.explain()
