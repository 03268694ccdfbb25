# SPDX-License-Identifier: BSD-2-Clause
"""What firmware leaves, and processors that report wrong values: the node starts all the same, and names what
it found."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

from conftest import Run, expect_exit
from monitor import Client, Monitor
from planted import planted, planted_all
from soiled import reporting, soiling

import qemu

# ---- Machine checks ----

#: MOV SS, ECX: a general protection fault in place of the access, as for a register that is not there.
FAULT = b"\x8e\xd1"


def test_machine_check_registers_that_are_not_there_do_not_stop_the_boot(tacet: Run, tmp_path: Path) -> None:
    result = expect_exit(tacet("status.musl", kernel=planted(tmp_path, "msr_try_write.write", FAULT), cpus=2))
    for cpu in range(2):
        assert re.search(
            rf"machine check: CPU {cpu} counts 10 banks, and has registers for 0; errors", result.console
        ), result.explain()
    result = expect_exit(tacet("status.musl", kernel=planted(tmp_path, "msr_try_read.read", FAULT)))
    assert "machine check" not in result.console, result.explain()


def test_errors_from_before_the_boot_are_logged_and_cleared(tacet: Run, tmp_path: Path) -> None:
    def script(monitor: Client) -> None:
        monitor.human("mce 1 4 0x9400000000000135 0 0x12345000 0")  # corrected: it interrupts no CPU
        monitor.command("cont")

    with Monitor(tmp_path, script) as monitor:
        monitor.go()
        result = expect_exit(tacet("status.musl", cpus=2, qemu_options=["-S", *monitor.options]))
    monitor.check()
    assert re.findall(
        r"^tacet: (machine check:.*|  bank.*)$", result.console.replace("\r", ""), re.MULTILINE
    ) == [
        "machine check: CPU 1 has errors from before this boot; logged here and cleared",
        "  bank 4 status 9400000000000135 address 0000000012345000",
    ], result.explain()


# ---- What firmware leaves ----

CPUS = 3
REGISTERS = {  # as reporting.asm leaves them
    "R8": 0x0007010600070106,  # PAT: as after reset, with write-combining in slots 1 and 5
    "R9": 0,  # SYSENTER's selector, stack and entry
    "R10": 0,
    "R11": 0,
    "R12": 0x400,  # DR7, DR0, DR3
    "R13": 0,
    "R14": 0,
    "R15": 0x5E7,
}


def registers_of(monitor: Client) -> list[dict[str, int]]:
    """Of each CPU, when all have reported."""
    for _ in range(3000):
        said = monitor.human("info registers -a").split("CPU#")[1:]
        cpus = [
            {name: int(value, 16) for name, value in re.findall(r"\b(R\w+) *=([0-9a-f]{16})\b", one)}
            for one in said
        ]
        if all(cpu.get("R15") == REGISTERS["R15"] for cpu in cpus):
            return cpus
        time.sleep(0.02)
    raise AssertionError(f"no report: {cpus}")


def test_each_cpu_begins_without_what_firmware_left_in_its_registers(tacet: Run, tmp_path: Path) -> None:
    found: list[dict[str, int]] = []

    def script(monitor: Client) -> None:
        found.extend(registers_of(monitor))
        monitor.quit()

    with Monitor(tmp_path, script) as monitor:
        monitor.go()
        kernel = planted_all(tmp_path, {**soiling(tmp_path), **reporting(tmp_path)})
        result = tacet("status.musl", kernel=kernel, cpus=CPUS, qemu_options=monitor.options)
    monitor.check()
    assert [{name: cpu[name] for name in REGISTERS} for cpu in found] == [REGISTERS] * CPUS, result.explain()


def test_an_interrupt_that_firmware_has_not_acknowledged_keeps_no_other_one_away(
    tacet: Run, tmp_path: Path
) -> None:
    kernel = planted_all(tmp_path, soiling(tmp_path))
    result = expect_exit(tacet(qemu.BUSYBOX, "usleep", "1000", kernel=kernel, time_limit=20))
    # The PC's timer may have come in before it was masked: once, and it is named.
    assert re.findall(r"unexpected interrupt (\d+)", result.console) in ([], ["85"]), result.explain()


def test_all_inputs_of_the_io_apic_are_masked_whatever_firmware_left(tacet: Run, tmp_path: Path) -> None:
    said = ""

    def script(monitor: Client) -> None:
        nonlocal said
        said = monitor.human("info pic")
        monitor.human("nmi")  # the program ends

    with Monitor(tmp_path, script) as monitor:
        result = tacet(
            "wait.musl",
            kernel=planted_all(tmp_path, soiling(tmp_path)),
            qemu_options=monitor.options,
            on_stdout=monitor.at(b"ready"),
        )
    monitor.check()
    expect_exit(result)
    pins = re.findall(r"^ *pin (\d+) .*$", said, re.MULTILINE)
    assert len(pins) == 24 and len(re.findall(r"^ *pin .* masked", said, re.MULTILINE)) == 24, said


def test_sysenter_leads_nowhere_on_a_cpu_that_has_it(tacet: Run, tmp_path: Path) -> None:
    kernel = planted_all(tmp_path, soiling(tmp_path))
    result = tacet("forbidden.musl", "sysenter", kernel=kernel, cpu="Nehalem")
    expect_exit(result, 128 + signal.SIGSEGV)


# ---- Vector state ----

TEST_AVX = b"\x40\xf6\xc7\x04"  # test dil, 4


def answers(plain: int, avx: int) -> bytes:
    """vector_state_try: the bytes that CPUID says for a state without AVX, and with it."""
    return (
        b"\xb8"
        + plain.to_bytes(4, "little")
        + TEST_AVX
        + b"\x74\x05\xb8"
        + avx.to_bytes(4, "little")
        + b"\xc3"
    )


def test_vector_state_for_which_there_is_no_room_is_left_out(tacet: Run, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "vector_state_try", answers(576, 2689))
    result = expect_exit(tacet("status.musl", kernel=kernel, cpus=2))
    line = (
        "cpu: the vector state takes 2689 bytes by CPUID, and there is room for 2688: programs go without AVX"
    )
    assert f"tacet: {line}\r\n" in result.console and " avx\r\n" not in result.console, result.explain()


def test_a_cpu_whose_vector_state_fits_in_no_way_is_refused(tacet: Run, tmp_path: Path) -> None:
    for bytes_said in (0, 575, 2689):
        kernel = planted(tmp_path, "vector_state_try", answers(bytes_said, bytes_said))
        result = tacet("status.musl", kernel=kernel)
        assert (result.outcome, result.status) == ("stop", 64), result.explain()
        takes = f"the CPU's vector state (0x7) takes {bytes_said} bytes by CPUID"
        assert result.reason == f"{takes}, even without AVX not 576 to 2688", result.explain()


# ---- Power ----


def test_a_machine_with_reduced_acpi_hardware_switches_itself_off() -> None:
    """QEMU's microvm: a register in memory does it, and there is one serial port."""
    command = ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"]
    command += ["-machine", "microvm,acpi=on,rtc=on", "-accel", "tcg", "-cpu", "max", "-m", "128M"]
    command += ["-kernel", str(qemu.KERNEL), "-initrd", str(qemu.BUSYBOX)]
    for arguments, status in (('argv0=busybox -- sh -c "exit 7"', 7), ("none=1", 64)):
        ran = subprocess.run([*command, "-append", arguments], capture_output=True, text=True, timeout=200)
        assert ran.returncode == 0 and f" status={status}" in ran.stdout, ran.stdout + ran.stderr
