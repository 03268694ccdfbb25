# SPDX-License-Identifier: BSD-2-Clause
"""Kernels that start on a machine as firmware may leave it (soiled.asm), and kernels whose
CPUs halt with their setup in registers to be read (reporting.asm)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import qemu
from qemu.symbols import Symbols

FOLDER = Path(__file__).parent
KERNEL_BASE = 0xFFFFFFFF80000000
#: Not run by the tests, whose machines have no network, and long enough: for soiled.asm, for reporting.asm.
ROOM, REPORT = "tcp_input", "tcp_receive"
#: Each begins with an instruction of this length, in whose place a jump stands.
FIRST, FURTHER, JUMP_BYTES = "boot_entry_pvh", "ap_protected", 5
#: Where soiled.asm begins for the others.
FURTHER_AT = 8
#: Where CPUs come when they are set up: the first one, and the others.
READY = ("job_configure", "kernel_cpu_start")


def assembled(source: str, folder: Path, **defined: int) -> bytes:
    code = folder / f"{source}.bin"
    command = ["nasm", "-f", "bin", "-o", str(code), str(FOLDER / source)]
    command += [f"-D{name}={value:#x}" for name, value in defined.items()]
    subprocess.run(command, check=True, timeout=60)
    return code.read_bytes()


def _jump(start: int, to: int) -> bytes:
    return b"\xe9" + ((to - start - JUMP_BYTES) & 0xFFFFFFFF).to_bytes(4, "little")


def soiling(folder: Path) -> dict[str, bytes]:
    """Codes for planted_all: each CPU is soiled before it starts."""
    symbols = Symbols(qemu.KERNEL)
    place = {name: symbols.find(name).address - KERNEL_BASE for name in (ROOM, FIRST, FURTHER)}
    code = assembled(
        "soiled.asm",
        folder,
        ORIGIN=place[ROOM],
        FIRST=place[FIRST] + JUMP_BYTES,
        FURTHER=place[FURTHER] + JUMP_BYTES,
    )
    assert len(code) < 0x400 and symbols.find(ROOM).size > 0x558, "its stack ends at 0x550"
    return {
        ROOM: code,
        FIRST: _jump(place[FIRST], place[ROOM]),
        FURTHER: _jump(place[FURTHER], place[ROOM] + FURTHER_AT),
    }


def reporting(folder: Path) -> dict[str, bytes]:
    """Codes for planted_all: each CPU halts when it is set up."""
    symbols = Symbols(qemu.KERNEL)
    code = assembled("reporting.asm", folder)
    room = symbols.find(REPORT)
    assert len(code) <= room.size
    return {REPORT: code} | {name: _jump(symbols.find(name).address, room.address) for name in READY}
