# SPDX-License-Identifier: BSD-2-Clause
"""What one CPU does for long delays no other CPU: each case counts what another CPU does meanwhile, or
instructions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu
from tests.making import ROOT, made


def expect_undisturbed(
    tacet: Run, case: str, cpus: int, ranks: int = 1, memory: str = "1G", icount: int | None = None
) -> None:
    options = {"memory": memory, "options": f"ranks={ranks}", "time_limit": 120, "icount": icount}
    result = expect_exit(tacet("neighbours.musl", case, cpus=cpus, **options))
    assert result.stdout.count(b", broken: 0\n") == ranks, result.explain()
    assert result.stderr == b"", result.explain()


def test_every_hole_costs_the_same_however_many_there_are(arch: str, tacet: Run) -> None:
    """In pages, which are larger on POWER."""
    memory = {"x86_64": "512M", "ppc64": "4G"}[arch]
    expect_undisturbed(tacet, "holes", cpus=1, memory=memory, icount=0)


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


@pytest.fixture(scope="session")
def checking_kernel(arch: str) -> Path:
    """A kernel that faults if too much is done with a lock held that another rank may wait for."""
    made("kernel", "LOCKCHECK=1", f"ARCH={arch}")
    return ROOT / "build" / f"{arch}-lockcheck" / "tacet.elf"


#: Two pieces of 64 KiB and a page; steps.
LOCK_LIMITS = {"bytes": {"x86_64": 135168, "ppc64": 196608}, "steps": {"x86_64": 20480, "ppc64": 20480}}
#: With which a program orders it (tests/planted/faults.c).
LOCK_STATUSES = {"bytes": "103", "steps": "104"}


@pytest.mark.parametrize("kind", LOCK_LIMITS)
def test_too_much_with_a_lock_held_is_a_panic_that_names_the_lock(
    kind: str, arch: str, checking_kernel: Path, tacet: Run
) -> None:
    limit, status = LOCK_LIMITS[kind][arch], LOCK_STATUSES[kind]
    made(f"build/{arch}-lockcheck/planted.elf", "LOCKCHECK=1", f"ARCH={arch}")
    result = tacet("status.musl", status, kernel=checking_kernel.parent / "planted.elf")
    assert (result.outcome, result.status) == ("stop", 70), result.explain()
    named = r"with the lock &planted_lock \(tests/planted/faults\.c:\d+\) held: "
    amount = re.search(rf"(\d+) {kind} of at most {limit}", result.reason)
    assert re.match(named, result.reason) and amount and int(amount[1]) > limit, result.explain()
    assert "__wrap_sys_exit_group" in result.explain()  # the call chain, named


def expect_little_under_locks(result: qemu.Result) -> None:
    """What the kernel says that it has counted: something, and no more than its limits."""
    expect_exit(result)
    for kind in ("bytes", "steps"):
        line = rf"^tacet: locks: at most (\d+) {kind} of (\d+) with (.+) held\r?$"
        most = re.search(line, result.console, re.MULTILINE)
        assert most and 0 < int(most[1]) <= int(most[2]) and most[3] != "none", result.explain()


@pytest.mark.parametrize(
    ("program", "cpus", "ranks"),
    [
        ("neighbours.musl open", 4, 2),
        ("neighbours.musl shrink", 4, 2),
        ("neighbours.musl serve", 2, 1),
        ("neighbours.musl gap", 1, 1),
        ("neighbours.musl paths", 1, 1),
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
    expect_little_under_locks(tacet(name, *arguments, cpus=cpus, **options))


@pytest.mark.parametrize(
    ("seed", "cpus", "operations"), [(101, 4, 20), (102, 4, 20), (103, 4, 20), (104, 8, 3)]
)
def test_random_neighbours_never_bring_the_kernel_onto_the_core_of_ftq(
    seed: int, cpus: int, operations: int, tacet: Run
) -> None:
    expect_ftq_alone(tacet, seed, cpus, operations)


@pytest.mark.parametrize("seed", [101, 102, 103])
def test_random_neighbours_do_little_with_a_lock_held(seed: int, checking_kernel: Path, tacet: Run) -> None:
    expect_little_under_locks(expect_ftq_alone(tacet, seed, 4, 20, kernel=checking_kernel))


def expect_ftq_alone(tacet: Run, seed: int, cpus: int, operations: int, **more: object) -> qemu.Result:
    """No neighbour brings the kernel onto the core of FTQ."""
    words = ("random_neighbours.musl", str(seed), str(operations))
    options = {"memory": "1G", "options": "ranks=4", "time_limit": 120, **more}
    result = expect_exit(tacet(*words, cpus=cpus, **options))
    assert result.stdout.count(b", broken: 0\n") == 4, result.explain()
    counted = re.search(rb"^seed (\d+): (\d+) quanta, (\d+) kernel entries", result.stdout, re.MULTILINE)
    assert counted and (int(counted[1]), int(counted[3])) == (seed, 0), result.explain()
    assert int(counted[2]) > 1, result.explain()
    return result
