# SPDX-License-Identifier: BSD-2-Clause
"""A node that breaks or hangs: a panic is shown with names; a time limit shows where each CPU was, and keeps
the flight log."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]

from conftest import Run, program
from monitor import Monitor
from planted import FOR_EVER, planted

import qemu
from lab.formats import klog
from qemu import arguments, klog_file, postmortem
from qemu.symbols import Symbols

KERNEL_ADDRESS = re.compile(r"\b(ffffffff8[0-9a-f]{7})\b(?: (\w[\w.]*)\+(0x[0-9a-f]+) \(([^:)]+):(\d+)\))?")
#: Guest time by the host's clock, and by instructions.
CLOCKS = [None, 0]
LOOP = "int main(void)\n{\n    volatile int forever = 1;\n\n    while (forever)\n        ;\n}\n"


def kernel_functions() -> list[tuple[int, str]]:
    """Of binutils' own reading, ascending."""
    listed = subprocess.run(["nm", "-n", str(qemu.KERNEL)], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return [(int(at, 16), name) for at, kind, name in rows if kind in "tT"]


def typed(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "tools/run"), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


# ---- A panic ----


def test_a_panic_is_shown_whole_with_the_names_of_its_addresses(tmp_path: Path) -> None:
    kernel = planted(tmp_path, "sys_exit_group")
    ran = typed("--kernel", kernel, program("status.musl"), "3")
    lines = ran.stderr.splitlines()
    assert ran.returncode == 70, ran.stderr
    assert lines[0].startswith("tacet: the kernel itself faulted: invalid opcode"), ran.stderr
    assert lines[-2].startswith('tacet: stop status=70 reason="kernel fault: invalid opcode at ')
    assert lines[-1].startswith("tools/run: the node stopped: kernel fault: invalid opcode")
    assert any(line.startswith("tacet: the last events of CPU 0") for line in lines)

    functions = kernel_functions()
    end = Symbols(qemu.KERNEL).find("image_text_end").address
    named = [m.groups() for line in lines[:-1] for m in KERNEL_ADDRESS.finditer(line)]
    code = [group for group in named if functions[0][0] <= int(group[0], 16) < end]
    assert len(code) >= 4, ran.stderr
    starts = dict((name, at) for at, name in functions)
    for address, name, offset, file, line in code:
        assert starts[name] + int(offset, 16) == int(address, 16), (address, name, offset)
        assert 0 < int(line) <= len((ROOT / file).read_text().splitlines()), (file, line)
    assert re.search(r"rip ffffffff\w+ sys_exit_group\+0x0 \(kernel/syscall/\w+\.c:\d+\)  rsp ", ran.stderr)
    assert re.search(r"called from \w+ trap_handle\+0x\w+ \(arch/x86_64/trap\.c:\d+\)\n", ran.stderr)


def test_a_machine_check_is_shown_whole(tacet: Run, tmp_path: Path) -> None:
    broken = "mce 0 4 0xb400000000000135 0x5 0x12345000 0"
    with Monitor(tmp_path, lambda monitor: monitor.human(broken)) as monitor:
        result = tacet("wait.musl", qemu_options=monitor.options, on_stdout=monitor.at(b"ready"))
    monitor.check()
    shown = qemu.panic_of(result.console).splitlines()
    assert result.status == 71, result.explain()
    assert shown[0].startswith("tacet: machine check: ") and shown[-1].startswith("tacet: stop status=71")
    assert any("  bank 4 status " in line for line in shown), shown


# ---- A time limit ----


@pytest.mark.parametrize("icount", CLOCKS)
@pytest.mark.parametrize("which", ["system", "newest"])
def test_a_program_that_loops_is_shown_by_its_function(which: str, icount: int | None, tacet: Run) -> None:
    result = tacet("ranks.musl", "spin,spin", cpus=2, memory="256M", icount=icount, qemu=which, time_limit=8)
    assert result.outcome == "timeout", result.explain()
    for cpu in range(2):
        assert any(
            re.fullmatch(rf"CPU {cpu}: ring 3, 0{{10}}[0-9a-f]{{6}} (main|act)\+0x[0-9a-f]+", line)
            for line in result.postmortem
        ), result.explain()
    assert len(result.postmortem) == 2
    assert result.flight_log is not None and str(result.flight_log) in result.explain()
    log = klog.read(result.flight_log)
    assert sorted(int(rank) for rank, _ in log.of("program_enter")) == [0, 1], result.explain()
    assert log.clock_hz > 0 and len(log.cpus) == 2


def test_a_position_independent_program_has_names_and_lines(tacet: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(LOOP)
    flags = ["-g", "-O1", "-fPIE", "-static-pie"]
    subprocess.run(["gcc", *flags, tmp_path / "loop.c", "-o", tmp_path / "loop"], check=True, timeout=120)
    result = tacet(tmp_path / "loop", time_limit=5)
    assert re.fullmatch(
        rf"CPU 0: ring 3, 00000400\w{{8}} main\+0x\w+ \({re.escape(str(tmp_path))}/loop\.c:[56]\)",
        result.postmortem[0],
    ), result.explain()


@pytest.mark.parametrize("icount", CLOCKS)
def test_a_hang_of_the_kernel_with_interrupts_off_is_shown(icount: int | None, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "sys_exit_group", FOR_EVER)
    kept = tmp_path / "klog.bin"
    clock = [] if icount is None else ["--icount", str(icount)]
    ran = typed("--time-limit", "5", "--klog", kept, "--kernel", kernel, *clock, program("status.musl"), "0")
    assert ran.returncode == 124, ran.stderr
    assert re.search(r"no end within 5 s(, besides .*)?; --time-limit S sets another limit\n", ran.stderr)
    assert re.search(
        r"^CPU 0: ring 0, interrupts off, ffffffff\w{8} sys_exit_group\+0x0 \(kernel/syscall/\w+\.c:\d+\)\n"
        r"  called from ffffffff\w{8} syscall_entry\+0x\w+ \(arch/x86_64/syscall_entry\.asm:\d+\)\n"
        r"  called by the program at 0{10}\w{6} (_Exit|exit_group)\+0x\w+",
        ran.stderr,
        re.MULTILINE,
    ), ran.stderr
    assert f"tools/lab klog {kept}\n" in ran.stderr
    assert len(klog.read(kept).of("program_enter")) == 1


def test_a_sleeping_cpu_is_shown_with_what_it_waits_in(tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "sleep", "1000", cpus=2, memory="256M", options="ranks=1", time_limit=6)
    text = "\n".join(result.postmortem)
    assert re.search(
        r"^CPU 0: ring 0, halted, interrupts on, \w+ arch_cpu_idle\+.*\n"
        r"(  called from .*\n)*  called from \w+ sleep\+.*\n(  called from .*\n)*"
        r"  called from \w+ syscall_entry\+.*\n  called by the program at \w+ in the program$",
        text,
        re.MULTILINE,
    ), result.explain()
    assert re.search(r"^CPU 1: ring 0, halted, interrupts on, ", text, re.MULTILINE), result.explain()


def test_the_log_out_of_the_memory_is_the_log_that_the_node_sends(tacet: Run, tmp_path: Path) -> None:
    """The same run, once to its end and once stopped just before: under a deterministic clock the events up
    to there are the same."""
    ended = tacet("status.musl", "0", icount=0, klog=tmp_path / "ended")
    stopped = tacet(
        "status.musl",
        "0",
        icount=0,
        klog=tmp_path / "stopped",
        kernel=planted(tmp_path, "klog_end", FOR_EVER),
        time_limit=8,
    )
    assert (ended.outcome, stopped.outcome) == ("exit", "timeout"), stopped.explain()
    assert (tmp_path / "ended").read_bytes() == (tmp_path / "stopped").read_bytes()


def test_a_node_that_has_not_come_as_far_as_its_log_says_so(tacet: Run, tmp_path: Path) -> None:
    result = tacet("status.musl", "0", kernel=planted(tmp_path, "arch_start", FOR_EVER), time_limit=4)
    assert re.match(r"CPU 0: ring 0, interrupts off, \w+ arch_start\+0x0 \(", result.postmortem[0])
    assert result.flight_log is None
    assert "the node has not come as far as its flight log" in result.explain()


def test_linux_and_machines_with_nothing_known_show_their_registers(busybox: Path) -> None:
    result = qemu.run_linux(busybox, ["sleep", "1000"], time_limit=8)
    assert result.outcome == "timeout", result.explain()
    assert re.fullmatch(r"CPU 0: ring [03].*, rip [0-9a-f]{16}, rsp [0-9a-f]{16}", result.postmortem[0]), (
        result.explain()
    )
    empty = qemu.run_machine([], time_limit=2)
    assert len(empty.postmortem) == 1 and "CPU 0: ring 0" in empty.explain()


# ---- What the reading stands on ----


def test_the_offsets_are_those_of_the_kernels_own_types() -> None:
    fields = {
        "kernel_stack": postmortem.CPU_KERNEL_STACK,
        "self": postmortem.CPU_SELF,
        "klog": postmortem.CPU_KLOG,
        "thread": postmortem.CPU_THREAD,
        "task_state": postmortem.CPU_TASK_STATE,
    }
    asked = [f"print/x (long)&((struct cpu *)0)->{name}" for name in fields]
    asked.append("print/x (long)&((struct klog_ring *)0)->events")
    words = [word for line in asked for word in ("-ex", line)]
    said = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", *words, str(qemu.KERNEL)], capture_output=True, text=True, timeout=120
    )
    values = [int(value, 16) for value in re.findall(r"= (0x[0-9a-f]+)", said.stdout)]
    assert values == [*fields.values(), postmortem.RING_EVENTS_AT], said.stdout + said.stderr


@pytest.mark.parametrize(
    ("header", "name", "value"),
    [
        ("arch/x86_64/include/arch/cpu.h", "KERNEL_BASE", postmortem.KERNEL_BASE),
        ("arch/x86_64/include/arch/cpu.h", "DIRECT_MAP", postmortem.DIRECT_MAP),
        ("arch/x86_64/include/arch/cpu.h", "SELECTOR_USER_CODE", postmortem.USER_CODE),
        ("arch/x86_64/include/arch/cpu.h", "SELECTOR_USER_DATA", postmortem.USER_DATA),
        ("arch/x86_64/include/arch/platform.h", "ARCH_PIE_BASE", postmortem.PIE_BASE),
        ("arch/x86_64/include/arch/platform.h", "ARCH_CPUS_MAX", postmortem.CPUS_MAX),
        ("arch/x86_64/include/arch/platform.h", "ARCH_CPUS_MAX", arguments.TACET_CPUS_MAX),
        ("kernel/debug/klog.h", "KLOG_EVENTS", klog_file.RING_EVENTS),
        ("kernel/debug/klog.h", "KLOG_VERSION", klog_file.VERSION),
    ],
)
def test_the_constants_are_the_kernels(header: str, name: str, value: int) -> None:
    text = (ROOT / header).read_text()
    defined = re.search(rf"^#define {name} +(0x[0-9a-fA-F]+|\d+)(?:ULL)?\b", text, re.MULTILINE)
    assert defined is not None and int(defined[1], 0) == value
