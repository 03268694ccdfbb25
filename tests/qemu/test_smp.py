# SPDX-License-Identifier: BSD-2-Clause
"""Several CPUs, a rank each: each runs on a CPU and in memory of its own, and the end of one is not the end
of the others."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from conftest import Run, expect_exit, hardware_threads
from monitor import Monitor
from witness import symbols

import qemu
from debugger import Debugger
from lab.bench.cost_figures import MEMORY_BELOW
from lab.bench.costs import parse_cost

BAD_INPUT = 64
SEGMENTATION_FAULT = 128 + 11

CLOCKS = pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
CPUS = pytest.mark.parametrize("cpus", [1, 2, 3, 4, 8])

_RANK = re.compile(r"rank (\d+) of (\d+) cpu (\d+) apic (\d+) pid (\d+) sum ([0-9a-f]+)")


def ranks_reported(result: qemu.Result) -> list[tuple[int, ...]]:
    """What `ranks own` has printed: (rank, size, CPU, APIC id, pid, sum), in the order of the ranks."""
    lines = result.stdout.decode().splitlines()
    found = [_RANK.fullmatch(line) for line in lines]
    assert all(found), result.explain() + f"\n{lines}"
    return sorted(
        (*(int(number) for number in match.groups()[:5]), int(match[6], 16)) for match in found if match
    )


def expect_stop(result: qemu.Result, reason: str) -> None:
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    assert re.search(reason, result.reason), result.explain()


@CLOCKS
@CPUS
def test_every_rank_runs_on_its_own_cpu_in_its_own_memory(cpus: int, icount: int | None, tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "own", cpus=cpus, icount=icount, memory="256M", time_limit=120))
    reported = ranks_reported(result)
    assert [rank for rank, *_ in reported] == list(range(cpus)), result.explain()
    assert all(size == cpus and cpu == rank and pid == rank + 1 for rank, size, cpu, _, pid, _ in reported), (
        result.explain()
    )
    assert len({apic for _, _, _, apic, _, _ in reported}) == cpus, result.explain()
    assert len({total for *_, total in reported}) == cpus, result.explain()


@pytest.mark.parametrize("cpus", [2, 4])
def test_a_newer_qemu_runs_them_in_x2apic_mode(cpus: int, tacet: Run) -> None:
    if qemu.qemu_major(qemu.qemu_binary("newest")) < 10:
        pytest.skip("no QEMU 10 here (make qemu10)")
    # Under icount the runner leaves the x2APIC away, for QEMU 10.0 has a fault there.
    for icount, mode in ((None, "x2APIC"), (0, "xAPIC")):
        result = expect_exit(
            tacet("ranks.musl", "own", cpus=cpus, icount=icount, memory="256M", qemu="newest")
        )
        assert (
            len(ranks_reported(result)) == cpus
            and f"cpus: {cpus} run, local interrupts by {mode}\r" in result.console
        ), result.explain()


def test_without_x2apic_the_memory_mapped_one_serves(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "own", cpus=2, memory="256M", qemu="newest", cpu="max,-x2apic"))
    assert len(ranks_reported(result)) == 2 and "local interrupts by xAPIC" in result.console, (
        result.explain()
    )


def test_more_cpus_than_bits_of_a_word_run_a_rank_each(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "exit:0", cpus=80, memory="2G", time_limit=180))
    assert result.stdout.count(b"of 80 cpu") == 80 and "cpus: 80 run" in result.console, result.explain()


def test_more_cpus_than_bits_of_a_word_run_a_rank_s_threads(tacet: Run) -> None:
    result = expect_exit(tacet("many.musl", "80", cpus=80, memory="1G", options="ranks=1", time_limit=180))
    lines = sorted(result.stdout.splitlines()[:-1])
    assert lines == sorted(b"on CPU %d" % cpu for cpu in range(80)), result.explain()
    assert "cpus: 80 run" in result.console and b"broken: 0" in result.stdout, result.explain()


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "options", "memory", "seen"),
    [
        (("many.musl", "300", "apart"), "ranks=1", "2G", b"broken: 0"),
        (("ranks.musl", "exit:0"), "", "6G", b"rank 299 of 300 cpu 299"),
    ],
    ids=["threads", "ranks"],
)
def test_cpus_that_only_an_x2apic_reaches_run(
    program: tuple[str, ...], options: str, memory: str, seen: bytes, tacet: Run
) -> None:
    # QEMU's machine "pc" ends at 255 CPUs; "q35" of QEMU 10 does not, and needs no IOMMU for them here: no
    # device interrupts a CPU above.
    if qemu.qemu_major(qemu.qemu_binary("newest")) < 10:
        pytest.skip("no QEMU 10 here (make qemu10)")
    result = expect_exit(
        tacet(*program, cpus=300, memory=memory, options=options, qemu="newest", time_limit=400)
    )
    assert "cpus: 300 run, local interrupts by x2APIC\r" in result.console, result.explain()
    assert seen in result.stdout, result.explain()


#: Bytes of the kernel that there may be with one CPU (x86_64's is the aim of docs/costs.md), for each more up
#: to eight, and for each beyond: on POWER a CPU's area and flight log are whole pages of 64 KiB.
KERNEL_BYTES = {"x86_64": (MEMORY_BELOW, 96 << 10, 64 << 10), "ppc64": (3_500_000, 512 << 10, 512 << 10)}


def test_a_further_cpu_costs_the_kernel_little_where_there_are_many(arch: str, tacet: Run) -> None:
    def kernel_bytes(cpus: int) -> int:
        result = expect_exit(tacet("apps/cost", cpus=cpus, memory="1G", options="ranks=1", time_limit=180))
        return parse_cost(result.stdout.decode())["kernel_bytes"]

    one, eight, many, more = (kernel_bytes(cpus) for cpus in (1, 8, 66, 82))
    first, few, further = KERNEL_BYTES[arch]
    assert one < first and many - one < 65 * further and more - many < 16 * further, (one, many, more)
    assert eight - one < 7 * few, (one, eight)


@pytest.mark.parametrize(("ranks", "cpus"), [(1, 4), (2, 4), (3, 4), (4, 4), (2, 5)])
def test_fewer_ranks_than_cpus_share_them_out_evenly(ranks: int, cpus: int, tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "own", cpus=cpus, memory="256M", options=f"ranks={ranks}"))
    reported = ranks_reported(result)
    assert [cpu for _, _, cpu, *_ in reported] == [rank * (cpus // ranks) for rank in range(ranks)], (
        result.explain()
    )
    assert all(size == ranks for _, size, *_ in reported), result.explain()


def test_ranks_fill_cores_before_they_share_one(arch: str, tacet: Run) -> None:
    # Two cores of two threads: APIC ids 0 and 1, 2 and 3.
    for ranks, apic_ids in ((1, [0]), (2, [0, 2]), (3, [0, 2, 1]), (4, [0, 2, 1, 3])):
        result = expect_exit(
            tacet("ranks.musl", "own", options=f"ranks={ranks}", **hardware_threads(arch, 4, 2))
        )
        assert [apic for _, _, _, apic, *_ in ranks_reported(result)] == apic_ids, result.explain()


def test_lines_of_ranks_stay_whole_with_their_prefix(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "lines", cpus=4, options="prefix=rank"))
    whole = re.compile(r"(\d): line (\d+) of rank (\d) ([a-d])\4+ end")
    lines = [whole.fullmatch(line) for line in result.stdout.decode().splitlines()]
    assert all(lines), result.explain()
    for rank in range(4):
        mine = [match for match in lines if match and match[1] == str(rank)]
        assert [int(match[2]) for match in mine] == list(range(100)), result.explain()
        assert all(match[3] == str(rank) and match[4] == "abcd"[rank] for match in mine), result.explain()


@pytest.mark.parametrize(
    ("deeds", "status"),
    [
        ("exit:0", 0),
        ("exit:3,exit:0", 3),
        ("exit:0,exit:5,exit:3", 5),
        ("sleep:20,exit:1,exit:200,exit:7", 200),
        ("exit:0,exit:0,exit:0,exit:1", 1),
    ],
)
def test_the_worst_status_wins(deeds: str, status: int, tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", deeds, cpus=4), status)
    assert result.stdout.count(b"\n") == 4, result.explain()


@CLOCKS
def test_a_rank_that_dies_leaves_the_others_alone(icount: int | None, tacet: Run) -> None:
    result = expect_exit(
        tacet("ranks.musl", "own,die,own,own", cpus=4, memory="256M", icount=icount, time_limit=120),
        SEGMENTATION_FAULT,
    )
    assert len(re.findall(rb"rank [023] of 4 .* sum ", result.stdout)) == 3, result.explain()
    assert (
        "rank 1 (ranks.musl) ended by SIGSEGV" in result.console
        and "rank 1 ended with status 139" in result.console
    ), result.explain()


def test_ranks_that_die_together_are_each_reported(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "die", cpus=4), SEGMENTATION_FAULT)
    for rank in range(4):
        assert (
            len(
                re.findall(
                    rf"^tacet: rank {rank} \(ranks.musl\) ended by SIGSEGV: .*write ",
                    result.console,
                    re.MULTILINE,
                )
            )
            == 1
        ), result.explain()
    assert (
        len(re.findall(r"^tacet:   at instruction \S+, address 0x123456789000", result.console, re.MULTILINE))
        == 4
    ), result.explain()


def test_a_rank_that_spins_for_ever_keeps_nobody_from_ending(tacet: Run, tmp_path: Path) -> None:
    # The others' work is done and reported; the node lives on for the rank that computes, until it is ended
    # from outside.
    output = {"stdout": bytearray(), "console": bytearray()}

    with Monitor(tmp_path, lambda m: m.quit()) as monitor:

        def listen(stream: str, chunk: bytes) -> None:
            output[stream].extend(chunk)
            if output["stdout"].count(b"\n") == 4 and b"rank 3 ended with status 4" in output["console"]:
                monitor.go()

        sinks = {f"on_{stream}": partial(listen, stream) for stream in output}
        result = tacet(
            "ranks.musl",
            "spin,own,own,exit:4",
            cpus=4,
            memory="256M",
            qemu_options=monitor.options,
            time_limit=60,
            **sinks,
        )
    monitor.check()
    assert result.outcome == "no-status" and "exit status" not in result.console, result.explain()
    assert b"rank 3 of 4 cpu 3 exit:4" in result.stdout and b"rank 0 of 4 cpu 0 spin" in result.stdout, (
        result.explain()
    )
    assert result.stdout.count(b" sum ") == 2, result.explain()


def test_a_run_with_a_spinning_rank_ends_by_its_time_limit(tacet: Run) -> None:
    result = tacet("ranks.musl", "own,spin", cpus=2, memory="256M", time_limit=6)
    assert result.outcome == "timeout", result.explain()
    assert b"rank 0 of 2 " in result.stdout and b"rank 1 of 2 cpu 1 spin" in result.stdout, result.explain()


@pytest.mark.parametrize("value", ["5", "0", "x", "-1", "", "1.5", "4 4", "99999999999999999999"])
def test_a_wrong_number_of_ranks_is_refused_with_the_right_ones(value: str, tacet: Run) -> None:
    expect_stop(
        tacet("status.musl", cpus=4, options=f'"ranks={value}"'),
        r"option ranks: '.*' is not a number from 1 to 4 .*4 CPUs run",
    )


def test_an_unknown_prefix_is_refused(tacet: Run) -> None:
    expect_stop(tacet("status.musl", cpus=2, options="prefix=host"), r"prefix=host: .* none, rank")


#: CPUs for whose ranks the smallest machine has too little memory.
TOO_MANY_CPUS = {"x86_64": 8, "ppc64": 40}


def test_memory_that_is_too_little_for_all_ranks_is_reported_in_numbers(arch: str, tacet: Run) -> None:
    cpus = TOO_MANY_CPUS[arch]
    result = tacet("status.musl", cpus=cpus, memory="64M")
    assert (result.outcome, result.status) == ("stop", 65), result.explain()
    assert re.search(r"\d+ ?[KM]", result.reason) and re.search(r"rank", result.reason), result.explain()
    expect_exit(tacet("status.musl", cpus=cpus, memory="64M", options="ranks=2"))


@pytest.mark.parametrize("version", ["system", "newest"])
def test_a_cpu_that_never_answers_is_named_and_left_out(version: str, tacet: Run, tmp_path: Path) -> None:
    # A debugger holds it still from the kernel's first line on: it hears no start-up.
    with Debugger(tmp_path, symbols(qemu.KERNEL)["kernel_start"], keep_running=[0, 2]) as debugger:
        result = tacet(
            "ranks.musl", "own", cpus=3, memory="256M", qemu=version, qemu_options=debugger.options
        )
    debugger.check()
    expect_exit(result)
    assert (
        "CPU with APIC id 1 does not answer its start-up within 1000 ms; the node goes on without it"
        in result.console
    ), result.explain()
    assert [apic for _, _, _, apic, *_ in ranks_reported(result)] == [0, 2], result.explain()


def test_many_cpus_that_never_answer_are_not_each_waited_for(tacet: Run, tmp_path: Path) -> None:
    with Debugger(tmp_path, symbols(qemu.KERNEL)["kernel_start"], keep_running=[0, 20]) as debugger:
        # By instructions: then the one that answers has its turn within those 3 ms, on a busy host, too.
        result = tacet("ranks.musl", "own", cpus=24, memory="256M", icount=6, qemu_options=debugger.options)
    debugger.check()
    expect_exit(result)
    waited = re.findall(r"APIC id (\d+) does not answer its start-up within (\d+) ms", result.console)
    silent = [*range(1, 20), *range(21, 24)]
    assert [int(apic) for apic, _ in waited] == silent[:16], result.explain()
    assert [int(ms) for _, ms in waited] == [1000] * 3 + [3] * 13, result.explain()
    assert "6 more CPUs do not answer, up to the one with APIC id 23" in result.console, result.explain()
    assert [apic for _, _, _, apic, *_ in ranks_reported(result)] == [0, 20], result.explain()


def test_cpus_that_could_be_plugged_in_but_are_not_are_not_waited_for(tacet: Run) -> None:
    result = expect_exit(
        tacet("ranks.musl", "own", cpus=2, memory="256M", qemu_options=["-smp", "2,maxcpus=6"])
    )
    assert len(ranks_reported(result)) == 2 and "answer" not in result.console, result.explain()
