# SPDX-License-Identifier: BSD-2-Clause
"""Time and the CPU's number cost no kernel entry, and are the kernel's own."""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import Run, expect_exit, memory_of, program

import qemu

KINDS = ["musl", "musl-pie", "glibc", "glibc-pie"]
#: The usual CPU, on x86_64 one with RDTSCP and RDPID; one with RDTSCP alone, and one with neither, which
#: finds its number by LSL.
CPU_MODELS = [None, "max,-rdpid", "max,-rdtscp,-rdpid"]
NO_THREADS = 77


@pytest.mark.parametrize("kind", KINDS)
def test_both_c_libraries_find_the_vdso_and_enter_the_kernel_for_no_clock(kind: str, tacet: Run) -> None:
    result = expect_exit(tacet(f"vdso.{kind}"))
    assert result.stderr == b"" and b"broken: 0\n" in result.stdout, result.explain()


@pytest.mark.parametrize("cpu", CPU_MODELS)
def test_every_kind_of_cpu_and_every_one_of_four_reports_the_same_as_the_kernel(
    cpu: str | None, tacet: Run
) -> None:
    for kind in ("musl", "glibc"):
        result = expect_exit(tacet(f"vdso.{kind}", cpus=4, cpu=cpu, memory="256M"))
        assert sorted(re.findall(rb"^cpu: (\d+)$", result.stdout, re.MULTILINE)) == [
            b"0",
            b"1",
            b"2",
            b"3",
        ], result.explain()


@pytest.mark.parametrize("cpu", [None, "max,-rdtscp,-rdpid"])
def test_the_numa_node_is_the_cpu_s_own(cpu: str | None, arch: str, tacet: Run) -> None:
    half = memory_of("128M", arch)
    whole = f"{2 * int(half.removesuffix('M'))}M"
    nodes = [word for name in "ab" for word in ("-object", f"memory-backend-ram,id={name},size={half}")]
    nodes += ["-numa", "node,nodeid=0,cpus=0,memdev=a", "-numa", "node,nodeid=1,cpus=1,memdev=b"]
    result = expect_exit(tacet("vdso.musl", cpus=2, cpu=cpu, memory=whole, qemu_options=nodes))
    assert sorted(re.findall(rb"^node: (\d+)$", result.stdout, re.MULTILINE)) == [b"0", b"1"], (
        result.explain()
    )


@pytest.mark.parametrize("cpu", CPU_MODELS)
def test_a_cpu_whose_clock_is_late_reports_the_first_one_s_time(
    cpu: str | None, tacet: Run, tmp_path: Path
) -> None:
    # QEMU's CPUs share one clock, so a debugger makes the kernel believe that the second one's is ten hours
    # late.
    lag = "((struct cpu *)((char *)&boot_cpu + arch_cpu_distances[1]))->clock_offset"
    path = tmp_path / "gdb"
    script = tmp_path / "script"
    script.write_text(
        f"set pagination off\nset remotetimeout 120\ntarget remote {path}\n"
        "hbreak clock_offsets_set\ncontinue\n"
        f"set var {lag} = 36000 * arch_clock_hz()\nprint {lag}\ndelete\ndetach\n"
    )
    said: list[str] = []

    def debug() -> None:
        while not path.exists():
            pass
        ran = subprocess.run(
            ["gdb", "-nx", "-batch", "-x", script, qemu.KERNEL], capture_output=True, text=True, timeout=300
        )
        said.append(ran.stdout + ran.stderr)

    debugger = threading.Thread(target=debug, daemon=True)
    debugger.start()
    port = ["-S", "-chardev", f"socket,path={path},server=on,wait=off,id=gdb", "-gdb", "chardev:gdb"]
    result = tacet("vdso.musl", "ahead", cpus=2, cpu=cpu, memory="256M", qemu_options=port)
    debugger.join(300)
    expect_exit(result)
    reported = {
        int(number): int(seconds) for number, seconds in re.findall(rb"cpu (\d) seconds (\d+)", result.stdout)
    }
    assert 0 <= reported[0] < 3600 and 36000 <= reported[1] < 37000, result.explain() + "".join(said)


@pytest.mark.parametrize("kind", ["musl", "glibc"])
@pytest.mark.parametrize("cpu", CPU_MODELS)
def test_no_thread_sees_a_time_before_another_s(cpu: str | None, kind: str, tacet: Run) -> None:
    result = tacet(
        f"vdso.{kind}", "threads", cpus=4, cpu=cpu, memory="256M", options="ranks=1", time_limit=120
    )
    if result.status == NO_THREADS:
        pytest.skip("this kernel starts no threads")
    expect_exit(result)


def test_the_same_file_uses_linux_s_vdso() -> None:
    for kind in KINDS:
        ran = subprocess.run([program(f"vdso.{kind}")], capture_output=True, text=True, timeout=60)
        # Its coarse clocks stand still between ticks, and system calls report other resolutions.
        wrong = [line for line in ran.stderr.splitlines() if "clock 5" not in line and "clock 6" not in line]
        assert ran.returncode in (0, 1) and wrong == [], ran.stderr


def test_the_vdso_is_one_page_without_relocations_or_variables() -> None:
    image = qemu.BUILD / "x86_64" / "vdso.so"
    assert image.stat().st_size < 4096
    shown = subprocess.run(
        ["readelf", "-lrW", "--dyn-syms", image], capture_output=True, text=True, check=True
    ).stdout
    assert "There are no relocations" in shown and "RWE" not in shown and " RW " not in shown, shown
    assert len(re.findall(r"@@LINUX_2\.6$", shown, re.MULTILINE)) == 10, shown
