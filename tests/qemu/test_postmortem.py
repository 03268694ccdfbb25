# SPDX-License-Identifier: BSD-2-Clause
"""A node that breaks or hangs: a panic is shown with names; a time limit shows where each CPU was, and keeps
the flight log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]

from conftest import Run, memory_of, program, slowness
from monitor import Monitor
from planted import FOR_EVER_OF, planted

import qemu
from lab.formats import klog
from qemu import architectures, arguments, klog_file, paths, postmortem, stopped
from qemu.symbols import Symbols

#: How each kernel's reports and QEMU's registers are worded.
WORDS = {
    "x86_64": {
        "fault": "invalid opcode",
        "instruction": r"rip ffffffff\w+ sys_exit_group\+0x0 \(kernel/syscall/\w+\.c:\d+\)  rsp ",
        "program": "ring 3",
        "kernel": "ring 0, interrupts off",
        "idle": "ring 0, halted, interrupts on",
        "idles in": "arch_cpu_idle",
        "entry": "asm",
        "registers": r"ring [03].*, rip [0-9a-f]{16}, rsp [0-9a-f]{16}",
    },
    "ppc64": {
        "fault": "program",
        "instruction": r"nip c0000000\w+ sys_exit_group\+0x0 \(kernel/syscall/\w+\.c:\d+\) msr ",
        "program": "problem state",
        "kernel": "supervisor state, interrupts off",
        "idle": "supervisor state, interrupts on",
        "idles in": "hypercall",
        "entry": "S",
        "registers": r"(problem|supervisor) state.*, nip [0-9a-f]{16}, r1 [0-9a-f]{16}",
    },
}


def kernel_address(arch: str) -> re.Pattern[str]:
    """An address of the kernel's, and its name if it has got one."""
    address = architectures.named(arch).kernel_address
    return re.compile(rf"\b({address})\b(?: (\w[\w.]*)\+(0x[0-9a-f]+) \(([^:)]+):(\d+)\))?")


#: Guest time by the host's clock, and by instructions.
CLOCKS = [None, 0]
LOOP = "int main(void)\n{\n    volatile int forever = 1;\n\n    while (forever)\n        ;\n}\n"


def kernel_functions(arch: str) -> list[tuple[int, str]]:
    """Of binutils' own reading, ascending."""
    listed = subprocess.run(
        ["nm", "-n", paths.kernel(arch)], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listed.splitlines())
    return [(int(at, 16), name) for at, kind, name in rows if kind in "tT"]


def typed(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "tools/run"), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def machine(arch: str) -> list[str]:
    return ["--arch", arch, "--memory", memory_of("128M", arch)]


# ---- A panic ----


def test_a_panic_is_shown_whole_with_the_names_of_its_addresses(arch: str, tmp_path: Path) -> None:
    kernel, words = planted(tmp_path, "sys_exit_group", arch=arch), WORDS[arch]
    ran = typed(*machine(arch), "--kernel", kernel, program("status.musl", arch), "3")
    lines = ran.stderr.splitlines()
    assert ran.returncode == 70, ran.stderr
    assert lines[0].startswith(f"tacet: the kernel itself faulted: {words['fault']}"), ran.stderr
    assert lines[-2].startswith(f'tacet: stop status=70 reason="kernel fault: {words["fault"]} at ')
    assert lines[-1].startswith(f"tools/run: the node stopped: kernel fault: {words['fault']}")
    assert any(line.startswith("tacet: the last events of CPU 0") for line in lines)

    functions = kernel_functions(arch)
    end = Symbols(paths.kernel(arch)).find("image_text_end").address
    named = [m.groups() for line in lines[:-1] for m in kernel_address(arch).finditer(line)]
    code = [group for group in named if functions[0][0] <= int(group[0], 16) < end]
    assert len(code) >= 4, ran.stderr
    starts = dict((name, at) for at, name in functions)
    for address, name, offset, file, line in code:
        assert starts[name] + int(offset, 16) == int(address, 16), (address, name, offset)
        assert 0 < int(line) <= len((ROOT / file).read_text().splitlines()), (file, line)
    assert re.search(words["instruction"], ran.stderr), ran.stderr
    caller = rf"called from \w+ trap_handle\+0x\w+ \(arch/{arch}/trap\.c:\d+\)\n"
    assert re.search(caller, ran.stderr), ran.stderr


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


@pytest.mark.parametrize(("which", "icount"), [("system", None), ("newest", 0)])
def test_a_program_that_loops_is_shown_by_its_function(
    which: str, icount: int | None, arch: str, tacet: Run
) -> None:
    result = tacet("ranks.musl", "spin,spin", cpus=2, memory="256M", icount=icount, qemu=which, time_limit=5)
    assert result.outcome == "timeout", result.explain()
    for cpu in range(2):
        assert any(
            re.fullmatch(
                rf"CPU {cpu}: {WORDS[arch]['program']}, 0{{8}}[0-9a-f]{{8}} (main|act)\+0x[0-9a-f]+", line
            )
            for line in result.postmortem
        ), result.explain()
    assert len(result.postmortem) == 2
    assert result.flight_log is not None and str(result.flight_log) in result.explain()
    log = klog.read(result.flight_log)
    assert sorted(int(rank) for rank, _ in log.of("program_enter")) == [0, 1], result.explain()
    assert log.clock_hz > 0 and len(log.cpus) == 2


def test_a_position_independent_program_has_names_and_lines(arch: str, tacet: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(LOOP)
    flags = ["-g", "-O1", "-fPIE", "-static-pie"]
    subprocess.run(
        ["libc/tacet-cc", *flags, tmp_path / "loop.c", "-o", tmp_path / "loop"],
        cwd=ROOT,
        env={**os.environ, "TACET_BUILD": "build", "TACET_ARCH": arch},
        check=True,
        timeout=120,
    )
    result = tacet(tmp_path / "loop", time_limit=5)
    folder = re.escape(str(tmp_path))
    assert re.fullmatch(
        rf"CPU 0: {WORDS[arch]['program']}, 00000400\w{{8}} main\+0x\w+ \({folder}/loop\.c:[56]\)",
        result.postmortem[0],
    ), result.explain()


@pytest.mark.parametrize("icount", CLOCKS)
def test_a_hang_of_the_kernel_with_interrupts_off_is_shown(
    icount: int | None, arch: str, tmp_path: Path
) -> None:
    kernel = planted(tmp_path, "sys_exit_group", FOR_EVER_OF[arch], arch)
    kept = tmp_path / "klog.bin"
    clock = [] if icount is None else ["--icount", str(icount)]
    limit = str(round(5 * slowness()))
    limits = ["--time-limit", limit, "--klog", kept, "--kernel", kernel, *clock]
    ran = typed(*machine(arch), *limits, program("status.musl", arch), "0")
    assert ran.returncode == 124, ran.stderr
    said = rf"no end within {limit} s(, besides .*)?; --time-limit S sets another limit\n"
    assert re.search(said, ran.stderr)
    assert re.search(
        rf"^CPU 0: {WORDS[arch]['kernel']}, \w{{16}} sys_exit_group\+0x0 \(kernel/syscall/\w+\.c:\d+\)\n"
        rf"  called from \w{{16}} syscall_entry\+0x\w+ "
        rf"\(arch/{arch}/syscall_entry\.{WORDS[arch]['entry']}:\d+\)\n"
        r"  called by the program at 0{8}\w{8} (_Exit|exit_group)\+0x\w+",
        ran.stderr,
        re.MULTILINE,
    ), ran.stderr
    assert f"tools/lab klog {kept}\n" in ran.stderr
    assert len(klog.read(kept).of("program_enter")) == 1


def test_a_sleeping_cpu_is_shown_with_what_it_waits_in(arch: str, tacet: Run, busybox: Path) -> None:
    idle = f"{WORDS[arch]['idle']}, "
    result = tacet(busybox, "sleep", "1000", cpus=2, memory="256M", options="ranks=1", time_limit=6)
    text = "\n".join(result.postmortem)
    assert re.search(
        rf"^CPU 0: {idle}\w+ {WORDS[arch]['idles in']}\+.*\n"
        r"(  called from .*\n)*  called from \w+ sleep\+.*\n(  called from .*\n)*"
        r"  called from \w+ syscall_entry\w*\+.*\n  called by the program at \w+ in the program$",
        text,
        re.MULTILINE,
    ), result.explain()
    assert re.search(f"^CPU 1: {idle}", text, re.MULTILINE), result.explain()


def test_the_log_out_of_the_memory_is_the_log_that_the_node_sends(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    """The same run, once to its end and once stopped just before: under a deterministic clock the events up
    to there are the same."""
    ended = tacet("status.musl", "0", icount=0, klog=tmp_path / "ended")
    stopped = tacet(
        "status.musl",
        "0",
        icount=0,
        klog=tmp_path / "stopped",
        kernel=planted(tmp_path, "klog_end", FOR_EVER_OF[arch], arch),
        time_limit=8,
    )
    assert (ended.outcome, stopped.outcome) == ("exit", "timeout"), stopped.explain()
    assert (tmp_path / "ended").read_bytes() == (tmp_path / "stopped").read_bytes()


def test_a_node_that_has_not_come_as_far_as_its_log_says_so(arch: str, tacet: Run, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "arch_start", FOR_EVER_OF[arch], arch)
    result = tacet("status.musl", "0", kernel=kernel, time_limit=4)
    assert re.match(rf"CPU 0: {WORDS[arch]['kernel']}, \w+ arch_start\+0x[08] \(", result.postmortem[0])
    assert result.flight_log is None
    assert "the node has not set up its flight log yet" in result.explain()


def test_linux_shows_its_registers() -> None:
    result = qemu.run_linux(qemu.BUSYBOX, ["sleep", "1000"], time_limit=8)
    assert result.outcome == "timeout", result.explain()
    assert re.fullmatch(rf"CPU 0: {WORDS['x86_64']['registers']}", result.postmortem[0]), result.explain()


def test_a_machine_with_nothing_known_shows_its_registers(arch: str) -> None:
    empty = qemu.run_machine([], arch=arch, memory=memory_of("128M", arch), time_limit=2)
    assert len(empty.postmortem) == 1, empty.explain()
    assert re.fullmatch(rf"CPU 0: {WORDS[arch]['registers']}", empty.postmortem[0]), empty.explain()


# ---- What the reading stands on ----


ASKED = """
#include "arch/cpu.h"
#include "arch/trap.h"
#include "debug/klog.h"
#include <stddef.h>
EXTRA
#define SAY(name, value) __asm__ volatile("\\n->" #name " %c0" : : "i"(value))
void say(void);
void say(void)
{
SAID
}
"""
#: What else an architecture's layout has, as C.
FURTHER = {
    "x86_64": ("", {}),
    "ppc64": (
        '#include "arch/device_tree.h"',
        {
            "MIDDLE": "CPU_MIDDLE",
            "FRAME_BYTES": "sizeof(struct trap_frame)",
            "FRAME_INSTRUCTION": "offsetof(struct trap_frame, instruction)",
            "CLOCK_HZ": "offsetof(struct machine_facts, timebase_hz)",
        },
    ),
}


def test_the_offsets_are_those_of_the_kernels_own_types(arch: str, tmp_path: Path) -> None:
    layout = stopped.LAYOUTS[arch]
    extra, further = FURTHER[arch]
    asked = {name: f"offsetof(struct cpu, {name})" for name in layout.FIELDS}
    asked |= {"events": "offsetof(struct klog_ring, events)", **further}
    said = "\n".join(f"    SAY({name}, {value});" for name, value in asked.items())
    (tmp_path / "asked.c").write_text(ASKED.replace("EXTRA", extra).replace("SAID", said))
    folders = ("kernel", f"arch/{arch}/include", "libc/include", ".")
    compiled = subprocess.run(
        [
            f"{architectures.named(arch).binutils}gcc",
            *("-std=gnu11", "-O1", "-ffreestanding", "-S", "-o", "-"),
            *(word for folder in folders for word in ("-iquote", folder)),
            tmp_path / "asked.c",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    values = {name: int(value) for name, value in re.findall(r"->(\w+) (\d+)", compiled.stdout)}
    expected = {**layout.FIELDS, "events": postmortem.RING_EVENTS_AT}
    for name in further:
        value = getattr(layout, name)
        expected[name] = value[1] if isinstance(value, tuple) else value
    assert values == expected, compiled.stderr


CPU_HEADER, LAYOUT = "arch/x86_64/include/arch/cpu.h", stopped.X86_64


@pytest.mark.parametrize(
    ("header", "name", "value"),
    [
        (CPU_HEADER, "KERNEL_BASE", LAYOUT.KERNEL_BASE),
        (CPU_HEADER, "DIRECT_MAP", LAYOUT.DIRECT_MAP),
        (CPU_HEADER, "SELECTOR_USER_CODE", LAYOUT.USER_CODE),
        (CPU_HEADER, "SELECTOR_USER_DATA", LAYOUT.USER_DATA),
        ("arch/ppc64/include/arch/cpu.h", "DIRECT_MAP", stopped.Ppc64.DIRECT_MAP),
        ("arch/common/platform.h", "ARCH_PIE_BASE", LAYOUT.PIE_BASE),
        ("arch/common/platform.h", "ARCH_PIE_BASE", stopped.Ppc64.PIE_BASE),
        ("arch/common/platform.h", "ARCH_CPUS_MAX", stopped.CPUS_MAX),
        ("arch/common/platform.h", "ARCH_CPUS_MAX", arguments.TACET_CPUS_MAX),
        ("kernel/debug/klog.h", "KLOG_EVENTS", klog_file.RING_EVENTS),
        ("kernel/debug/klog.h", "KLOG_VERSION", klog_file.VERSION),
    ],
)
def test_the_constants_are_the_kernels(header: str, name: str, value: int) -> None:
    text = (ROOT / header).read_text()
    defined = re.search(rf"^#define {name} +(0x[0-9a-fA-F]+|\d+)(?:ULL)?\b", text, re.MULTILINE)
    assert defined is not None and int(defined[1], 0) == value
