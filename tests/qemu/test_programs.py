# SPDX-License-Identifier: BSD-2-Clause
"""Ordinary Linux programs run: both C libraries, at a fixed place and position-independent; their output
arrives byte by byte, their status as it is.

The programs in tests/programs check themselves and print each promise that did not hold.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit, own_errors

KINDS = ["musl", "musl-pie", "glibc", "glibc-pie"]
SELF_CHECKING = ["auxiliary", "runtime", "memory", "clocks", "vector", "signals"]


def mebibyte() -> bytes:
    """What `streams mebibyte` writes."""
    state, out = 1, bytearray()
    for _ in range(1 << 20):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(state >> 24)
    return bytes(out)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SELF_CHECKING)
def test_a_program_finds_what_linux_programs_rely_on(name: str, kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"{name}.{kind}", env={"PROMISE_TEST": "a value"}))
    kept = re.search(rb"promises: (\d+), broken: 0\n", result.stdout)
    assert kept and int(kept[1]) > 5, result.explain()
    assert own_errors(result) == b"", result.explain()


@pytest.mark.parametrize("kind", KINDS)
def test_what_runs_at_the_end_runs_in_order(kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"runtime.{kind}", env={"PROMISE_TEST": "a value"}))
    assert result.stdout.endswith(b"atexit\ndestructor\n"), result.explain()


def test_a_program_starts_with_empty_registers_and_keeps_its_own_in_calls(tacet: Run) -> None:
    # Its status says which did not hold: entry.c.
    expect_exit(tacet("entry.bare"))


@pytest.mark.parametrize("cpu", ["qemu64", "max,-xsave"])
def test_registers_are_empty_on_other_cpus(cpu: str, tacet: Run) -> None:
    expect_exit(tacet("entry.bare", cpu=cpu))


@pytest.mark.parametrize("status", [0, 1, 2, 42, 64, 70, 77, 127, 128, 137, 254, 255])
def test_the_status_is_the_program_s_own(status: int, tacet: Run) -> None:
    expect_exit(tacet("status.musl", str(status)), status)


@pytest.mark.parametrize(("given", "status"), [(256, 0), (257, 1), (-1, 255)])
def test_a_status_beyond_a_byte_is_cut_as_on_linux(given: int, status: int, tacet: Run) -> None:
    expect_exit(tacet("status.musl", str(given)), status)


@pytest.mark.parametrize("signal", [1, 2, 3, 6, 9, 11, 15])
def test_a_signal_to_itself_ends_a_program_with_128_and_its_number(signal: int, tacet: Run) -> None:
    result = expect_exit(tacet("status.musl", "0", str(signal)), 128 + signal)
    assert "which it sent itself" in result.console, result.explain()
    assert re.search(r"  at instruction 0x[0-9a-f]+\s+tacet:   in \w+\+0x", result.console), result.explain()


@pytest.mark.parametrize("signal", [17, 18, 23, 28])
def test_a_signal_that_linux_ignores_is_ignored(signal: int, tacet: Run) -> None:
    expect_exit(tacet("status.musl", "9", str(signal)), 9)


def test_both_streams_carry_every_byte_value_and_stay_apart(tacet: Run) -> None:
    result = expect_exit(tacet("streams.musl", "bytes"))
    assert result.stdout == bytes(range(256)), result.explain()
    assert result.stderr == bytes(range(255, -1, -1)), result.explain()


def test_a_mebibyte_of_output_arrives_as_it_was(tacet: Run) -> None:
    result = expect_exit(tacet("streams.musl", "mebibyte"))
    assert len(result.stdout) == 1 << 20, result.explain()
    assert result.stdout == mebibyte()


def test_without_ports_of_its_own_a_program_prints_on_the_console(tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, qemu_options=["-append", "argv0=busybox -- echo hi"]))
    assert "\nhi\n" in result.console.replace("\r", ""), result.explain()
    assert result.stdout == b"", result.explain()


def test_input_arrives_and_ends(tacet: Run, tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % i for i in range(500)) + b"no end of line"
    source = tmp_path / "input"
    source.write_bytes(text)
    result = expect_exit(tacet("streams.musl", "echo", stdin=source, time_limit=30))
    assert result.stdout == text, result.explain()
    assert result.stderr == b"3 ends\n", result.explain()


def test_no_input_is_an_end_at_once_and_for_good(tacet: Run) -> None:
    result = expect_exit(tacet("streams.musl", "echo", time_limit=30))
    assert result.stdout == b"" and result.stderr == b"3 ends\n", result.explain()


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_address_space_does_what_a_model_of_it_says(seed: int, tacet: Run) -> None:
    expect_exit(tacet("mappings.musl", str(seed), "3000", time_limit=120))


#: A CPU without pages of 1 GiB. A node with little memory has none of that size to give, whatever its CPU.
SMALL_PAGES = {"x86_64": "max,-pdpe1gb", "ppc64": None}


def test_the_address_space_holds_without_huge_pages_and_in_little_memory(arch: str, tacet: Run) -> None:
    cpu = SMALL_PAGES[arch]
    expect_exit(tacet("mappings.musl", "77", "1500", cpu=cpu, memory="48M", time_limit=120))
