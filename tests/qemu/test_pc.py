# SPDX-License-Identifier: BSD-2-Clause
"""What a PC's firmware, CPUs and devices do: GRUB and its image under a BIOS and under UEFI (OVMF), the text
screen, models of CPUs, memory on both sides of the hole, the clocks by which the TSC is measured.

The ISO image goes through GRUB and multiboot2. A monitor looks at the text screen from outside, when the node
has switched itself off. How QEMU's own loader (PVH) hands a program over: test_boot.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Run, expect_exit, iso_made, program
from monitor import Client, Monitor
from test_boot import WORDS, arguments_of

import qemu

OVMF = ["-drive", "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE.fd"]


def make_iso(
    iso: Path, *words: str, app: str = "arguments.musl", options: str = "stdout=com2 stderr=com3"
) -> Path:
    return iso_made(iso, program(app), *words, options=options)


@pytest.fixture(scope="session")
def iso(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_iso(tmp_path_factory.mktemp("iso") / "tacet.iso", *WORDS)


# ---- The ISO image, through GRUB and multiboot2 ----

MACHINES = {
    "bios": (["-vga", "std"], "256M"),
    "bios_64M": ([], "64M"),
    "bios_q35": (["-machine", "q35", "-vga", "std"], "256M"),
    "bios_8G": ([], "8G"),
    "uefi": ([*OVMF, "-vga", "std"], "256M"),
    "uefi_64M": (OVMF, "64M"),
    "uefi_q35": ([*OVMF, "-machine", "q35"], "256M"),
    "uefi_8G": (OVMF, "8G"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_iso_reaches_the_program_with_its_arguments_byte_by_byte(machine: str, iso: Path) -> None:
    options, memory = MACHINES[machine]
    result = expect_exit(qemu.run_machine(["-cdrom", str(iso), *options], memory=memory, time_limit=120))
    assert arguments_of(result) == [b"arguments.musl", *(w.encode() for w in WORDS)], result.explain()
    assert "started by multiboot2" in result.console, result.explain()


def test_the_iso_boots_from_a_disk_too(iso: Path) -> None:
    result = qemu.run_machine(["-drive", f"file={iso},format=raw,if=ide,snapshot=on"])
    assert arguments_of(expect_exit(result))[1:] == [w.encode() for w in WORDS], result.explain()


@pytest.mark.parametrize("word", ["", "tab\there", "new\nline"])
def test_an_argument_that_grub_would_change_is_refused_when_the_iso_is_made(
    word: str, tmp_path: Path
) -> None:
    command = [
        "boot/make-iso",
        str(tmp_path / "x.iso"),
        str(qemu.KERNEL),
        str(program("arguments.musl")),
        "--",
        word,
    ]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert made.returncode == 2 and "GRUB cannot pass" in made.stderr
    assert not (tmp_path / "x.iso").exists()


def test_the_iso_reports_its_program_status(tmp_path: Path) -> None:
    image = make_iso(tmp_path / "status.iso", "42", app="status.musl")
    expect_exit(qemu.run_machine(["-cdrom", str(image)]), 42)


# ---- The text screen ----


def screen_of(folder: Path, monitor: Client) -> None:
    """Wait until the node is off, then fetch the text screen's memory."""
    monitor.wait_event("SHUTDOWN")
    monitor.command("pmemsave", val=0xB8000, size=80 * 25 * 2, filename=str(folder / "screen"))
    monitor.quit()


def screen_rows(folder: Path) -> list[str]:
    cells = (folder / "screen").read_bytes()
    return [cells[row * 160 : row * 160 + 160 : 2].decode("cp437").rstrip() for row in range(25)]


@pytest.mark.parametrize("way", ["pvh", "iso"])
def test_under_a_bios_the_screen_shows_what_the_kernel_says(
    way: str, tacet: Run, iso: Path, tmp_path: Path
) -> None:
    with Monitor(tmp_path, lambda monitor: screen_of(tmp_path, monitor)) as monitor:
        options = ["-vga", "std", "-no-shutdown", *monitor.options]
        monitor.go()
        if way == "pvh":
            result = tacet("status.musl", "3", qemu_options=options)
        else:
            result = qemu.run_machine(["-cdrom", str(iso), *options])
    monitor.check()
    rows = [row for row in screen_rows(tmp_path) if row]
    said = [line for line in result.console.replace("\r", "").splitlines() if line.startswith("tacet: ")]
    wrapped = [line[i : i + 80].rstrip() for line in said for i in range(0, len(line), 80)]
    assert rows == wrapped[-24:], result.explain()
    assert rows[-1] == f"tacet: exit status={3 if way == 'pvh' else 0}", rows


def test_the_screen_scrolls(tacet: Run, tmp_path: Path) -> None:
    with Monitor(tmp_path, lambda monitor: screen_of(tmp_path, monitor)) as monitor:
        monitor.go()
        # Without streams of its own the program prints where the kernel does.
        line = "stdout=vga argv0=busybox -- seq 1 100"
        result = tacet(
            qemu.BUSYBOX, qemu_options=["-vga", "std", "-no-shutdown", *monitor.options, "-append", line]
        )
    monitor.check()
    rows = [row for row in screen_rows(tmp_path) if row]
    # Raw bytes: a new line goes down and to the left.
    assert rows[:-1] == [str(n) for n in range(78, 101)] and rows[-1] == "tacet: exit status=0", (
        rows,
        result.explain(),
    )


# ---- Machines, CPUs, memory ----

CPUS = {
    "qemu64": "nx",
    "max": "nx smep smap umip 1GiB-pages avx",
    "max,-nx": "smep smap umip 1GiB-pages avx",
    "max,-smep": "nx smap umip 1GiB-pages avx",
    "max,-smap": "nx smep umip 1GiB-pages avx",
    "max,-umip": "nx smep smap 1GiB-pages avx",
    "max,-pdpe1gb": "nx smep smap umip avx",
    "max,-xsave": "nx smep smap umip 1GiB-pages",
    "max,-avx,-avx2": "nx smep smap umip 1GiB-pages",
    "max,-rdrand": "nx smep smap umip 1GiB-pages avx",
    "max,-nx,-smep,-smap,-umip,-pdpe1gb,-xsave,-rdrand,-mce,-mca": "",
    "core2duo": "nx",
    "Nehalem": "nx",
    "EPYC": "nx",
    "phenom": "nx",
}


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("app", ["runtime.glibc", "vector.musl"])
def test_every_cpu_runs_programs_with_what_it_has(cpu: str, app: str, tacet: Run) -> None:
    result = expect_exit(tacet(app, cpu=cpu, env={"PROMISE_TEST": "a value"}))
    described = re.search(r"^tacet: cpu: (.*)$", result.console, re.MULTILINE)
    assert described, result.explain()
    if cpu.startswith("max"):
        assert described[1].strip() == f"QEMU TCG CPU version 2.5+ {CPUS[cpu]}".strip(), result.explain()
    else:
        assert CPUS[cpu] in described[1].split(), result.explain()
    if app.startswith("vector"):
        assert (b"set: avx2" in result.stdout) == (" avx" in described[1]), result.explain()


@pytest.mark.parametrize("cpu", ["max", "max,-nx", "max,-smap", "qemu64"])
def test_without_a_protection_the_others_still_hold(cpu: str, tacet: Run) -> None:
    for deed in ("write_text", "read_kernel", "write_cr3"):
        expect_exit(tacet("forbidden.musl", deed, cpu=cpu), 128 + 11)


def test_a_cpu_without_64_bits_is_reported_so(tacet: Run, tmp_path: Path) -> None:
    with Monitor(tmp_path, Client.quit) as monitor:
        result = tacet(
            "status.musl",
            cpu="qemu32",
            qemu_options=monitor.options,
            on_console=monitor.at(b"x86_64 machine"),
        )
    assert "tacet: this CPU has no 64-bit mode; Tacet needs an x86_64 machine" in result.console, (
        result.explain()
    )


@pytest.mark.xdist_group("large")
@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_memory_above_the_hole_and_below_it_is_one_mapping(machine: str, tacet: Run) -> None:
    # More than either part has: 3 + 1.5 GiB on pc, 2 + 2.5 GiB on q35. (8 GiB are booted above; filling them
    # all takes long.)
    result = expect_exit(
        tacet("big.musl", "4096", memory="4608M", qemu_options=["-machine", machine], time_limit=180)
    )
    assert b"broken: 0" in result.stdout, result.explain()


def test_a_program_gets_nearly_all_of_64_MiB(tacet: Run) -> None:
    expect_exit(tacet("big.musl", "50", memory="64M"))


def test_several_modules_are_one_file_tree(tmp_path: Path) -> None:
    # GRUB with two modules: the second is a file at the path that its line names.
    work = tmp_path / "tree"
    (work / "boot" / "grub").mkdir(parents=True)
    (work / "boot" / "tacet.elf").write_bytes(qemu.KERNEL.read_bytes())
    (work / "boot" / "busybox").write_bytes(qemu.BUSYBOX.read_bytes())
    (work / "boot" / "text").write_bytes(b"the second module\n")
    (work / "boot" / "grub" / "grub.cfg").write_text(
        "set timeout=0\nmenuentry x {\nmultiboot2 /boot/tacet.elf stdout=com2 stderr=com3 argv0=busybox -- "
        "cat /etc/text\n"
        "module2 /boot/busybox\nmodule2 /boot/text /etc/text\nboot\n}\n"
    )
    image = tmp_path / "two.iso"
    subprocess.run(["grub-mkrescue", "-o", image, work], check=True, capture_output=True, timeout=120)
    result = expect_exit(qemu.run_machine(["-cdrom", str(image)]))
    assert result.stdout == b"the second module\n", result.explain()


# ---- Clocks ----

#: One instruction a nanosecond makes the TSC count at exactly 1 GHz, whichever clock it is measured against;
#: and how many millionths it may be off.
REFERENCES = {
    "HPET": ([], 25),
    "ACPI PM timer": (["-machine", "pc,hpet=off"], 25),
    "PIT": (["-machine", "pc,hpet=off,acpi=off"], 35),
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_each_reference_clock_gives_the_true_rate(reference: str, tacet: Run, tmp_path: Path) -> None:
    options, ppm_max = REFERENCES[reference]
    # Without ACPI the node cannot switch itself off; the monitor does it when the program has ended.
    with Monitor(tmp_path, Client.quit) as monitor:
        result = tacet(
            "clocks.musl",
            icount=0,
            qemu_options=[*options, *monitor.options],
            on_console=monitor.at(b"exit status=0\r\n") if reference == "PIT" else None,
        )
    expect_exit(result)
    measured = re.search(
        r"clock: TSC at (\d+\.\d+) MHz by (.*?), within (\d+) ppm(?: \(|$)",
        result.console.replace("\r", ""),
        re.MULTILINE,
    )
    assert measured and measured[2] == reference, result.explain()
    ppm = int(measured[3])
    assert abs(float(measured[1]) - 1000) * 1000 <= ppm <= ppm_max, result.explain()
    hz = re.search(rb"clock_hz: (\d+)", result.stdout)
    assert hz and int(hz[1]) == int(measured[1].replace(".", "")), result.explain()
