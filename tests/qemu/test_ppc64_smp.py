# SPDX-License-Identifier: BSD-2-Clause
"""Several CPUs on POWER (docs/power.md): RTAS starts them, XIVE or XICS interrupts them, threads on them wake
each other, and who computes is left alone. QEMU's own Open Firmware brings most of these machines up, the
real one one of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from pseries import KERNEL, command, ended

from qemu import architectures
from qemu.version import qemu_binary, qemu_major
from tests.making import ROOT, made

BAD_INPUT = 64
CONTROLLERS = {"xive": "XIVE", "xics": "XICS"}
#: `b .`, as a CPU reads it that starts big-endian.
BRANCH_TO_ITSELF = b"\x48\x00\x00\x00"

pytestmark = [pytest.mark.xdist_group("ppc64"), pytest.mark.limit(300, 900)]


@pytest.fixture(scope="module", autouse=True)
def kernel() -> Path:
    made("ARCH=ppc64", "kernel")
    return KERNEL


def program(name: str) -> Path:
    file = f"build/ppc64/tests/{name}"
    made("ARCH=ppc64", file)
    return ROOT / file


def run(
    file: Path,
    words: str,
    *,
    smp: str,
    controller: str = "xive",
    firmware: str = "vof",
    kernel: Path = KERNEL,
    memory: str = "512",
    emulator: str = "",
) -> tuple[str, int]:
    board = f",ic-mode={controller}"
    machine = {"firmware": firmware, "board": board, "kernel": kernel, "memory": memory, "emulator": emulator}
    end = ended(command(file, words, "-smp", smp, **machine))  # type: ignore[arg-type]
    return end.console, end.status


def expect_kept(ran: tuple[str, int], ranks: int = 1) -> None:
    console, status = ran
    assert status == 0 and console.count(", broken: 0\n") == ranks, console


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("cpus", [1, 2, 8, 32])
def test_each_cpu_runs_a_rank(cpus: int, controller: str) -> None:
    console, status = run(
        program("ranks.musl"), "-- exit:7", smp=str(cpus), controller=controller, memory="1024"
    )
    ended = sorted(map(int, re.findall(r"^tacet: rank (\d+) ended with status 7$", console, re.M)))
    assert status == 7 and (cpus == 1 or ended == [*range(cpus)]), console
    line = f"cpus: {cpus} run on {cpus} cores, interrupts by {CONTROLLERS[controller]}\n"
    assert (line in console) == (cpus > 1), console


def test_the_real_firmware_s_cpus_run_ranks() -> None:
    console, status = run(program("ranks.musl"), "-- own", smp="4", firmware="slof")
    assert status == 0 and "cpus: 4 run on 4 cores, interrupts by XIVE\n" in console, console
    assert len(re.findall(r"^rank (\d+) of 4 cpu \1 ", console, re.M)) == 4, console


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_threads_on_other_cpus_wait_wake_and_move(controller: str) -> None:
    expect_kept(run(program("threads.musl"), "ranks=1", smp="4", controller=controller))
    expect_kept(run(program("wakes.musl"), "ranks=1 -- moved", smp="3", controller=controller))


@pytest.mark.parametrize("way", ["cede", "poll"])
def test_a_token_goes_round_without_a_lost_wake_up(way: str) -> None:
    expect_kept(run(program("wakes.musl"), f"ranks=1 idle={way} -- rings 300", smp="2"))


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_who_waits_costs_no_interrupt_until_it_is_woken(controller: str) -> None:
    expect_kept(run(program("wakes.musl"), "ranks=1 -- silent", smp="2", controller=controller))


def test_who_computes_enters_the_kernel_not_once() -> None:
    console, status = run(program("witness.musl"), "-- silent 300", smp="4")
    assert status == 0, console
    counts = re.findall(r"^cpu (\d) (\w+) (\d+)$", console, re.M)
    assert sorted(counts) == [(str(cpu), "system_calls", "0") for cpu in range(4)], console


def test_hardware_threads_fill_cores_first() -> None:
    newest, since = qemu_binary("newest", "ppc64"), architectures.PPC64.threads_since
    if qemu_major(newest) < since:
        pytest.skip(f"QEMU {since} is not there (make qemu{since}-ppc64)")
    for controller in CONTROLLERS:
        ran = run(
            program("ranks.musl"), "ranks=2 -- own", smp="8,threads=4", controller=controller, emulator=newest
        )
        assert ran[1] == 0 and "cpus: 8 run on 2 cores" in ran[0], ran[0]
        # Servers 0 and 8 are the cores' first threads: these have the lowest numbers.
        assert re.search(r"^rank 0 of 2 cpu 0 apic ", ran[0], re.M), ran[0]
        assert re.search(r"^rank 1 of 2 cpu 1 apic ", ran[0], re.M), ran[0]


def test_a_way_to_idle_that_is_not_there_is_refused() -> None:
    console, status = run(program("ranks.musl"), "idle=mwait -- own", smp="1")
    assert status == BAD_INPUT and "idle=mwait: it can be cede, poll" in console, console


def patched(tmp_path: Path, old: bytes, new: bytes) -> Path:
    data = KERNEL.read_bytes()
    assert data.count(old) == 1 and len(old) == len(new)
    (tmp_path / "tacet.elf").write_bytes(data.replace(old, new))
    return tmp_path / "tacet.elf"


def test_a_controller_that_is_not_known_is_named(tmp_path: Path) -> None:
    """The kernel looks for another name than the machine's controller has."""
    kernel = patched(tmp_path, b"\0IBM,ppc-xicp\0", b"\0IBM,ppc-xxxx\0")
    console, status = run(program("ranks.musl"), "-- own", smp="2", controller="xics", kernel=kernel)
    assert status == BAD_INPUT and "the interrupt controller is IBM,ppc-xicp; supported: " in console, console


def further_entry_at() -> int:
    """Where the first instruction of a further CPU lies in the kernel's file."""
    symbols = subprocess.run(
        ["powerpc64le-linux-gnu-nm", KERNEL], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"^([0-9a-f]{16}) T further_entry$", symbols, re.M)
    headers = subprocess.run(
        ["powerpc64le-linux-gnu-readelf", "-lW", KERNEL], capture_output=True, text=True, check=True
    ).stdout
    text = re.search(r"^ +LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) ", headers, re.M)
    assert found and text
    return int(text[1], 16) + int(found[1], 16) - int(text[2], 16)


def test_a_cpu_that_does_not_answer_is_named_and_left_out(tmp_path: Path) -> None:
    """Every further CPU stays at its first instruction."""
    data = bytearray(KERNEL.read_bytes())
    at = further_entry_at()
    data[at : at + 4] = BRANCH_TO_ITSELF
    kernel = tmp_path / "tacet.elf"
    kernel.write_bytes(data)
    console, status = run(program("ranks.musl"), "-- own", smp="6", kernel=kernel)
    assert status == 0 and "cpus: 1 run on 1 cores" in console, console
    for cpu in range(1, 6):
        assert f"CPU {cpu} of the device tree does not answer its start-up within " in console, console
    assert "rank 0 of 1 cpu 0 " in console, console
