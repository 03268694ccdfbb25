# SPDX-License-Identifier: BSD-2-Clause
"""The address space at its edges: odd arguments, no memory left, a program that takes away what it stands
on."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit, memory_of, own_errors


def expect_kept(result, least: int = 3) -> None:
    expect_exit(result)
    kept = re.search(rb"promises: (\d+), broken: 0\n", result.stdout)
    assert kept and int(kept[1]) >= least, result.explain()
    assert own_errors(result) == b"", result.explain()


def test_memory_calls_answer_at_every_bound_of_a_program_s_addresses(tacet: Run) -> None:
    expect_kept(tacet("spaces.musl", "bounds"), 1000)


def test_memory_calls_answer_as_linux_s(tacet: Run) -> None:
    expect_kept(tacet("spaces.musl", "calls"), 30)


@pytest.mark.parametrize("case", ["arenas", "stacks", "fragments"])
def test_memory_that_was_in_use_comes_back(case: str, tacet: Run) -> None:
    expect_kept(tacet("supply.musl", case, time_limit=120))


def test_whoever_takes_all_memory_harms_neither_itself_nor_others(tacet: Run) -> None:
    expect_kept(tacet("supply.musl", "bomb", time_limit=120))
    result = expect_exit(tacet("supply.musl", "bomb", cpus=2, time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 2, result.explain()


def test_a_program_that_touches_all_its_memory_takes_no_page_fault(tacet: Run) -> None:
    expect_kept(tacet("supply.musl", "touch"), 2)


@pytest.mark.parametrize(("cpus", "ranks"), [(2, 1), (4, 1), (4, 2)])
def test_several_cpus_change_an_address_space_at_the_same_time(cpus: int, ranks: int, tacet: Run) -> None:
    threads = cpus // ranks
    result = expect_exit(
        tacet("churn.musl", str(threads), "120", cpus=cpus, options=f"ranks={ranks}", time_limit=180)
    )
    assert result.stdout.count(b", broken: 0\n") == ranks, result.explain()
    assert own_errors(result) == b"", result.explain()


@pytest.mark.parametrize(
    ("case", "cause"),
    [
        ("unmap-stack", "to where nothing is mapped|of where nothing is mapped"),
        ("unmap-text", "jump to where nothing is mapped"),
        ("protect-text", "jump to"),
    ],
)
def test_a_rank_that_takes_away_what_it_stands_on_is_reported_and_others_go_on(
    case: str, cause: str, tacet: Run
) -> None:
    result = expect_exit(tacet("spaces.musl", case, cpus=2), 128 + 11)
    assert re.search(rf"rank 0 .* ended by SIGSEGV: .*({cause})", result.console), result.explain()
    assert result.stdout.count(b", broken: 0\n") == 1, result.explain()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_that_map_a_file_see_each_other_s_writes(ranks: int, tacet: Run) -> None:
    result = expect_exit(tacet("shared_maps.musl", cpus=ranks, memory="256M"))
    assert result.stdout.count(b"broken: 0\n") == ranks and result.stderr == b"", result.explain()


def test_the_page_behind_a_mapped_file_s_end_is_a_bus_error(tacet: Run) -> None:
    result = expect_exit(tacet("shared_maps.musl", "touch"), 135)
    assert (
        "ended by SIGBUS" in result.console
        and "a file is mapped there that ends before this address" in result.console
    ), result.explain()


def test_ranks_that_map_a_file_far_beyond_its_end_see_it_grow_without_a_fault(tacet: Run) -> None:
    result = expect_exit(tacet("growing.musl", cpus=2, memory="256M"))
    assert result.stdout.count(b"broken: 0\n") == 2 and result.stderr == b"", result.explain()


def test_a_rank_without_memory_for_the_tables_of_a_file_that_grows_is_told(arch: str, tacet: Run) -> None:
    result = expect_exit(tacet("growing.musl", "full", cpus=2, memory="256M"))
    assert result.stdout.count(b"broken: 0\n") == 2, result.explain()
    lines = re.findall(
        r"rank 1 .*: SIGBUS at 0x\w+: .* has grown, .* no memory for page tables", result.console
    )
    assert len(lines) == (arch == "x86_64"), result.explain()  # POWER's small tables share pages
    assert result.console.count("SIGBUS") == len(lines), result.explain()


def test_nested_functions_run_on_stacks_and_nothing_else_is_written_and_executed(tacet: Run) -> None:
    assert own_errors(expect_exit(tacet("nested.glibc", cpus=2, memory="256M"))) == b""


#: A way of asking for more than the 128 MiB of a node, or POWER's 256, and what is named: the first refusal
#: alone.
REFUSALS = {
    "mmap": "mmap of 512",
    "mremap": "mremap to 512",
    "mprotect": "mprotect of 512",
    "brk": "brk by 512",
    "reserve": f"mmap of {120 << 20}",  # all of a program's addresses but 8 TiB
    "probe": "mmap of 1024",
}


def mib_of(text: str, arch: str) -> int:
    return int(memory_of(text, arch).removesuffix("M"))


def refusals(console: str) -> list[re.Match[str]]:
    """The lines on memory that was refused: rank, call and MiB, free MiB."""
    line = re.compile(
        r"^tacet: rank (\d+) \(refusals.musl\): (m?\w+ \w\w \d+) MiB refused, (\d+) MiB free; "
        r"give the node more memory, or run fewer ranks\r?$",
        re.MULTILINE,
    )
    found = list(line.finditer(console))
    assert console.count("refused") == len(found), console
    return found


@pytest.mark.parametrize("way", REFUSALS)
def test_memory_that_is_refused_is_named_once_with_how_much_is_free(way: str, arch: str, tacet: Run) -> None:
    result = tacet("refusals.musl", way, memory="128M")
    expect_kept(result, 2)
    (line,) = refusals(result.console)
    assert line[2] == REFUSALS[way] and 0.6 < int(line[3]) / mib_of("128M", arch) < 1, result.explain()


def test_a_program_that_takes_page_after_page_is_told_at_the_last(tacet: Run) -> None:
    result = tacet("refusals.musl", "full", memory="128M")
    expect_kept(result, 2)
    (line,) = refusals(result.console)
    assert line.group(2, 3) == ("mmap of 1", "0"), result.explain()


def test_each_rank_is_told_what_it_lacks(arch: str, tacet: Run) -> None:
    result = expect_exit(tacet("refusals.musl", "mmap", cpus=2, memory="128M"))
    lines = refusals(result.console)
    assert sorted(line[1] for line in lines) == ["0", "1"], result.explain()
    assert all(0.23 < int(line[3]) / mib_of("128M", arch) < 0.5 for line in lines), result.explain()


def test_addresses_that_no_memory_can_help_are_not_named_as_lack_of_it(tacet: Run) -> None:
    result = tacet("refusals.musl", "nowhere")
    expect_kept(result, 3)
    assert refusals(result.console) == [], result.explain()
