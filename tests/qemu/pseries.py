# SPDX-License-Identifier: BSD-2-Clause
"""Machines for POWER that a test commands itself, because it is about the machine: its firmware, memory,
controllers, CPUs. What is about programs uses the fixture `tacet`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from conftest import slowness

import qemu
from qemu import architectures
from qemu.version import qemu_binary
from tests.making import ROOT, made

KERNEL = ROOT / "build" / "ppc64" / "tacet.elf"
COMPILER = "powerpc64le-linux-gnu-gcc"
#: The clock by instructions: times are exact, whatever this machine does meanwhile.
EXACT = ("-icount", "shift=0,sleep=off", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm")


class End(NamedTuple):
    """What the console has from the kernel's first line on, and what its last line says."""

    console: str
    outcome: str
    status: int
    reason: str


def compiled(out: Path, *words: str | Path) -> Path:
    """Makes the kernel, and a program by Debian's cross compiler with its glibc."""
    made("ARCH=ppc64", "kernel")
    subprocess.run(
        [COMPILER, "-std=gnu11", "-O2", "-Wall", "-static", "-pthread", "-o", out, *words], check=True
    )
    return out


def command(
    initrd: Path | None,
    line: str,
    *options: str,
    firmware: str = "vof",
    cpu: str = "power9",
    memory: str = "512",
    board: str = "",
    large: str = "on",
    kernel: Path = KERNEL,
    emulator: str = "",
) -> list[str]:
    """QEMU's command line; `board` adds to the machine's name, `large` is that of its decrementer."""
    machine = architectures.PPC64.board(1, firmware, direct=True).replace(
        "large-decr=on", f"large-decr={large}"
    )
    return [
        *(emulator or qemu_binary(arch="ppc64"), "-M", machine + board, "-cpu", cpu, "-m", memory),
        *("-nographic", "-nodefaults", "-vga", "none", "-serial", "stdio", "-kernel", str(kernel)),
        *("-append", line, *(("-initrd", str(initrd)) if initrd else ()), *options),
    ]


def end_of(output: bytes) -> End:
    text = output.decode(errors="replace").replace("\r", "")
    assert "tacet: " in text, text
    console = text[text.index("tacet: ") :]
    outcome, status, reason = qemu.parse_end(console)
    assert outcome in ("exit", "stop") and status is not None, console
    return End(console, outcome, status, reason)


def ended(words: Sequence[str], limit_s: float = 100.0) -> End:
    """The end of a machine that switches itself off, without input."""
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s * slowness(), check=True
    )
    return end_of(done.stdout)
