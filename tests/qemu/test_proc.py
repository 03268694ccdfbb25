# SPDX-License-Identifier: BSD-2-Clause
"""/proc and /sys show programs what they look for there, and it is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import cpio

KINDS = ["musl", "musl-pie", "glibc", "glibc-pie"]
CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_reads_the_truth_about_itself(kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"proc.{kind}", "one", "two words", "", env={"PROMISE_TEST": "a value"}))
    assert result.stderr == b"" and b"broken: 0\n" in result.stdout, result.explain()


@pytest.mark.parametrize("cpus", [2, 4])
def test_every_rank_has_cpus_memory_and_a_number_of_its_own(cpus: int, tacet: Run) -> None:
    result = expect_exit(
        tacet("proc.glibc", "one", "two", cpus=cpus, memory="256M", env={"PROMISE_TEST": "a value"})
    )
    assert result.stdout.count(b"broken: 0\n") == cpus and result.stderr == b"", result.explain()


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_the_c_libraries_find_the_names_that_they_look_up(kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"names.{kind}"))
    assert result.stderr == b"" and b"broken: 0\n" in result.stdout, result.explain()


def test_files_of_the_archive_replace_those_of_etc(
    arch: str, tacet: Run, busybox: Path, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    own = [cpio.Entry.file("etc/passwd", b"own:x:7:7::/:/none\n"), cpio.Entry.link("etc/group", "passwd")]
    module.write_bytes(cpio.pack([cpio.Entry.file("init", busybox.read_bytes(), executable=True), *own]))
    files = ["/etc/passwd", "/etc/group", "/etc/hostname"]
    result = expect_exit(tacet(None, "cat", *files, initrd=module, options="argv0=busybox"))
    assert result.stdout == 2 * b"own:x:7:7::/:/none\n" + b"tacet\n", result.explain()


def test_the_command_line_is_shown_without_keys(tacet: Run, busybox: Path) -> None:
    options = f"threads=3 nettick_key={'5a' * 16}"
    result = expect_exit(tacet(busybox, "cat", "/proc/cmdline", options=options))
    assert b"threads=3 " in result.stdout and result.stdout.endswith(b" -- cat /proc/cmdline\n")
    assert b"_key" not in result.stdout and b"5a5a" not in result.stdout, result.explain()


def shown(tacet: Run, busybox: Path, *paths: str, **machine: object) -> list[str]:
    """The files' lines."""
    result = expect_exit(tacet(busybox, "cat", *paths, options="ranks=1", **machine))
    assert result.stderr == b"", result.explain()
    return result.stdout.decode().splitlines()


#: Cores of each of two packages, and threads of a core: QEMU's emulation of POWER has one thread of a core.
PLACES = {"x86_64": (2, 2), "ppc64": (4, 1)}


def with_places(arch: str) -> dict[str, object]:
    """A machine of eight CPUs."""
    cores, threads = PLACES[arch]
    return {
        "cpus": 8,
        "memory": "256M",
        "qemu_options": ["-smp", f"8,sockets=2,cores={cores},threads={threads}"],
    }


def cpu_entries(lines: list[str]) -> list[dict[str, str]]:
    return [
        dict(re.findall(r"^([^\t\n]+)\t*: ?(.*)$", part, re.MULTILINE))
        for part in "\n".join(lines).strip().split("\n\n")
    ]


def expect_x86_64(entries: list[dict[str, str]]) -> None:
    places = {(entry["physical id"], entry["core id"]) for entry in entries}
    assert places == {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}
    assert all(
        entry["siblings"] == "4" and entry["cpu cores"] == "2" and float(entry["cpu MHz"]) > 1
        for entry in entries
    )
    assert all({"fpu", "tsc", "sse2", "syscall", "lm"} <= set(entry["flags"].split()) for entry in entries)
    assert len({entry["apicid"] for entry in entries}) == 8


def expect_ppc64(entries: list[dict[str, str]]) -> None:
    """What is said of the whole machine follows the last CPU."""
    machine = entries.pop()
    assert machine["platform"] == "pSeries" and machine["MMU"] == "Radix" and int(machine["timebase"]) > 1e6
    assert all(re.fullmatch(r"POWER9 \(\w+\), altivec supported", entry["cpu"]) for entry in entries)
    assert all(float(entry["clock"].removesuffix("MHz")) > 1 for entry in entries)


def test_proc_reports_the_cpus_as_linux_does(arch: str, tacet: Run, busybox: Path) -> None:
    entries = cpu_entries(shown(tacet, busybox, "/proc/cpuinfo", **with_places(arch)))
    {"x86_64": expect_x86_64, "ppc64": expect_ppc64}[arch](entries)
    assert [entry["processor"] for entry in entries] == [str(cpu) for cpu in range(8)]


def test_the_cpus_have_their_places(arch: str, tacet: Run, busybox: Path) -> None:
    files = [
        f"{CPU}/cpu{cpu}/topology/{name}"
        for cpu in range(8)
        for name in ("physical_package_id", "core_id", "thread_siblings_list", "core_siblings_list")
    ]
    reported = shown(tacet, busybox, *files, **with_places(arch))
    cores, threads = PLACES[arch]
    for cpu in range(8):
        package, core, siblings, packaged = reported[4 * cpu : 4 * cpu + 4]
        alike = [str(other) for other in range(8) if reported[4 * other : 4 * other + 2] == [package, core]]
        near = [other for other in range(8) if reported[4 * other] == package]
        assert siblings in (",".join(alike), "-".join(alike))
        assert len(alike) == threads and str(cpu) in alike
        ends = [[int(end) for end in part.split("-")] for part in packaged.split(",")]
        assert [other for end in ends for other in range(end[0], end[-1] + 1)] == near and len(near) == 4
    assert len({tuple(reported[4 * cpu : 4 * cpu + 2]) for cpu in range(8)}) == 2 * cores


def test_possible_cpus_are_the_node_s_and_online_ones_the_rank_s(tacet: Run, busybox: Path) -> None:
    reported = shown(
        tacet,
        busybox,
        f"{CPU}/possible",
        f"{CPU}/present",
        f"{CPU}/online",
        f"{NODE}/online",
        f"{NODE}/node0/cpulist",
        cpus=4,
    )
    assert reported[:2] == ["0-3", "0-3"] and reported[3:] == ["0", "0-3"] and reported[2] in ("0", "0-3")


def test_interrupts_are_counted_by_cpu_and_name(tacet: Run, busybox: Path) -> None:
    result = expect_exit(
        tacet(busybox, "cat", "/proc/interrupts", "/proc/tacet/counters", cpus=3, options="ranks=1")
    )
    lines = result.stdout.decode().splitlines()
    assert lines[0].split() == ["CPU0", "CPU1", "CPU2"]
    counted = {
        line.split()[0]: [int(word) for word in line.split()[1:4]]
        for line in lines[1:]
        if line.split()[0].endswith(":")
    }
    for label, vector in (("LOC:", 0xF1), ("RES:", 0xF0), ("SPU:", 0xFF)):
        for cpu in range(3):
            match = re.search(rf"^cpu{cpu} interrupt {vector} (\d+)", result.stdout.decode(), re.MULTILINE)
            assert counted[label][cpu] == (int(match[1]) if match else 0), result.explain()
    # The others have been woken to start with.
    assert counted["RES:"][1] >= 1 and counted["RES:"][0] == 0, result.explain()


def test_the_tools_of_busybox_find_what_they_read(tacet: Run, busybox: Path) -> None:
    free = expect_exit(tacet(busybox, "free", "-k", memory="256M"))
    total, used, left = (
        int(number) for number in re.search(rb"Mem: +(\d+) +(\d+) +(\d+)", free.stdout).groups()
    )  # type: ignore[union-attr]
    assert 192 << 10 < total < 256 << 10 and 0 < used < total and used + left == total, free.explain()
    assert expect_exit(tacet(busybox, "nproc")).stdout == b"1\n"
    mounted = expect_exit(tacet(busybox, "mount"))
    assert b"rootfs on / type rootfs" in mounted.stdout and b"proc on /proc type proc" in mounted.stdout, (
        mounted.explain()
    )
    assert (
        b"tmpfs on /tmp type tmpfs" in mounted.stdout and b"tmpfs on /dev/shm type tmpfs" in mounted.stdout
    ), mounted.explain()
    disks = expect_exit(tacet(busybox, "df", "-k", "/tmp", "/dev/shm", memory="256M"))
    sizes = [int(line.split()[1]) for line in disks.stdout.decode().splitlines()[1:]]
    assert sizes == [total, total], disks.explain()
    assert re.fullmatch(
        rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n",
        expect_exit(tacet(busybox, "cat", "/proc/sys/kernel/random/boot_id")).stdout,
    )
