# SPDX-License-Identifier: BSD-2-Clause
"""What one CPU does for long delays nobody else: each case measures a control in the same run."""

from __future__ import annotations

from conftest import Run, expect_exit


def expect_undisturbed(tacet: Run, case: str, cpus: int, ranks: int = 1, memory: str = "1G") -> None:
    result = expect_exit(
        tacet("neighbours.musl", case, cpus=cpus, memory=memory, options=f"ranks={ranks}", time_limit=120)
    )
    assert result.stdout.count(b", broken: 0\n") == ranks, result.explain()
    assert result.stderr == b"", result.explain()


def test_every_hole_costs_the_same_however_many_there_are(tacet: Run) -> None:
    expect_undisturbed(tacet, "holes", cpus=1, memory="512M")
