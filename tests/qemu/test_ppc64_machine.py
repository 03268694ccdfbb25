# SPDX-License-Identifier: BSD-2-Clause
"""What the firmware says of a machine on POWER: memory and its domains, the wall clock, consoles with input;
and what it says that cannot be right, or is too little: one clear line, a status, power off."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import elf
import pytest
from conftest import slowness
from pseries import COMPILER, command, compiled, ended

from tests.making import ROOT

PROGRAM = ROOT / "tests" / "programs" / "ppc64_machine.c"
#: QEMU's own Open Firmware boots at once; SLOF takes seconds.
FIRMWARE = ("vof", "slof")
LIMIT_S = 240.0
BAD_INPUT = 64
#: 2024-02-29 23:59:58 UTC
LEAP_DAY_S = 1709251198

pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(300, 900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("ppc64") / "machine", "-Werror", PROGRAM)


def run(initrd: Path | None, line: str, *options: str, **fields: str) -> str:
    """The console of a program that ends with 0."""
    end = ended(command(initrd, line, *options, **fields), LIMIT_S)  # type: ignore[arg-type]
    assert (end.outcome, end.status) == ("exit", 0), end.console
    return end.console


def refused(initrd: Path | None, line: str, reason: str, *options: str, **fields: str) -> None:
    """The node stops with a reason of that pattern, as its last line, said once."""
    end = ended(command(initrd, line, *options, **fields), LIMIT_S)  # type: ignore[arg-type]
    assert (end.outcome, end.status) == ("stop", BAD_INPUT), end.console
    assert re.search(reason, end.reason), end.console
    assert end.console.splitlines()[-1] == f'tacet: stop status={BAD_INPUT} reason="{end.reason}"'
    assert end.console.count(end.reason) == 1 and "fault" not in end.console, end.console


# ---- The wall clock ----


@pytest.mark.parametrize("firmware", FIRMWARE)
def test_the_wall_clock_is_the_machines(firmware: str, program: Path) -> None:
    options = ("-rtc", "base=2024-02-29T23:59:58,clock=vm")
    console = run(program, "-- time", *options, firmware=firmware)
    said = re.search(r"^(\d+) even$", console, re.M)
    assert said and LEAP_DAY_S <= int(said[1]) < LEAP_DAY_S + 3600, console


# ---- Memory ----

NODES = (
    *("-object", "memory-backend-ram,id=near,size=256M", "-object", "memory-backend-ram,id=far,size=512M"),
    *("-numa", "node,nodeid=0,cpus=0,memdev=near", "-numa", "node,nodeid=1,memdev=far"),
)


def mib_of_one_rank(console: str) -> int:
    said = re.search(r"memory: (\d+) MiB for each of 1 ranks", console)
    assert said, console
    return int(said[1])


@pytest.mark.parametrize("firmware", FIRMWARE)
def test_all_nodes_of_memory_are_used_and_each_has_its_domain(firmware: str, program: Path) -> None:
    console = run(program, "ranks=1 -- time", *NODES, firmware=firmware, memory="768")
    assert 752 <= mib_of_one_rank(console) < 768, console
    said = re.search(r"rank 0 is on NUMA node 0, as are (\d+) of its (\d+) MiB", console)
    assert said and int(said[2]) - int(said[1]) == 512, console


def test_where_there_is_one_domain_none_is_named(program: Path) -> None:
    assert "NUMA" not in run(program, "-- time")


@pytest.mark.parametrize("firmware", FIRMWARE)
def test_memory_that_could_be_unplugged_is_used(firmware: str, program: Path) -> None:
    options = ("-object", "memory-backend-ram,id=more,size=512M", "-device", "pc-dimm,memdev=more")
    console = run(program, "-- time", *options, firmware=firmware, memory="512,slots=4,maxmem=4G")
    assert 1008 <= mib_of_one_rank(console) < 1024, console


# ---- Consoles ----


def pattern(count: int) -> bytes:
    """Of ppc64_machine.c: all values of a byte, in an order that repeats late."""
    return bytes((i ^ i >> 8 ^ i >> 16) & 0xFF for i in range(count))


def feed(path: Path, content: bytes) -> Callable[[], None]:
    """Writes into a FIFO that QEMU has open; returns what waits for the end of that."""

    def write() -> None:
        with path.open("wb") as out:
            out.write(content)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return lambda: thread.join(LIMIT_S)


def test_streams_have_consoles_of_their_own_and_input_is_whole(program: Path, tmp_path: Path) -> None:
    content = pattern(200_000)
    port = tmp_path / "port"
    os.mkfifo(f"{port}.in")
    os.mkfifo(f"{port}.out")
    streams = (
        *("-chardev", f"pipe,id=streams,path={port}", "-serial", "chardev:streams"),
        *("-serial", f"file:{tmp_path}/errors", "-serial", f"file:{tmp_path}/log"),
    )
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(Path(f"{port}.out").read_bytes()), daemon=True)
    reader.start()
    fed = feed(Path(f"{port}.in"), content)
    line = f"stdout=hvc1 stderr=hvc2 klog=hvc3 stdin_bytes={len(content)} -- copy"
    console = run(program, line, *streams)
    fed()
    reader.join(LIMIT_S)
    assert got == [content], (len(got[0]) if got else None, console)
    assert (tmp_path / "errors").read_bytes() == b"200000 bytes\n"
    assert (tmp_path / "log").stat().st_size > 1000
    assert all(line.startswith("tacet: ") for line in console.splitlines()), console


def test_a_long_output_is_whole(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(program, "stdout=hvc1 -- write 1024", "-serial", f"file:{out}")
    assert out.read_bytes() == pattern(1 << 20)


@pytest.mark.parametrize("firmware", FIRMWARE)
def test_a_terminal_echoes_lines_and_ends_at_control_d(firmware: str, program: Path) -> None:
    words = command(program, "-- copy", firmware=firmware)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdin and node.stdout
        seen = b""
        while b"MiB for each" not in seen:  # what is typed before is the firmware's
            seen += node.stdout.read1()
        rest, _ = node.communicate(b"hello\ryou\r\x04", timeout=LIMIT_S * slowness())
    lines = (seen + rest).decode(errors="replace").replace("\r", "").splitlines()
    assert lines[-6:] == ["hello", "hello", "you", "you", "10 bytes", "tacet: exit status=0"], lines


def test_a_console_that_is_not_there_is_named_with_those_that_are(program: Path) -> None:
    reason = "console=com1: this machine has no such console; it has: hvc0, hvc1"
    refused(program, "console=com1 -- time", reason, "-serial", "null")
    refused(program, "console=hvc0,9600 -- time", "console=hvc0,9600: only serial ports have a speed")


# ---- What cannot run ----


@pytest.mark.parametrize("firmware", FIRMWARE)
@pytest.mark.parametrize(
    ("cpu", "compatible"), [("power8", ""), ("power9", ",max-cpu-compat=power8")], ids=["power8", "as-power8"]
)
def test_a_cpu_without_radix_tables_is_refused(
    cpu: str, compatible: str, firmware: str, program: Path
) -> None:
    reason = r"radix tables \(-1\) on this CPU, version 004[de]\d{4}: POWER9 is needed"
    refused(program, "-- time", reason, cpu=cpu, board=compatible, large="off", firmware=firmware)


def test_a_newer_cpu_is_used_as_its_predecessor(program: Path) -> None:
    run(program, "-- time", cpu="power10")


@pytest.mark.parametrize("firmware", FIRMWARE)
def test_a_command_line_that_does_not_fit_is_refused_and_never_cut(firmware: str, program: Path) -> None:
    fitting = "-- time".ljust(4095)
    assert "exit status=0" in run(program, fitting, firmware=firmware)
    refused(program, fitting + " ", "command line is too long; at most 4095 bytes fit", firmware=firmware)


def flagged(flags: int) -> bytes:
    """A program for this machine whose header has these flags."""
    whole = bytearray(elf.build(machine=elf.PPC64))
    whole[48] = flags
    return bytes(whole)


def test_a_program_of_the_first_abi_is_refused(tmp_path: Path) -> None:
    module = tmp_path / "module"
    module.write_bytes(flagged(1))
    refused(module, "", r"ABI ELFv1; compile for ELFv2 \(-mabi=elfv2\)")


def test_a_big_endian_program_of_a_compiler_is_named(tmp_path: Path) -> None:
    """Real headers: of an object file, compiled for the other byte order, as a program's."""
    source = tmp_path / "program.c"
    source.write_text("void _start(void) { for (;;) ; }\n")
    options = ["-mbig-endian", "-mabi=elfv1", "-nostdlib", "-static", "-ffreestanding"]
    subprocess.run(
        [COMPILER, *options, "-Wl,-EB,-m,elf64ppc", "-o", tmp_path / "program", source], check=True
    )
    refused(tmp_path / "program", "", r"big-endian 64-bit PowerPC; ")
