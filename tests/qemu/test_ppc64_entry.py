# SPDX-License-Identifier: BSD-2-Clause
"""The ways into the kernel on POWER: what a system call costs and leaves alone, a system reset, small page
tables, the decrementer. Of one run each under a clock that counts instructions, so that every digit is exact.
What programs' faults and the kernel's say: test_faults."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path

import conftest
import pseries
import pytest

from tests.making import ROOT

PROGRAM = ROOT / "tests" / "programs" / "ppc64_entry.c"
PANIC = 70
LIMIT_S = 60.0

pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(300, 900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    headers = ROOT / "libc" / "include"
    out = tmp_path_factory.mktemp("ppc64_entry") / "ppc64_entry"
    return pseries.compiled(out, "-I", headers, PROGRAM)


def command(program: Path, words: str, *more: str, shift: int = 0, large: str = "on") -> list[str]:
    exact = [word.replace("shift=0", f"shift={shift}") for word in pseries.EXACT]
    return pseries.command(program, words, *exact, *more, memory="256", large=large)


def run(program: Path, words: str, shift: int = 0, large: str = "on") -> tuple[str, int]:
    end = pseries.ended(command(program, words, shift=shift, large=large), LIMIT_S)
    return end.console, end.status


# ---- System calls ----


@pytest.mark.parametrize(("what", "most"), [("cost", 70), ("cost-scv", 70)])
def test_a_system_call_costs_few_instructions(program: Path, what: str, most: int) -> None:
    # Linux 6.1 takes 362 for the same call on the same machine.
    console, status = run(program, f"-- {what}")
    found = re.search(r"^instructions (\d+)$", console, re.MULTILINE)
    assert status == 0 and found and 40 < int(found[1]) <= most, console


@pytest.mark.parametrize("options", ["", "klog_classes=all "], ids=["plain", "logged"])
@pytest.mark.parametrize("what", ["calls", "registers"])
def test_calls_answer_count_and_preserve(program: Path, what: str, options: str) -> None:
    console, status = run(program, f"{options}-- {what}")
    assert status == 0 and f"{what} are as they should be" in console, console


def test_calls_are_in_the_flight_log_while_their_class_is_on(program: Path) -> None:
    console, status = run(program, "-- logged")
    assert status == 0 and "events 20 20\n" in console, console


def test_an_interrupt_at_the_first_instruction_of_scv_does_no_harm(program: Path) -> None:
    # 4000 of them, each anywhere in a loop of a hundred instructions, of which three are meant.
    console, status = run(program, "-- interrupted")
    assert status == 0 and "interrupted calls are as they should be" in console, console


# ---- What comes from outside ----


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_system_reset_stops_the_node_with_a_report(program: Path, cpus: int, tmp_path: Path) -> None:
    path = tmp_path / "qmp"
    more = ("-smp", str(cpus), "-qmp", f"unix:{path},server=on,wait=off")
    with subprocess.Popen(
        command(program, "-- computes 1000000", *more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as machine:
        assert machine.stdout
        begin = b""
        while b"computes" not in begin:
            line = machine.stdout.readline()
            assert line, begin
            begin += line
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(str(path))
            lines = monitor.makefile("rw")
            lines.readline()
            for name in ("qmp_capabilities", "inject-nmi"):
                lines.write(json.dumps({"execute": name}) + "\n")
                lines.flush()
                assert "return" in lines.readline()
        rest, _ = machine.communicate(timeout=LIMIT_S * conftest.slowness())
    console, _, status, _ = pseries.end_of(begin + rest)
    assert status == PANIC and console.count("system reset: ") == 1, console
    assert re.search(r'reason="system reset at [0-9a-f]{16}"', console), console


# ---- Page tables, time ----


def test_small_page_tables_share_pages_and_come_back(program: Path) -> None:
    # 1500 pages of 64 KiB, each with two tables of its own, in 256 MiB: they would not fit otherwise.
    console, status = run(program, "-- tables")
    assert status == 0 and "tables are small, and come back" in console, console


@pytest.mark.parametrize(("large", "ends"), [("on", 0), ("off", 2)])
def test_only_a_decrementer_of_32_bits_comes_to_its_end(program: Path, large: str, ends: int) -> None:
    # 9 s, with no timer armed; it lasts for 4.19 s.
    console, status = run(program, "-- computes 9", shift=8, large=large)
    assert status == 0 and f"timer 0 range {ends}\n" in console, console


@pytest.mark.parametrize("large", ["on", "off"])
def test_sleeps_keep_their_bounds_by_either_decrementer(large: str) -> None:
    sleeps = conftest.program("sleeps.musl", "ppc64")
    console, status = run(sleeps, "threads=64 -- random 50 100", large=large)
    assert status == 0 and "random_sleeps 5000\n" in console, console
    late = re.search(r"^random_late_beyond_bound_max_ns (\d+)$", console, re.MULTILINE)
    assert late and int(late[1]) < 150_000, console
