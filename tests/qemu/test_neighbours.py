# SPDX-License-Identifier: BSD-2-Clause
"""What one CPU does for long delays nobody else: each case measures a control in the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, expect_exit

from tests.making import ROOT, made


def expect_undisturbed(tacet: Run, case: str, cpus: int, ranks: int = 1, memory: str = "1G") -> None:
    result = expect_exit(
        tacet("neighbours.musl", case, cpus=cpus, memory=memory, options=f"ranks={ranks}", time_limit=120)
    )
    assert result.stdout.count(b", broken: 0\n") == ranks, result.explain()
    assert result.stderr == b"", result.explain()


def test_every_hole_costs_the_same_however_many_there_are(tacet: Run) -> None:
    expect_undisturbed(tacet, "holes", cpus=1, memory="512M")


def test_another_rank_opens_files_while_memory_is_mapped_and_files_are_made(tacet: Run) -> None:
    expect_undisturbed(tacet, "open", cpus=4, ranks=2)


def test_another_rank_closes_files_of_a_slice_that_is_being_mapped(tacet: Run) -> None:
    expect_undisturbed(tacet, "close", cpus=4, ranks=2)


def test_another_rank_reads_a_file_that_is_cut_and_zeroed(tacet: Run) -> None:
    expect_undisturbed(tacet, "shrink", cpus=4, ranks=2)


def test_whoever_works_long_serves_crosscalls(tacet: Run) -> None:
    expect_undisturbed(tacet, "serve", cpus=2)


def test_a_page_is_unmapped_beside_a_large_copy(tacet: Run) -> None:
    expect_undisturbed(tacet, "unmap", cpus=2)


@pytest.fixture(scope="module")
def checking_kernel() -> Path:
    """A kernel that faults where too much is done with a lock held that another rank may wait for."""
    made("kernel", "LOCKCHECK=1")
    return ROOT / "build" / "x86_64-lockcheck" / "tacet.elf"


@pytest.mark.parametrize(
    ("program", "cpus", "ranks"),
    [
        ("neighbours.musl open", 4, 2),
        ("neighbours.musl shrink", 4, 2),
        ("neighbours.musl serve", 2, 1),
        ("together.musl proc", 3, 1),
        ("shared_files.musl", 2, 2),
        ("ranks.musl lines", 4, 4),
        ("threads.musl", 4, 1),
        ("files.musl", 1, 1),
    ],
)
def test_little_is_done_with_a_lock_held_that_others_wait_for(
    program: str, cpus: int, ranks: int, checking_kernel: Path, tacet: Run
) -> None:
    name, *arguments = program.split()
    options = {"kernel": checking_kernel, "memory": "1G", "options": f"ranks={ranks}", "time_limit": 120}
    expect_exit(tacet(name, *arguments, cpus=cpus, **options))
