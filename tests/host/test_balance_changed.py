# SPDX-License-Identifier: BSD-2-Clause
"""The test of the balancer (test_balance.c) notices a heuristic or a model that is wrong: each change below
is made to a copy, and the test must fail."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BALANCER = "apps/balance"

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


def fails(folder: Path, number: int) -> bool:
    """Whether the test fails with that change; all of it in a folder of its own."""
    own = folder / str(number)
    shutil.copytree(ROOT / BALANCER, own)
    name, before, after = CHANGES[number]
    path = own / name
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{name} has {text.count(before)} times: {before}"
    path.write_text(text.replace(before, after), encoding="utf-8")
    command = [
        "gcc",
        "-std=gnu11",
        "-O1",
        "-iquote",
        str(own),
        "-iquote",
        "tests/host",
        "-o",
        str(own / "test"),
    ]
    command += ["tests/host/test_balance.c", str(own / "heuristic.c"), str(own / "model.c"), "-lm"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    ended = subprocess.run([own / "test"], capture_output=True, timeout=120)
    return ended.returncode != 0


def test_a_heuristic_that_is_wrong_fails_its_test(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda number: fails(tmp_path, number), range(len(CHANGES))))
    unnoticed = [CHANGES[number] for number, noticed in enumerate(found) if not noticed]
    assert not unnoticed
