# SPDX-License-Identifier: BSD-2-Clause
"""The test of the balancer (test_balance.c) notices a heuristic or a model that is wrong: each change below
is made to a copy, and the test must fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from changed_source import ChangedSource

#: What all cases need is compiled once.
pytestmark = pytest.mark.xdist_group("balance changed")

SOURCES = ChangedSource(
    test="tests/host/test_balance.c",
    folder="apps/balance",
    gcc=("gcc", "-std=gnu11", "-O1"),
    includes=("tests/host",),
)

#: File, what stands there, and what stands there instead.
CHANGES = [
    # The wrong rank gets more; it never comes back; it comes back for ever; it goes on, whatever it costs.
    ("heuristic.c", "step(busiest, idlest, rules);", "step(idlest, busiest, rules);"),
    ("heuristic.c", "        step_undo(core);\n", ""),
    ("heuristic.c", "        core->settled = true;\n", ""),
    ("heuristic.c", "if (core->tries && !has_helped(core, rules))", "if (false)"),
    # A step counts as good that has brought nothing; every one counts as bad.
    ("heuristic.c", "length_ns(core) <= before_ns - before_ns / 1000 * rules->gain", "true"),
    ("heuristic.c", "length_ns(core) <= before_ns - before_ns / 1000 * rules->gain", "false"),
    # Thresholds.
    ("heuristic.c", "utilisation(idlest, rules) < rules->low &&", "true &&"),
    ("heuristic.c", "utilisation(busiest, rules) >= rules->high &&", ""),
    ("heuristic.c", ".low = 650", ".low = 849"),
    ("heuristic.c", ".gain = 20", ".gain = 400"),
    ("heuristic.c", ".highest = 6", ".highest = 4"),
    # Limits.
    ("heuristic.c", "if (more->priority < rules->highest)", "if (true)"),
    ("heuristic.c", "else if (less->priority > rules->lowest)", "else if (false)"),
    # What is remembered.
    ("heuristic.c", "if (core->settled && !behaves_otherwise(core, rules))", "if (core->settled)"),
    ("heuristic.c", "        core->priority_before[i] = sibling->priority;\n", ""),
    ("heuristic.c", "        core->running_before_ns[i] = sibling->last.running_ns;\n", ""),
    # Figures.
    ("heuristic.c", "times.running_ns + times.waiting_ns;", "times.running_ns + 1;"),
    ("heuristic.c", "    sibling->sum.waiting_ns += times.waiting_ns;\n", ""),
    (
        "heuristic.c",
        "balance_utilisation(sibling->sum) * rules->history",
        "balance_utilisation(sibling->sum)",
    ),
    # The model.
    ("model.c", "2U << apart", "2U << (2 * apart)"),
    ("model.c", "share < model->need ? share / model->need : 1.0", "share"),
    ("model.c", "if (!model->yields)", "if (true)"),
]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return SOURCES.objects(("heuristic.c", "model.c"), tmp_path_factory.mktemp("balance"))


@pytest.mark.parametrize(
    ("name", "before", "after"), CHANGES, ids=[f"{name} {i}" for i, (name, *_) in enumerate(CHANGES)]
)
def test_a_heuristic_that_is_wrong_fails_its_test(
    name: str, before: str, after: str, unchanged: dict[str, Path], tmp_path: Path
) -> None:
    assert SOURCES.fails(unchanged, name, before, after, tmp_path)
