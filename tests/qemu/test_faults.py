# SPDX-License-Identifier: BSD-2-Clause
"""A program that does what it may not do ends, and nothing else does, with a report to read and 128 plus
Linux's signal."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit, program
from deeds import deeds
from monitor import WAIT_SECONDS, Client, Monitor

import qemu
from qemu import architectures
from tests import waiting
from tests.making import made

#: QEMU's CPU without hardware help differs from a real one here; what else than the right signal may come, 77
#: being "nothing".
EMULATED = {
    "debug_instruction": {128 + signal.SIGILL},
    "simd_error": {77},
    "sysenter": {128 + signal.SIGILL},  # as on AMD's
    "stack_in_hole": {128 + signal.SIGSEGV},
    "store_conditional": {77},
    "hypercall": {0},  # it answers that it is none of a program's
}

#: The instruction's register, and others that a report has.
REGISTERS = {
    "x86_64": ("rip", "rsp rflags rax rbx rcx rdx rsi rdi rbp r8 r15"),
    "ppc64": ("nip", "r0 r4 r8 r12 r16 r20 r24 r28 msr lr ctr dar dsisr cr xer"),
}

#: What a report says of a deed, and of its address.
SAID = {
    "overflow_stack": r"the stack has overflowed.*stack=SIZE",
    "read_null": r"NULL pointer",
    "read_kernel": r"above all user memory",
    "write_text": r"r-x /init",
    "write_counters": r"r-- \[tacet\]",
    "run_mapping": r"jump to a page that it may not execute",
    "undefined": r"an instruction that this CPU does not have",
}
#: The same, in the words that an architecture has for it.
SAID_ON = {
    "ppc64": {
        "call_level_1": r"an instruction that this CPU does not have",
        "read_state": r"an instruction that is not allowed to programs",
        "branch_by_event": r"an instruction of a facility that programs do not have",
        "breakpoint": r"a trap instruction",
        "float_asked": r"a floating-point exception that it has enabled",
        "reserve_word": r"unaligned access",
        "write_constant": r"write to a page that it may not write",
        "read_unmapped": r"read of where nothing is mapped",
        "read_hole": r"access to an address that no page can have",
        "write_kernel": r"write to a page that it may not write",
    }
}


def expect_report(result: qemu.Result, status: int, arch: str) -> None:
    """Name of the signal, place and registers, each on the console, once."""
    console = result.console.replace("\r", "")
    name = signal.Signals(status - 128).name
    ended = re.findall(r"^tacet: rank 0 \([^)]+\) ended by (\w+): (.+)$", console, re.MULTILINE)
    assert len(ended) == 1 and ended[0][0] == name, result.explain()
    place = re.search(r"^tacet:   at instruction ((?:0x)?[0-9a-f]+)", console, re.MULTILINE)
    assert place, result.explain()
    registers = dict(re.findall(r"\b([a-z]+[0-9]*) +([0-9a-f]{6,16})\b", console))
    instruction, others = REGISTERS[arch]
    assert {instruction, *others.split()} <= set(registers), result.explain()
    assert int(registers[instruction], 16) == int(place[1], 16), result.explain()
    # What the program announced before.
    announced = dict(re.findall(r"^(instruction|address) ([0-9a-f]+)$", result.stdout.decode(), re.MULTILINE))
    if "instruction" in announced:
        assert int(place[1], 16) == int(announced["instruction"], 16), result.explain()
    if "address" in announced:
        reached = re.search(r"at instruction [0-9a-fx]+, address ([0-9a-fx]+)", console)
        assert reached and int(reached[1], 16) == int(announced["address"], 16), result.explain()


def test_a_forbidden_deed_ends_the_program_with_a_report(deed: str, arch: str, tacet: Run) -> None:
    kind, number = "glibc" if deed == "write_relro" else "musl", deeds(arch)[deed]
    result = tacet(f"forbidden.{kind}", deed)
    if deed in EMULATED and result.status in EMULATED[deed]:
        expect_exit(result, result.status)
    elif number == 0:
        expect_exit(result, 0)
    else:
        expect_exit(result, 128 + number)
    if result.status is not None and result.status > 128 and deed != "abort_itself":
        expect_report(result, result.status, arch)
    for said in (SAID, SAID_ON.get(arch, {})):
        assert re.search(said.get(deed, ""), result.console), result.explain()


def test_the_list_of_deeds_is_the_program_s_own(arch: str, tacet: Run) -> None:
    result = expect_exit(tacet("forbidden.glibc", "list"))
    reported = [line.split() for line in result.stdout.decode().splitlines()]
    assert {name: int(number) for name, number in reported} == deeds(arch)


@pytest.mark.parametrize("kind", ["musl", "musl-pie", "glibc", "glibc-pie"])
def test_the_report_names_the_function(kind: str, arch: str, tacet: Run) -> None:
    # Recursion in a program at a fixed place and in one that is not; the address as linked is what addr2line
    # and nm say.
    result = tacet(f"runtime.{kind}", "fault")
    expect_exit(result, 128 + signal.SIGSEGV)
    reported = re.search(r"  in fault_here\+(0x[0-9a-f]+) \((0x[0-9a-f]+) as linked\)", result.console)
    assert reported, result.explain()
    symbols = subprocess.run(
        [architectures.named(arch).binutils + "nm", program(f"runtime.{kind}", arch)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    begins = re.search(r"^([0-9a-f]+) . fault_here$", symbols, re.MULTILINE)
    assert begins and int(begins[1], 16) + int(reported[1], 16) == int(reported[2], 16), result.explain()


def test_a_stripped_program_s_place_is_reported_without_a_name(arch: str, tacet: Run, tmp_path: Path) -> None:
    stripped, strip = tmp_path / "stripped", architectures.named(arch).binutils + "strip"
    subprocess.run([strip, "-o", stripped, program("runtime.musl-pie", arch)], check=True)
    result = expect_exit(tacet(stripped, "fault"), 128 + signal.SIGSEGV)
    assert re.search(
        r"  in the program, at 0x[0-9a-f]+ as linked; its file names no function there", result.console
    ), result.explain()


def test_a_larger_stack_is_used_to_its_end(tacet: Run) -> None:
    # The recursion ends at the guard in any case; the report names the requested size.
    result = expect_exit(tacet("forbidden.musl", "overflow_stack", options="stack=32M"), 128 + 11)
    assert "its 32768 KiB end at" in result.console, result.explain()


def test_the_same_deeds_have_the_same_consequence_on_linux() -> None:
    # The expectation is Linux's: tried on the build machine, whose CPU is a real one. Where it is not x86_64,
    # there is nothing to try. AMD's do not know SYSENTER in 64-bit mode (AMD64 APM 3, SYSENTER), Intel's do.
    expected = deeds("x86_64")
    if "AuthenticAMD" in Path("/proc/cpuinfo").read_text():
        expected["sysenter"] = signal.SIGILL
    wrong = {}
    for deed, number in expected.items():
        # I/O ports and SYSENTER-like deeds are the same; the node's page and INT 0x80 are not there on, or
        # known to, Linux.
        if deed in (
            "write_node_page",
            "write_counters",
            "run_node_page",
            "interrupt_80",
            "write_relro",
            "flags_into_call",
            "run_heap",
        ):
            continue
        ended = subprocess.run([program("forbidden.musl"), deed], capture_output=True, timeout=60).returncode
        if ended != -number:
            wrong[deed] = (ended, number)
    assert wrong == {}


# ---- The kernel's own faults (tests/planted/faults.c) ----

#: The statuses with which a program orders them.
OVERFLOW, GUARD = "101", "102"


@pytest.fixture(scope="session")
def planted_kernel(arch: str) -> Path:
    made(f"build/{arch}/planted.elf", f"ARCH={arch}")
    return qemu.BUILD / arch / "planted.elf"


def test_an_overflow_of_the_kernel_s_stack_stops_the_node_and_says_so(
    planted_kernel: Path, tacet: Run
) -> None:
    result = tacet("status.musl", OVERFLOW, kernel=planted_kernel)
    assert (result.outcome, result.status) == ("stop", 70), result.explain()
    assert "the kernel's stack has overflowed" in result.console, result.explain()
    assert result.console.count("called from") > 10, result.explain()
    assert "stack_overflow" in result.explain()  # the call chain, named


def test_a_guard_page_faults_and_what_is_around_it_does_not(planted_kernel: Path, tacet: Run) -> None:
    result = tacet("status.musl", GUARD, kernel=planted_kernel)
    assert (result.outcome, result.status) == ("stop", 70), result.explain()
    assert re.search(
        r"planted: a guard page is read now\s+tacet: the kernel itself faulted: (page fault|data storage)",
        result.console,
    ), result.explain()


# ---- What comes from outside ----


def test_a_non_maskable_interrupt_is_reported_and_the_program_goes_on(tacet: Run, tmp_path: Path) -> None:
    with Monitor(tmp_path, lambda monitor: monitor.human("nmi")) as monitor:
        result = tacet("wait.musl", qemu_options=monitor.options, on_stdout=monitor.at(b"ready"))
    monitor.check()
    expect_exit(result)
    assert re.search(r"tacet: non-maskable interrupt of unknown origin, at [0-9a-f]{16}", result.console), (
        result.explain()
    )
    assert b"non-maskable interrupts: 1\n" in result.stdout, result.explain()


def test_non_maskable_interrupts_do_no_harm_wherever_they_come(tacet: Run, tmp_path: Path) -> None:
    # The program is inside the kernel nearly all the time, printing: entries, exits, the console itself are
    # hit. It prints until it has counted forty; each comes once the one before it has been reported.
    console = bytearray()

    def reported() -> int:
        return console.count(b"non-maskable interrupt")

    def at_least(number: int) -> None:
        what = f"a report of each of {number}"
        waiting.until(lambda: reported() >= number, what, WAIT_SECONDS)

    def script(monitor: Client) -> None:
        for number in range(40):
            at_least(number)
            monitor.human("nmi")

    with Monitor(tmp_path, script) as monitor:
        result = tacet(
            "streams.musl",
            "until",
            "40",
            qemu_options=monitor.options,
            on_stdout=monitor.at(b""),
            on_console=console.extend,
        )
    monitor.check()
    expect_exit(result)
    sequence = result.stdout[:4096]
    assert len(set(sequence)) == 256 and result.stdout == sequence * (len(result.stdout) // 4096)
    assert result.console.count("non-maskable interrupt") == 40, result.explain()


@pytest.mark.parametrize(
    "words", [("wait.musl",), ("streams.musl", "until", "1")], ids=["while_computing", "while_printing"]
)
def test_a_machine_check_stops_the_node_with_the_bank_and_its_status(
    words: tuple[str, ...], tacet: Run, tmp_path: Path
) -> None:
    # Bank 4: uncorrected, enabled, address valid; global status: in progress.
    with Monitor(
        tmp_path, lambda monitor: monitor.human("mce 0 4 0xb400000000000135 0x5 0x12345000 0")
    ) as monitor:
        result = tacet(*words, qemu_options=monitor.options, on_stdout=monitor.at(b""))
    monitor.check()
    assert (result.outcome, result.status) == ("stop", 71), result.explain()
    assert "machine check" in result.reason, result.explain()
    assert re.search(r"bank 4 status b400000000000135 address 0000000012345000", result.console), (
        result.explain()
    )
    assert re.search(r"rip [0-9a-f]{16}", result.console), result.explain()
