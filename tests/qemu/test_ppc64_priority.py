# SPDX-License-Identifier: BSD-2-Clause
"""Hardware priorities of threads [Betti09 §IV]: on POWER the kernel keeps each thread's, sets those for which
a program has no instruction, and shows all of them; the balancer sets them; on x86_64 both say that there are
none. What a priority does to the speed of a core's threads, no emulator shows (docs/balancer.md): there a
modelled job sleeps for as long as the model says it would run with the priorities that the kernel shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit, hardware_threads
from pseries import EXACT, command, compiled, ended

from tests.making import ROOT, made

PROGRAM = ROOT / "tests" / "programs" / "ppc64_priority.c"
pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(120, 300)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("priority") / "program", PROGRAM)


@pytest.fixture(scope="module")
def balance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = ROOT / "apps" / "lib"
    sources = [*(ROOT / "apps" / "balance").glob("*.c"), library / "affinity.c", library / "parse.c"]
    return compiled(
        tmp_path_factory.mktemp("balance") / "balance",
        "-I",
        library,
        "-I",
        ROOT / "apps" / "balance",
        *sources,
    )


def run(program: Path, words: str, *options: str) -> tuple[str, int]:
    end = ended(command(program, words, *options))
    return end.console, end.status


def test_a_call_and_a_sleep_leave_a_thread_its_priority(program: Path) -> None:
    console, status = run(program, "-- kept")
    assert status == 0, console


def test_threads_of_one_cpu_keep_each_its_own(program: Path) -> None:
    console, status = run(program, "threads=4 -- threads")
    assert status == 0, console


def test_the_kernel_sets_what_a_program_may_not_and_shows_it(program: Path) -> None:
    console, status = run(program, "-- asked")
    assert status == 0, console
    assert re.findall(r"^rank 0 thread \d+ cpu 0 priority (\d)$", console, re.MULTILINE) == ["6", "2"]


def test_a_machine_without_priorities_says_so(tacet: Run, busybox: Path) -> None:
    script = "read said <F; echo $said; for i in 1 2; do echo 5 >F; done; echo end $?"
    script = script.replace("F", "/proc/tacet/priorities")
    result = expect_exit(tacet(busybox, "sh", "-c", script))
    assert result.stdout == b"hardware priorities: none\nend 1\n", result.explain()
    assert result.stderr.count(b"Operation not supported") == 2, result.explain()
    assert result.console.count("this machine's CPUs have no hardware priorities") == 1, result.explain()


def priorities(console: str) -> list[str]:
    """Those of both ranks in each iteration, as the kernel showed them."""
    return re.findall(r"^iteration \d+ priorities (\d \d) ", console, re.MULTILINE)


# Of one CPU, on which both ranks take turns: QEMU's pseries has no hardware threads under TCG.
@pytest.mark.parametrize(
    ("works", "found"),
    [
        ("30ms,10ms", ["4 4", *["5 4"] * 7]),
        ("10ms,30ms", ["4 4", *["4 5"] * 7]),
        ("70ms,10ms", ["4 4", "5 4", *["6 4"] * 6]),
        ("16ms,10ms", ["4 4", "5 4", *["4 4"] * 6]),  # a step that does not help is undone
        ("10ms,10ms", ["4 4"] * 8),
    ],
)
def test_the_balancer_s_priorities_are_those_that_the_kernel_shows(
    balance: Path, works: str, found: list[str]
) -> None:
    words = f"job --works {works} --iterations 8 --modelled"
    console, status = run(balance, f"ranks=1 threads=4 -- {words}", *EXACT)
    assert status == 0 and priorities(console) == found, console


def test_an_iteration_is_shorter_once_it_is_balanced(balance: Path) -> None:
    console, status = run(balance, "ranks=1 threads=4 -- job --works 30ms,10ms --modelled", *EXACT)
    assert status == 0, console
    lengths = [max(map(int, pair)) for pair in re.findall(r"running_us (\d+) (\d+)", console)]
    assert 60_000 <= lengths[0] < 61_000 and all(40_000 <= length < 41_000 for length in lengths[1:]), console


def test_the_balancer_says_where_there_are_no_priorities(tacet: Run) -> None:
    made("build/x86_64/apps/balance")
    words = ("job", "--works", "3ms,1ms", "--iterations", "3", "--yield")
    result = expect_exit(tacet(ROOT / "build/x86_64/apps/balance", *words, cpus=2, options="ranks=1"))
    assert priorities(result.stdout.decode()) == ["0 0"] * 3, result.explain()
    assert result.stdout.endswith(b"nothing was balanced.\n"), result.explain()


def test_ranks_of_one_core_meet_whatever_process_they_are(arch: str, tacet: Run) -> None:
    result = expect_exit(
        tacet("balance_ranks.musl", icount=0, options="ranks=2", **hardware_threads(arch, 2, 1))
    )
    assert result.stdout.count(b"broken: 0\n") == 2 and result.stderr == b"", result.explain()
