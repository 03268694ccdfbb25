# SPDX-License-Identifier: BSD-2-Clause
"""tests/mutants.py changes code and nothing else, and draws the same mutants each time."""

from __future__ import annotations

from tests import mutants

SOURCE = """\
/* a < b */
#define A 1
int f(int a)
{
    /* 1 + 1
     * a < 1 */
    if (a < 1)
        log("1 < 2");
    return a;
}
"""


def test_only_code_is_changed() -> None:
    found = mutants.candidates("kernel/x/", "kernel/x/a.c", SOURCE)
    assert {(one.line, one.after) for one in found} == {
        (7, "    if (a <= 1)"),
        (7, "    if (a < 2)"),
        (9, "    return 0;"),
    }


def test_a_seed_draws_the_same_mutants_of_every_room() -> None:
    first = mutants.drawn(1)
    assert first == mutants.drawn(1) and set(first) == set(mutants.ROOMS)
    assert all(len(found) > mutants.EACH for found in first.values())
    assert first != mutants.drawn(2)
