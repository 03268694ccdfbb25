# SPDX-License-Identifier: BSD-2-Clause
"""What tools/run says to arguments that no machine can have, to files that do not fit, and on a host that is
full: one line, what was wrong and what would be right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import qemu
from qemu import Machine, Program, RunnerError, arguments, klog_file, report, room
from qemu.sizes import GIB, KIB, MIB, parse_size, size_text
from qemu.symbols import Symbols


def typed(*words: str | Path, **keywords: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "run"), *map(str, words)]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **keywords
    )


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """What passes for a program, until a node looks at it."""
    path = tmp_path / "app"
    path.write_bytes(b"\x7fELF\2\1\1" + bytes(57))
    return path


CPUS = "--cpus takes 1 to 1024 (the kernel's limit), not "
LEAST = "--memory takes 20M or more, which the kernel and a small program need, not "
SIZE = "--memory takes a size such as 256M or 2G, not "
SECONDS = "--time-limit takes seconds, above 0 and at most 31536000, not "


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((["--cpus", n], CPUS + n) for n in ("0", "-1", "1025", "3000", "x", "1.5")),
        *(
            (["--linux", "--cpus", n], f"--cpus takes 1 to 255 (the limit of QEMU's machine), not {n}")
            for n in ("0", "256")
        ),
        (["--linux-tuned", "--cpus", "1"], "--cpus takes 2 to 255 (the limit of QEMU's machine), not 1"),
        *((["--memory", size], SIZE + size) for size in ("10Q", "-5", "0.5", "1G,slots=2", "G")),
        *((["--memory", size], LEAST + size) for size in ("0", "1K", "19", "19.9M")),
        (["--linux", "--memory", "64M"], "--memory takes 96M or more, which Linux needs, not 64M"),
        *((["--icount", n], f"--icount takes 0 to 10, not {n}") for n in ("-1", "11", "20", "auto")),
        *((["--time-limit", s], SECONDS + s) for s in ("0", "-1", "nan", "inf", "1e99", "soon")),
        (["--cwd", "tmp"], "--cwd takes an absolute path on the node, such as /tmp, not tmp"),
        (["--kernel", "/none"], "--kernel /none: No such file or directory"),
        (["--kernel", "/etc/passwd"], "--kernel /etc/passwd is not a kernel: it is no ELF file"),
        (["--stdin", "/tmp"], "/tmp is a folder; standard input takes a file"),
        (["--klog", "/none/log"], "cannot write the flight log to /none/log: No such file or directory"),
        (["--klog", "/tmp"], "cannot write the flight log to /tmp: Is a directory"),
        (["--qemu-options='"], "--qemu-options: no closing quotation"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate (tools/run --help)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_argument_is_one_line_that_says_what_is_right(words: list[str], said: str, app: Path) -> None:
    kernel = [] if "--kernel" in words or "--linux" in words else ["--kernel", app]
    ran = typed(*words, *kernel, app)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"tools/run: {said}\n")


def test_more_memory_than_the_host_has_is_refused_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "host_memory", lambda: (24 * GIB, 20 * GIB))
    assert arguments.check_memory("24G", None) == "24G"
    with pytest.raises(RunnerError, match=r"has, 24 GiB \(20 GiB are free\), not 100000G"):
        arguments.check_memory("100000G", None)
    monkeypatch.setattr(arguments, "host_memory", lambda: (0, 0))  # not known
    assert arguments.check_memory("100000G", None) == "100000G"


@pytest.mark.parametrize(
    ("text", "size"),
    [("256M", 256 * MIB), ("2g", 2 * GIB), ("1.5G", 3 * GIB // 2), ("128", 128 * MIB), ("64K", 64 * KIB)],
)
def test_sizes_are_those_of_qemu(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert all(parse_size(wrong) is None for wrong in ("", "M", "-1M", "1,5G", "1MB", "0x10M", "1 M"))
    assert [size_text(n) for n in (5, 2048, 1536 * KIB, 300 * MIB, 24 * GIB)] == [
        "5 bytes",
        "2 KiB",
        "1.5 MiB",
        "300 MiB",
        "24 GiB",
    ]


def test_files_that_do_not_fit_are_refused_before_anything_is_written(app: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for name, size in (("a", 300), ("b", 100)):
        with (tmp_path / "files" / name).open("wb") as file:
            file.truncate(size * MIB)
    build = tmp_path / "build"
    given = ["--files", tmp_path / "files", "--kernel", app]
    ran = typed(*given, app, env={**os.environ, "TACET_BUILD": str(build)})
    said = "the node's files are 400 MiB, its memory is 256 MiB; give it more: --memory 512M"
    assert (ran.returncode, ran.stderr) == (2, f"tools/run: {said}\n")
    assert not build.exists()
    # Linux has them twice while it unpacks them.
    room.check_room(400 * MIB, "1G", room.LINUX_ROOM, copies=2)
    with pytest.raises(RunnerError, match="400 MiB, its memory is 512 MiB; give it more: --memory 1024M"):
        room.check_room(400 * MIB, "512M", room.LINUX_ROOM, copies=2)
    with pytest.raises(RunnerError, match=r"3\.5 GiB, but they must be below 4 GiB .* room for 2\.9 GiB"):
        room.check_room(7 * GIB // 2, "8G", room.TACET_ROOM)


@pytest.mark.parametrize(
    ("message", "options", "origin"),
    [
        ("cannot set up guest memory 'pc.ram': Cannot allocate memory", "", "--memory"),
        ("Invalid SMP CPUs 300", "", "--cpus"),
        ("-icount shift=99: icount: Invalid shift value", "", "--icount"),
        ("-frobnicate: invalid option", "-frobnicate", "--qemu-options"),
        ("Error loading uncompressed kernel without PVH ELF Note", "", "--kernel"),
        ("something else", "-device x", "--qemu-options"),
        ("something else", "", ""),
    ],
)
def test_the_origin_of_qemus_message_is_named(message: str, options: str, origin: str) -> None:
    assert arguments.origin_of(message, options) == origin


# ---- A host that is full ----


def in_full_tmpfs(script: str, tmp_path: Path, kib: int = 4) -> subprocess.CompletedProcess[str]:
    """A shell script with a small file system of its own in $D."""
    whole = f"mount -t tmpfs -o size={kib}k none $D && {script}"
    return subprocess.run(
        ["unshare", "-rm", "bash", "-c", whole],
        env={**os.environ, "D": str(tmp_path), "RUN": str(ROOT / "tools/run")},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_an_archive_that_the_disk_has_no_room_for_is_one_line(tmp_path: Path) -> None:
    app, files, build = (tmp_path / name for name in ("app", "files", "build"))
    app.write_bytes(b"\x7fELF\2\1\1" + bytes(100_000))
    files.mkdir()
    build.mkdir()
    run = f'TACET_BUILD=$D "$RUN" --kernel {app} --files {files} {app}'
    ran = in_full_tmpfs(run, build)
    said = f"cannot write app.cpio, 98 KiB, to {build}/run: No space left on device"
    assert (ran.returncode, ran.stderr) == (2, f"tools/run: {said}\n")


def test_a_build_folder_that_cannot_be_written_is_one_line(app: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    ran = typed(
        *("--kernel", app, "--files", tmp_path / "files", app),
        env={**os.environ, "TACET_BUILD": "/proc/none"},
    )
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr
    assert "to /proc/none/run: No such file or directory" in ran.stderr


def test_no_folder_for_the_ports_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(qemu.emulator.tempfile, "TemporaryDirectory", full)
    with pytest.raises(RunnerError, match=r"set TMPDIR to another place\): No space left on device"):
        qemu.run_machine([])


# ---- The flight log's file ----


def log_of(*rings: tuple[int, bytes]) -> bytes:
    kinds = klog_file.KIND.pack(b"map", b"memory", b"address bytes")
    return klog_file.pack("x86_64", (1000, 5), kinds, rings)


def ring_of(written: int) -> tuple[int, bytes]:
    """A ring whose events begin with their numbers."""
    slots = [b""] * klog_file.RING_EVENTS
    for i in range(max(0, written - len(slots)), written):
        slots[i % len(slots)] = i.to_bytes(8, "little").ljust(klog_file.EVENT_BYTES, b"\0")
    return written, b"".join(slot.ljust(klog_file.EVENT_BYTES, b"\0") for slot in slots)


@pytest.mark.parametrize("written", [0, 1, 1023, 1024, 1025, 5000])
def test_a_ring_s_events_come_oldest_first_and_none_is_half_written(written: int) -> None:
    lost, events = klog_file.events_of_ring(*ring_of(written))
    numbers = [int.from_bytes(events[at : at + 8], "little") for at in range(0, len(events), 32)]
    assert numbers == list(range(max(0, written - 1023), written)) and lost == max(0, written - 1023)


def test_a_log_that_is_cut_off_anywhere_is_not_whole() -> None:
    whole = log_of(ring_of(3), ring_of(2))
    assert klog_file.what_is_missing(whole) == ""
    for count in range(len(whole)):
        assert klog_file.what_is_missing(whole[:count]), count
    assert (
        klog_file.what_is_missing(whole[:120]) == "it ends after 120 bytes, before the events of CPU 0 of 2"
    )
    assert "follow its end" in klog_file.what_is_missing(whole + b"x")
    assert "log's header" in klog_file.what_is_missing(b"x" * 100)


# ---- What is shown of the console ----

ASSERTED = """tacet: clock: TSC
tacet: rank 0 (x) ended by SIGSEGV: no
tacet:   called from ffffffff80207328
tacet: the last events of CPU 0:
tacet: stop status=70 reason="assertion failed: x (kernel/x.c:3)"
"""


def test_the_report_of_an_assertion_begins_with_its_call_chain() -> None:
    assert report.panic_of(ASSERTED).splitlines()[0] == "tacet:   called from ffffffff80207328"
    assert report.panic_of('tacet: stop status=64 reason="no"\n') == ""


def compiled(tmp_path: Path) -> Symbols:
    """A small file in which `callee` calls nothing and `caller` calls it."""
    (tmp_path / "x.c").write_text(
        "__attribute__((noinline)) int callee(int x)\n{\n    return x * 3;\n}\n"
        "int caller(int x)\n{\n    return callee(x) + 1;\n}\nint main(void)\n{\n    return caller(1);\n}\n"
    )
    source = [str(tmp_path / "x.c"), "-o", str(tmp_path / "x")]
    subprocess.run(["gcc", "-g", "-O1", "-no-pie", *source], check=True, timeout=60)
    return Symbols(tmp_path / "x")


def test_addresses_get_function_offset_file_and_line(tmp_path: Path) -> None:
    symbols = compiled(tmp_path)
    start = symbols.find("callee").address
    assert symbols.describe([start])[start] in [f"callee+0x0 ({tmp_path}/x.c:{line})" for line in (2, 3)]
    after = symbols.find("caller")
    # The end of a function is the next one's beginning, but as a return address it is the function's own.
    end = after.address + after.size
    assert symbols.describe((), [end])[end].startswith(f"caller+{after.size:#x} ")
    assert symbols.describe([0, 1 << 63, symbols.find("data_start").address]) == {}
    moved = Symbols(symbols.path, bias=0x1000)
    assert moved.describe([start + 0x1000])[start + 0x1000].startswith("callee+0x0 ")


def test_without_binutils_there_are_functions_without_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols = compiled(tmp_path)
    start = symbols.find("callee").address
    monkeypatch.setattr(qemu.symbols, "ADDR2LINE", "/none/addr2line")
    assert symbols.describe([start]) == {start: "callee+0x0"}


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\2\1" + b"\xff" * 200, b"#!/bin/sh\n"])
def test_a_file_that_names_nothing_leaves_the_addresses_bare(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "kernel").write_bytes(content)
    assert report.with_names(ASSERTED, tmp_path / "kernel") == ASSERTED
    assert report.with_names(ASSERTED, None) == ASSERTED


REFUSED = "tacet: rank 1 (a b): mmap of 512 MiB refused, 31 MiB free; --memory gives the node more\n"
FAULT = "tacet: rank 0 (x) ended by SIGSEGV\n"
REGISTERS = "tacet:   rip 0\n"


def test_of_a_failure_only_what_is_not_on_standard_error_is_shown() -> None:
    console = f"tacet: clock: TSC\n{REFUSED}{FAULT}{REGISTERS}".replace("\n", "\r\n")
    assert report.failure_of(console) == REFUSED + FAULT + REGISTERS
    assert report.failure_of(console, f"own\n{REFUSED}{FAULT}".encode()) == REGISTERS
    assert report.failure_of(console, b"\xff") == REFUSED + FAULT + REGISTERS
    for call in ("brk by", "mremap to"):
        line = f"tacet: rank 0 (x): {call} 1 MiB refused, 0 MiB free\n"
        assert report.failure_of(line) == line


def test_a_program_or_kernel_of_another_machine_is_named(tmp_path: Path) -> None:
    header = bytearray(64)
    header[:6], header[18] = b"\x7fELF\2\1", 21
    (tmp_path / "app").write_bytes(header)
    qemu.check_program(tmp_path / "app", "ppc64")
    with pytest.raises(RunnerError, match="64-bit PowerPC; this node is x86_64"):
        qemu.check_program(tmp_path / "app")
    arguments.check_kernel(tmp_path / "app", None, "ppc64")
    with pytest.raises(RunnerError, match="ppc64, but the machine is x86_64"):
        arguments.check_kernel(tmp_path / "app", None)


def test_a_boot_module_that_does_not_fit_is_refused(app: Path) -> None:
    with app.open("r+b") as file:
        file.truncate(40 * MIB)
    node = qemu.TacetNode(kernel=app)
    with pytest.raises(RunnerError, match="40 MiB, its memory is 32 MiB; give it more: --memory 64M"):
        node.prepare(Program(app), Machine(memory="32M"))
