# SPDX-License-Identifier: BSD-2-Clause
"""The kernel on POWER (docs/power.md): QEMU's pseries with its real firmware, and programs of Debian's cross
compiler for Linux on that machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import slowness

import qemu
from tests.making import ROOT, made

KERNEL = ROOT / "build" / "ppc64" / "tacet.elf"
PROGRAM = ROOT / "tests" / "programs" / "ppc64.c"
COMPILER = "powerpc64le-linux-gnu-gcc"
#: The firmware alone takes 10 s of an idle machine.
LIMIT_S = 240.0
SEGMENT_VIOLATION = 128 + 11
BAD_INPUT = 64

pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(300, 900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made("ARCH=ppc64", "kernel")
    out = tmp_path_factory.mktemp("ppc64") / "ppc64"
    subprocess.run([COMPILER, "-O2", "-static", "-o", out, PROGRAM, "-lm"], check=True)
    return out


def run(program: Path, words: str) -> tuple[str, int]:
    """What the node's console has from the kernel's first line on, and the status of its last one."""
    done = subprocess.run(
        [
            *("qemu-system-ppc64", "-M", "pseries,cap-large-decr=on", "-cpu", "power9", "-m", "512"),
            *("-nographic", "-nodefaults", "-vga", "none", "-serial", "stdio"),
            *("-kernel", KERNEL, "-initrd", program, "-append", words),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S * slowness(),
        check=True,
    )
    text = done.stdout.decode(errors="replace").replace("\r", "")
    console = text[text.index("tacet: ") :]
    outcome, status, _ = qemu.parse_end(console)
    assert outcome in ("exit", "stop") and status is not None, console
    return console, status


def test_a_program_has_its_arguments_its_numbers_and_its_status(program: Path) -> None:
    console, status = run(program, "-- words one two")
    assert status == 7, console
    assert "Linux ppc64le, page 65536\nargument one\nargument two\n" in console
    assert "root of two 1.414213562373095, platform power9\n" in console
    assert re.search(r"tacet: cpu: POWER9.*decrementer of 56 bits", console)


@pytest.mark.parametrize("what", ["files", "sleeps"])
def test_calls_of_this_architecture(program: Path, what: str) -> None:
    console, status = run(program, f"-- {what}")
    assert status == 0, console


def test_memory_has_its_rights_and_who_breaks_them_ends(program: Path) -> None:
    console, status = run(program, "-- memory")
    assert "memory is as it should be" in console and status == SEGMENT_VIOLATION, console
    assert "page fault: write" in console


def test_a_program_of_another_machine_is_named() -> None:
    made("ARCH=ppc64", "kernel")
    console, status = run(qemu.BUSYBOX, "-- true")
    assert status == BAD_INPUT and "x86_64" in console, console
