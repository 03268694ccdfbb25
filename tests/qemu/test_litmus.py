# SPDX-License-Identifier: BSD-2-Clause
"""Orders of memory on a node's CPUs, which QEMU runs side by side (tests/programs/litmus.c says what that can
show): with the barriers of the kernel's protocols no outcome that they forbid, and no lost wake-up. What is
allowed without them is reported, and not asked for: it depends on the machine below. What memory as weak as
POWER's may do is tried in all orders by tests/model/test_ordering.py."""

from __future__ import annotations

import re

from conftest import Run, expect_exit

SHAPES = ["mp", "sb", "lb", "iriw"]
WAYS = ["futex", "eventfd", "pipe"]


def odd_of(out: bytes) -> dict[str, tuple[int, int]]:
    found = re.findall(r"^(\w+) rounds (\d+) odd (\d+)$", out.decode(), re.MULTILINE)
    return {name: (int(rounds), int(odd)) for name, rounds, odd in found}


def test_barriers_forbid_what_they_should_and_no_wake_up_is_lost(tacet: Run) -> None:
    result = expect_exit(tacet("litmus.musl", "2000", cpus=4, options="ranks=1", time_limit=120))
    odd = odd_of(result.stdout)
    bare = [f"{name}_bare" for name in SHAPES]
    assert sorted(odd) == sorted([*SHAPES, *bare, *WAYS]), result.explain()
    assert all(odd[name] == (2000, 0) for name in SHAPES), result.explain()
    assert all(odd[name] == (200, 0) for name in WAYS), result.explain()


def test_a_cpu_that_holds_its_stores_back_is_noticed(tacet: Run) -> None:
    result = expect_exit(tacet("litmus.musl", "held", "500", cpus=4, options="ranks=1", time_limit=120), 1)
    assert odd_of(result.stdout) == {"sb_held": (500, 500)}, result.explain()
