# SPDX-License-Identifier: BSD-2-Clause
"""The rows of docs/costs.md are those that the commands print now, with nearly the same digits: what Tacet
costs, and the lines of code. `make docs` puts new digits there. Linux's column is `make bench`'s, and not
measured here."""

from __future__ import annotations

import difflib
import re
from typing import Any

import pytest
from conftest import APPS, ROOT, expect_exit

from lab.bench import cores, programs, runner, sloc
from lab.bench.cost_figures import MAP_MIB, as_table, figures
from lab.bench.costs import CROWD_MACHINE_MIB, CROWD_OPTIONS, MAP_MACHINE_MIB, image_bytes, parse_cost
from lab.common.paths import KERNEL
from qemu import turns, version
from tests.documents.blocks import matches

#: What they measure is measured once.
pytestmark = pytest.mark.xdist_group("cost figures")

RUNS_MAX = 6  #: until two in a row agree

#: By what part of it a number of three digits and more may move until `make docs` has to renew the page.
NUMBER_DIFFERS = 0.02

COSTS = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")


def name_and_tacet(line: str) -> str:
    """The first two columns of a row; a name may begin with blanks."""
    found = re.match(r"( *\S+(?: \S+)*)\s{2,}(\S+)", line)
    return f"{found[1]}: {found[2]}" if found else line


def is_shown(shown: str, printed: str) -> bool:
    """Whether a row is what the page shows. A row with a bound (`< N`) is held to that by its measurement."""
    return matches([shown], f"{printed}\n", 1.0 if " < " in shown else NUMBER_DIFFERS)


def accept(shown: list[str], printed: list[str]) -> None:
    diff = difflib.unified_diff(shown, printed, "docs/costs.md shows", "printed", lineterm="", n=0)
    same = len(shown) == len(printed) and all(map(is_shown, shown, printed))
    assert same, "\n".join(["make docs renews the page", *diff])


def rows_shown(first: str, last: str) -> list[str]:
    """Lines of docs/costs.md from the one that begins with `first` to the one that begins with `last`."""
    lines = COSTS.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(first))
    end = next(number for number in range(begin, len(lines)) if lines[number].startswith(last))
    return lines[begin : end + 1]


def measure() -> dict[str, Any]:
    """What `make bench` measures of Tacet, in the same machines."""
    machines = runner.load()
    common: dict[str, Any] = {"icount": 0, "qemu": "newest", "time_limit": 600.0}

    def run(*args: str, **keywords: Any) -> Any:
        return expect_exit(
            machines.run_tacet(APPS / "cost", args, **{"memory": "256M", **common, **keywords})
        )

    def cost(*args: str, **keywords: Any) -> dict[str, int]:
        """What two runs in a row agree on: on a busy host QEMU takes one interrupt some instructions later
        in one of some dozens of runs, which shows in the latest of many sleeps."""
        seen = [parse_cost(run(*args, **keywords).stdout.decode()) for _ in range(2)]
        while seen[-1] != seen[-2] and len(seen) < RUNS_MAX:
            seen.append(parse_cost(run(*args, **keywords).stdout.decode()))
        return seen[-1]

    tacet = cost("-m", "256")
    timers = cost("-t", memory=f"{CROWD_MACHINE_MIB}M", options=CROWD_OPTIONS)
    # The table needs a column of Linux's, which is not checked here.
    linux = {**tacet, "memory_gone_bytes": 0}
    large = cost("-b", str(MAP_MIB), memory=f"{MAP_MACHINE_MIB}M")
    wake = cost("-w", cpus=2, options="ranks=1")["futex_wake_ticks_min"]
    share = cost("-s")
    return figures(
        {"tacet": tacet, "linux": linux, "linux_mitigations_off": linux},
        {"tacet": large, "linux": large},
        {"tacet": wake, "linux": wake},
        {"tacet": share, "linux": share},
        {"tacet": timers, "linux": timers},
        image_bytes(KERNEL),
    )


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    return measure()


def test_the_page_of_costs_shows_what_tacet_costs(measured: dict[str, Any]) -> None:
    shown = rows_shown("empty system call", "kernel image, stripped")
    printed = as_table(measured).splitlines()
    begin = next(number for number, line in enumerate(printed) if line.startswith("empty system call"))
    accept(*(list(map(name_and_tacet, rows)) for rows in (shown, printed[begin : begin + len(shown)])))


def test_the_page_of_costs_shows_the_lines_of_code() -> None:
    printed = [line.rstrip() for line in sloc.as_table(sloc.count(ROOT)).splitlines()]
    accept(rows_shown(printed[0], "all "), printed)


@pytest.mark.parametrize("app", list(programs.PROGRAMS))
def test_the_page_of_costs_shows_what_a_computing_loop_executes(app: str) -> None:
    machines = runner.load()
    args = [*programs.PROGRAMS[app], "-r", "20"]
    common: dict[str, Any] = {"memory": "256M", "qemu": "newest", "icount": 0, "time_limit": 120.0}
    ran = programs.values_of("Tacet", machines.run_tacet(APPS / app, args, **common))
    shown = rows_shown(f"{app}: instructions", "  of the mean one")
    names = (f"{app}: instructions of a repetition", "  of the mean one")
    printed = [f"{name}: {ran[key]:,}" for name, key in zip(names, ("least_ticks", "mean_ticks"))]
    accept(list(map(name_and_tacet, shown)), printed)


@pytest.mark.skipif(
    version.qemu_major(version.qemu_binary("newest")) < turns.QEMU_MAJOR,
    reason="QEMU 10 is not there (ports/qemu/fetch.sh build)",
)
def test_the_page_of_costs_shows_what_several_cpus_do() -> None:
    """Silence, wakes and timers on 2, 4 and 8 CPUs in bounded turns. What is latest depends on their turns:
    its bound is the row's aim."""
    found = {cpus: cores.measure(runner.load(), APPS, cpus, 300.0) for cpus in cores.CPUS}
    assert all(all(cores.held(figures).values()) for figures in found.values()), found
    printed = cores.as_table(found).splitlines()
    accept(rows_shown("Tacet    ", "  at least late"), [line.rstrip() for line in printed])


def test_make_bench_s_tables_have_the_shape_of_those_of_the_page() -> None:
    """`make bench` itself takes ten minutes. It prints these tables: bench, bench-programs, bench-cores."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nbench-ready:")[1].split("\n\n")[0]
    assert "$(LAB) bench --out" in recipe and "$(LAB) bench-programs --out" in recipe
    assert "$(LAB) bench-cores --out" in recipe
    rows = {name: programs.Figures(1, 1, 1, 1, {1: 0, 2: 0, 4: 0}) for name in programs.PROGRAMS}
    shown = rows_shown("stream: instructions", "Tacet    ")[:-2]
    printed = programs.as_table(rows).splitlines()[2:]
    accept(*([name_and_tacet(line).rpartition(":")[0] for line in lines] for lines in (shown, printed)))
