# SPDX-License-Identifier: BSD-2-Clause
"""Threads that make ordinary calls on the same few objects, which are closed and made again meanwhile, leave
the kernel alive (tests/programs/collide.c). Longer, by hand: make fuzz-collide MINUTES=60; which faults that
finds: tests/mutations/find.py."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from conftest import ROOT, program

import qemu

sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "tests" / "mutations")]

import collide
import find as mutations

#: Of each thread.
CALLS = 150
#: Seeds differ so that each family meets another number of threads and CPUs.
SEEDS = {family: 20 + number for number, family in enumerate(collide.FAMILIES)}


@pytest.mark.parametrize("family", SEEDS)
def test_threads_that_collide_leave_the_kernel_alive(family: str, arch: str) -> None:
    program("collide.glibc", arch)
    # QEMU's POWER machine cannot run its CPUs by turns, and a file server runs outside the machine
    is_exact = arch == "x86_64" and family != "mounts"
    result = collide.run(SEEDS[family], family, 0, arch=arch, icount=is_exact, calls=CALLS)
    assert not collide.harm(result), f"{collide.harm(result)}\n{result.explain()}"
    made = [tuple(map(int, one)) for one in re.findall(rb": (\d+) calls, (\d+) succeeded", result.stdout)]
    assert sum(calls for calls, _ in made) >= 4 * CALLS, made
    assert all(succeeded >= calls // 10 for calls, succeeded in made), made


def test_one_seed_is_one_order_of_all_that_happens() -> None:
    program("collide.glibc")
    said = [collide.run(3, "inet", 0, icount=True, calls=CALLS) for _ in range(2)]
    assert not collide.harm(said[0]), said[0].explain()
    assert said[0].stdout == said[1].stdout and b"inet: " in said[0].stdout


@pytest.mark.parametrize(
    ("outcome", "status", "said"),
    [("stop", None, b""), ("timeout", None, b""), ("exit", 139, b""), ("exit", 0, b"nothing\n")],
)
def test_harm_is_seen(outcome: str, status: int | None, said: bytes) -> None:
    assert collide.harm(qemu.Result(status, outcome, "", "", said, b""))
    assert not collide.harm(qemu.Result(0, "exit", "", "", b"inet: 9 calls, 1 succeeded\n", b""))


def test_each_mutation_says_what_it_is_and_fits_the_tree() -> None:
    """Ten of the project's own faults, and ten others."""
    all_of_them = mutations.all_mutations()
    kinds = [one.kind for one in all_of_them]
    assert kinds.count("a fix reverted") == kinds.count("a new race") == 10
    for one in all_of_them:
        check = ["git", "apply", "--check", str(mutations.HERE / f"{one.name}.patch")]
        done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{one.name}: {done.stderr}"
        assert one.family in collide.FAMILIES
