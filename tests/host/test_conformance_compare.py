# SPDX-License-Identifier: BSD-2-Clause
"""tests/conformance/compare.py, without QEMU: it builds what it runs, takes silence for a failure, and knows
which name was meant."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import compare

import qemu

Main = Callable[..., tuple[int, str, str]]


def ended(
    stdout: str, status: int | None = 0, outcome: qemu.Outcome = "exit", reason: str = ""
) -> qemu.Result:
    return qemu.Result(status, outcome, reason, "the console\n", stdout.encode(), b"", ["qemu"], 3.0)


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """The program with runs that end as given; its status, what it prints and what it complains of."""

    def run(linux: qemu.Result | Exception, tacet: qemu.Result, *words: str) -> tuple[int, str, str]:
        def on_linux(*_: object, **__: object) -> qemu.Result:
            if isinstance(linux, Exception):
                raise linux
            return linux

        monkeypatch.setattr(compare, "made", lambda *targets: None)
        monkeypatch.setattr(qemu, "run_linux", on_linux)
        monkeypatch.setattr(qemu, "run_tacet", lambda *_, **__: tacet)
        monkeypatch.setattr(sys, "argv", ["compare.py", *words])
        return (compare.main(), *capsys.readouterr())

    return run


SPOKEN = "pipe: made: 0\nconform: 1 tests ran\n"
SILENT = "conform: 1 tests ran\n"


def test_the_same_lines_are_as_on_linux(main: Main) -> None:
    status, said, complaint = main(ended(SPOKEN), ended(SPOKEN), "pipe")
    assert (status, complaint) == (0, "") and said.startswith("1 of 1 tests are as on Linux; "), said


@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_a_test_that_prints_nothing_on_both_is_a_failure(main: Main, raw: list[str]) -> None:
    status, said, complaint = main(ended(SILENT), ended(SILENT), "pipe", *raw)
    assert status == 1
    for system in ("Linux", "Tacet"):
        assert f"{system} printed nothing for pipe: exit 0 after 3 s\n" in said + complaint
    assert raw or "0 of 1 tests are as on Linux" in said


def test_a_linux_that_did_not_start_is_a_failure_that_says_how_it_ended(main: Main) -> None:
    panic = ended("", None, "no-status", "Kernel panic - not syncing: No init")
    status, said, complaint = main(panic, ended(SPOKEN), "pipe")
    assert status == 1 and "the console" in complaint
    assert (
        "Linux printed nothing for pipe: no-status after 3 s, Kernel panic - not syncing: No init\n" in said
    )
    assert "Tacet printed" not in said and "0 of 1 tests" in said


def test_a_test_that_never_came_to_its_turn_on_tacet_is_a_failure(main: Main) -> None:
    fault = ended("", 70, "stop", "kernel fault: 14")
    status, said, _ = main(ended(SPOKEN), fault, "pipe")
    assert status == 1 and "Tacet printed nothing for pipe: stop 70 after 3 s, kernel fault: 14\n" in said


def test_a_run_that_cannot_begin_is_one_line(main: Main) -> None:
    status, said, complaint = main(qemu.RunnerError("there is no Linux kernel"), ended(SPOKEN), "pipe")
    assert (status, said, complaint) == (2, "", "compare.py: there is no Linux kernel\n")


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("timer_creat", "timer_create"),
        ("mmap_fil", "mmap_file"),
        ("barrier", "pthread_barrier"),
        ("zzz", None),
    ],
)
def test_an_unknown_name_lists_close_ones(main: Main, name: str, close: str | None) -> None:
    status, said, complaint = main(ended(SPOKEN), ended(SPOKEN), name)
    first, where = complaint.splitlines()
    assert status == 2 and said == "" and "tests/conformance/NAME.c" in where.replace("../", "")
    if close is None:
        assert first == f"compare.py: no such test: {name}"
    else:
        assert first.startswith(f"compare.py: no such test: {name}; is it ") and close in first, first


@pytest.mark.parametrize(("arch", "linux"), [("x86_64", "stock"), ("ppc64", "ppc64")])
def test_it_builds_what_it_runs(
    arch: str, linux: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it makes are targets that there are, and they include the program of each kind."""

    def fails(*targets: str) -> None:
        raise AssertionError(f"make {' '.join(targets)}: no rule")

    monkeypatch.setattr(compare, "made", fails)
    monkeypatch.setattr(sys, "argv", ["compare.py", "--arch", arch, "pipe"])
    assert compare.main() == 2
    assert capsys.readouterr().err == f"compare.py: make {' '.join(compare.NEEDED)} ARCH={arch}: no rule\n"
    planned = subprocess.run(
        ["make", "-nB", *compare.NEEDED, f"ARCH={arch}"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for part in ("conform.musl", "conform.glibc", "tacet.elf", f"ports/linux/fetch.sh build {linux}"):
        assert part in planned, part
