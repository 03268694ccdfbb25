# SPDX-License-Identifier: BSD-2-Clause
"""The digits in README.md are those that the commands print now: what Tacet costs, row by row, and the lines
of code. Linux's column is `make bench`'s, and not measured here."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import APPS, ROOT, expect_exit

from lab.bench import programs, runner, sloc
from lab.bench.cost_figures import MAP_MIB, as_table, figures
from lab.bench.costs import MAP_MACHINE_MIB, image_bytes, parse_cost, parse_selftest
from lab.common.paths import KERNEL

README = (ROOT / "README.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.rstrip())


def readme_rows(first: str, last: str) -> list[str]:
    """Lines of README.md from the one that begins with `first` to the one that begins with `last`."""
    lines = README.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(first))
    end = next(number for number in range(begin, len(lines)) if lines[number].startswith(last))
    return lines[begin : end + 1]


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """What `make bench` measures of Tacet, in the same machines."""
    machines = runner.load()
    common: dict[str, Any] = {"icount": 0, "qemu": "newest", "time_limit": 600.0}

    def run(*args: str, **keywords: Any) -> Any:
        return expect_exit(
            machines.run_tacet(APPS / "cost", args, **{"memory": "256M", **common, **keywords})
        )

    def cost(*args: str, **keywords: Any) -> dict[str, int]:
        return parse_cost(run(*args, **keywords).stdout.decode())

    tacet = cost("-m", "256")
    timers = machines.run_tacet(APPS / "cost", [], memory="256M", options="selftest=timers", **common)
    # The table wants a column of Linux's; nobody looks at it here.
    linux = {**tacet, "memory_gone_bytes": 0}
    large = cost("-b", str(MAP_MIB), memory=f"{MAP_MACHINE_MIB}M")
    wake = cost("-w", cpus=2, options="ranks=1")["futex_wake_ticks_min"]
    return figures(
        {"tacet": tacet, "linux": linux, "linux_mitigations_off": linux},
        {"tacet": large, "linux": large},
        {"tacet": wake, "linux": wake},
        parse_selftest(timers.console.replace("\r", "")),
        image_bytes(KERNEL),
    )


def test_the_readme_shows_what_tacet_costs(measured: dict[str, Any]) -> None:
    shown = [cells(line)[:2] for line in readme_rows("empty system call", "kernel image, stripped")]
    now = [cells(line)[:2] for line in as_table(measured).splitlines()]
    begin = next(number for number, row in enumerate(now) if row[0].startswith("empty system call"))
    assert shown == now[begin : begin + len(shown)]


def test_the_readme_shows_the_lines_of_code() -> None:
    printed = "\n".join(line.rstrip() for line in sloc.as_table(sloc.count(ROOT)).splitlines())
    shown = "\n".join(readme_rows(printed.splitlines()[0], "all "))
    assert shown == printed


@pytest.mark.parametrize("app", list(programs.PROGRAMS))
def test_the_readme_shows_what_a_computing_loop_executes(app: str) -> None:
    machines = runner.load()
    args = [*programs.PROGRAMS[app], "-r", "20"]
    common: dict[str, Any] = {"memory": "256M", "qemu": "newest", "icount": 0, "time_limit": 120.0}
    ran = programs.values_of("Tacet", machines.run_tacet(APPS / app, args, **common))
    least, mean = (cells(line) for line in readme_rows(f"{app}: instructions", "  of the mean one"))
    # Columns: name, Tacet …; the second row's name begins with blanks.
    assert least[1] == f"{ran['least_ticks']:,}", (least, ran)
    assert mean[2] == f"{ran['mean_ticks']:,}", (mean, ran)


def test_make_bench_s_tables_have_the_shape_of_the_readme_s() -> None:
    """`make bench` itself takes ten minutes. It prints these tables: bench, bench-programs."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nbench-ready:")[1].split("\n\n")[0]
    assert "$(LAB) bench --out" in recipe and "$(LAB) bench-programs --out" in recipe
    rows = {name: programs.Figures(1, 1, 1, 1, {1: 0, 2: 0, 4: 0}) for name in programs.PROGRAMS}
    printed = [cells(line)[0] for line in programs.as_table(rows).splitlines()]
    shown = [cells(line)[0] for line in readme_rows("stream: instructions", "dgemm: instructions")[:-1]]
    shown += [cells(line)[0] for line in readme_rows("dgemm: instructions", "```")[:-1]]
    assert shown == printed[2:]
