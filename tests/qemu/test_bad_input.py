# SPDX-License-Identifier: BSD-2-Clause
"""If what is handed in cannot run, the node prints one clear line that names the fault and the remedy, and a
status, and switches itself off.

The files are made here, byte by byte (elf.py), or are real ones: a dynamic program, an object file, a
compressed archive.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import elf
import pytest
from conftest import APPS, ROOT, Run, expect_exit
from elf import PAGE, R, Segment, W, X

import cpio
import qemu
from qemu import architectures

BAD_INPUT, NO_MEMORY = 64, 65


def expect_stop(result: qemu.Result, status: int, reason: str) -> None:
    """The node stopped with this status; the reason holds the pattern; the console ends with it; nothing else
    is reported twice."""
    assert (result.outcome, result.status) == ("stop", status), result.explain()
    assert re.search(reason, result.reason), result.explain()
    last = [line for line in result.console.splitlines() if line.strip()][-1]
    assert last == f'tacet: stop status={status} reason="{result.reason}"', result.explain()
    assert result.console.count(result.reason) == 1, result.explain()
    assert result.stdout == b"" and result.stderr == b"", result.explain()
    assert "fault" not in result.console, result.explain()


def truncated(share: float) -> bytes:
    """The first part of a real program."""
    whole = (APPS / "ftq").read_bytes()
    return whole[: int(len(whole) * share)]


def made_for(arch: str, content: bytes) -> bytes:
    return elf.for_machine(content, architectures.named(arch).elf_machine)


def overlapping() -> bytes:
    return elf.build([elf.code(), Segment(b"data" * 2000, elf.BASE + 8, R | W)])


GOOD = elf.build()
COMPILERS = {"x86_64": "gcc", "ppc64": "powerpc64le-linux-gnu-gcc"}

#: NODE in a reason is what programs of the node are called, OTHER those of the other architecture.
OTHERS = {"x86_64": "64-bit PowerPC", "ppc64": "x86_64"}

FILES: dict[str, tuple[bytes, str]] = {
    "text": (b"Hello, I am no program.\n", r"/init: not an ELF file"),
    "script": (b"#!/bin/sh\necho hi\n", r"/init: not an ELF file: it is a script; only ELF"),
    "one_byte": (b"\x7f", r"/init: not an ELF file"),
    "zeroes": (bytes(70000), r"/init: not an ELF file"),
    "gzip_of_a_program": (gzip.compress(GOOD, mtime=0), r"gzip data; unpack it"),
    "archive_of_objects": (b"!<arch>\n" + bytes(100), r"static library"),
    "32_bit": (elf.build(bits=32, machine=elf.I386), r"32-bit program for i386; .*compile for 64 bits"),
    "big_endian": (elf.build(big_endian=True, machine=22), r"big-endian s390x; .* NODE, little-endian"),
    "big_endian_power": (elf.build(big_endian=True, machine=elf.PPC64), r"big-endian 64-bit PowerPC; "),
    "other_machine": (elf.build(machine=elf.AARCH64), r"AArch64; this node is NODE"),
    "power": (elf.build(machine=elf.PPC64), r"for OTHER; this node is NODE"),
    "32_bit_arm": (elf.build(bits=32, machine=elf.ARM), r"32-bit program for ARM; "),
    "risc_v": (elf.build(machine=elf.RISCV), r"RISC-V; this node is NODE"),
    "unknown_machine": (elf.build(machine=9999), r"this node is NODE"),
    "object": (elf.build(kind=elf.REL), r"object file; link it"),
    "core": (elf.build(kind=elf.CORE), r"core file"),
    "interpreter": (
        elf.build([elf.code(), Segment(b"/lib64/ld.so\0", kind=elf.INTERP)], kind=elf.DYN),
        r"dynamic.*-static",
    ),
    "header_only": (GOOD[:64], r"truncated in the program headers"),
    "half_a_header": (GOOD[:40], r"truncated in the header"),
    "half_the_program_headers": (GOOD[:100], r"truncated in the program headers"),
    "segment_cut_off": (GOOD[:PAGE], r"truncated in segment 0"),
    "real_program_cut": (truncated(0.1), r"truncated in segment"),
    "no_segments": (elf.build([]), r"no program headers"),
    "only_a_note": (elf.build([Segment(b"note", kind=4)]), r"no loadable segment"),
    "headers_of_another_size": (elf.build(header_bytes=64), r"program headers of 64 bytes; 56"),
    "headers_far_away": (elf.build(headers_offset=1 << 62), r"truncated in the program headers"),
    "headers_that_wrap": (elf.build(headers_offset=(1 << 64) - 32), r"truncated in the program headers"),
    "overlapping": (overlapping(), r"segments at 0x400000 and 0x400008 overlap"),
    "identical": (elf.build([elf.code(), elf.code()]), r"overlap"),
    "wrapping": (
        elf.build([elf.code(), Segment(b"x", (1 << 64) - PAGE, R | W, memory_bytes=2 * PAGE)]),
        r"segment 1 at .* is not below",
    ),
    "in_the_kernel": (elf.build([elf.code(0xFFFFFFFF80000000)]), r"segment 0 at .* is not below"),
    "not_canonical": (elf.build([elf.code(0x1234567812340000)]), r"segment 0 at .* is not below"),
    "on_page_zero": (elf.build([elf.code(0)]), r"page zero"),
    "more_in_the_file": (elf.build([elf.code(memory_bytes=4)]), r"in the file, but"),
    "misaligned": (
        elf.build([elf.code(), Segment(b"x", 0x500000, R | W, offset=1)]),
        r"does not fit its file offset",
    ),
    "alignment_of_three": (elf.build([elf.code(alignment=0x3000)]), r"no power of two"),
    "alignment_of_everything": (elf.build([elf.code(alignment=1 << 60)]), r"alignment"),
    "writable_code": (elf.build([Segment(elf.CODE, elf.BASE, R | W | X)]), r"writable and executable"),
    "entry_outside": (elf.build(entry=0x900000), r"entry 0x900000 lies in no executable segment"),
    "entry_in_data": (
        elf.build([elf.code(), Segment(b"x", 0x500000, R | W)], entry=0x500000),
        r"no executable segment",
    ),
    "thousands_of_segments": (
        elf.build([elf.code(elf.BASE + i * PAGE) for i in range(40)]),
        r"more than 32 loadable",
    ),
    "writable_and_executable_page": (
        elf.build([elf.code(), Segment(b"data", elf.BASE + 0x800, R | W)]),
        r"share the page at 0x400000.*-z separate-code",
    ),
    "broken_cpio_number": (b"070701" + b"zz" * 60 + bytes(400), r"initrd: .*"),
    "cpio_without_end": (cpio.pack([cpio.Entry.file("init", GOOD)])[:-600], r"initrd: .*"),
    "cpio_cut_in_a_header": (cpio.pack([cpio.Entry.file("init", GOOD)])[:60], r"initrd: .*"),
    "gzip_of_an_archive": (
        gzip.compress(cpio.pack([cpio.Entry.file("init", GOOD)]), mtime=0),
        r"gzip.*unpack",
    ),
    "old_cpio": (b"070707" + b"0" * 200, r"."),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_run_is_refused_in_one_clear_line(
    name: str, arch: str, tacet: Run, tmp_path: Path
) -> None:
    content, reason = FILES[name]
    module = tmp_path / "module"
    module.write_bytes(made_for(arch, content))
    reason = reason.replace("NODE", architectures.named(arch).described).replace("OTHER", OTHERS[arch])
    expect_stop(tacet(None, initrd=module), BAD_INPUT, reason)


def test_an_executable_stack_is_refused_if_the_command_line_says_so(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    asks = elf.build([elf.code(), Segment(kind=elf.GNU_STACK, flags=R | W | X)])
    module.write_bytes(made_for(arch, asks))
    expect_exit(tacet(None, initrd=module), elf.STATUS)
    refused = tacet(None, initrd=module, options="execstack=off")
    expect_stop(refused, BAD_INPUT, r"asks for an executable stack, .*execstack=off.*noexecstack")
    expect_stop(tacet(None, initrd=module, options="execstack=1"), BAD_INPUT, r"execstack=1: .*on.*off")
    module.write_bytes(made_for(arch, GOOD))
    expect_exit(tacet(None, initrd=module, options="execstack=off"), elf.STATUS)


HUGE = {
    "larger_than_memory": [elf.code(), Segment(b"x", 0x10000000, R | W, memory_bytes=1 << 30)],
    "a_tebibyte": [elf.code(), Segment(b"x", 0x10000000, R | W, memory_bytes=1 << 40)],
    "all_there_is": [elf.code(), Segment(b"x", 0x10000000, R | W, memory_bytes=(1 << 44) - 0x20000000)],
    "many_large": [
        elf.code(),
        *(Segment(b"x", (1 + i) << 32, R | W, memory_bytes=64 << 20) for i in range(20)),
    ],
}


@pytest.mark.parametrize("name", HUGE)
def test_a_program_larger_than_memory_is_refused_with_how_much_is_free(
    name: str, arch: str, tacet: Run, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    module.write_bytes(made_for(arch, elf.build(HUGE[name])))
    result = tacet(None, initrd=module)
    expect_stop(result, NO_MEMORY, r"does not fit into memory.*KiB are free; give the node more memory")


def test_a_segment_beyond_every_address_is_refused(arch: str, tacet: Run, tmp_path: Path) -> None:
    module = tmp_path / "module"
    endless = Segment(b"x", 0x10000000, R | W, memory_bytes=(1 << 64) - 1)
    module.write_bytes(made_for(arch, elf.build([elf.code(), endless])))
    expect_stop(tacet(None, initrd=module), BAD_INPUT, r"segment 1 at .* is not below")


def test_the_elf_files_of_these_tests_run_when_nothing_is_wrong_with_them(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    module.write_bytes(made_for(arch, GOOD))
    expect_exit(tacet(None, initrd=module), elf.STATUS)


def test_a_dynamic_program_of_the_compiler_is_reported_how_to_link(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    source = ROOT / "tests" / "programs" / "status.c"
    subprocess.run([COMPILERS[arch], "-o", tmp_path / "status", source], check=True, timeout=60)
    expect_stop(tacet(tmp_path / "status"), BAD_INPUT, r"dynamic program.*link with -static")


def test_an_object_file_of_the_compiler_is_reported_to_be_linked(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    source = ROOT / "tests" / "programs" / "status.c"
    subprocess.run([COMPILERS[arch], "-c", "-o", tmp_path / "status.o", source], check=True, timeout=60)
    expect_stop(tacet(tmp_path / "status.o"), BAD_INPUT, r"object file; link it into a program")


def test_no_module_is_reported_how_to_hand_one_in(tacet: Run) -> None:
    expect_stop(tacet(None), BAD_INPUT, r"no program: .*-initrd FILE.*module2 FILE")


def test_an_empty_module_is_no_program(tacet: Run, tmp_path: Path) -> None:
    module = tmp_path / "empty"
    module.write_bytes(b"")
    expect_stop(tacet(None, initrd=module), BAD_INPUT, r"no program|empty")


def test_too_little_memory_is_reported_in_numbers(tacet: Run) -> None:
    result = tacet("status.musl", memory="16M")
    expect_stop(result, NO_MEMORY, r"memory")
    assert re.search(r"\d+ ?[KM]", result.reason), result.explain()


OPTIONS = {
    "short_ticket_key": ("ticket_key=0123", r"ticket_key= must be 32 hexadecimal digits"),
    "empty_ticket_key": ("ticket_key=", r"ticket_key= must be 32 hexadecimal digits"),
    "launch_with_half_the_keys": (
        f"launch nettick_key={'00' * 16}",
        r"launch with nettick_key= needs ticket_key=",
    ),
    "unknown": ("colour=blue", r"colour.*app.*stack"),
    "misspelt": ("stacks=1M", r"stacks.*stack"),
    "stack_no_number": ("stack=large", r"stack: 'large' is not a size.* from 65536 to"),
    "stack_empty": ("stack=", r"stack: '' is not a size"),
    "stack_bare": ("stack", r"stack"),
    "stack_too_small": ("stack=1K", r"stack: '1K' is not a size .* from 65536 to"),
    "stack_negative": ("stack=-1", r"stack: '-1' is not a size"),
    "stack_overflowing": ("stack=99999999999999999999", r"stack: '9+' is not a size"),
    "console_unknown": ("console=teletype", r"console=teletype.*PORT"),
    "stdout_unknown": ("stdout=printer", r"stdout=printer.*PORT"),
    "app_missing": ("app=/bin/none", r"app=/bin/none: there is no such file"),
    "app_relative_missing": ("app=none", r"app=none"),
    "app_a_directory": ("app=/dev", r"app=/dev is not a file"),
    "app_a_device": ("app=/dev/null", r"app=/dev/null is not a file"),
    "app_a_descriptor": ("app=/proc/self/fd/0", r"app=/proc/self/fd/0: there is no such file"),
    "app_below_a_file": ("app=/init/x", r"app=/init/x"),
    "open_quote": ('env="A=B', r"quote"),
    "env_without_name": ("env==x", r"env= wants NAME=VALUE"),
    "env_empty": ("env=", r"env= wants NAME=VALUE"),
    "option_without_name": ("=x", r"name"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_is_wrong_is_refused_and_the_right_ones_are_reported(
    name: str, arch: str, tacet: Run
) -> None:
    options, reason = OPTIONS[name]
    reason = reason.replace("PORT", architectures.named(arch).terminals[0])
    expect_stop(tacet("status.musl", options=options), BAD_INPUT, reason)


def test_a_stack_larger_than_memory_is_refused_with_the_way_to_make_it_smaller(tacet: Run) -> None:
    expect_stop(tacet("status.musl", options="stack=1G"), NO_MEMORY, r"stack of 1048576 KiB: .*stack=SIZE")


def test_a_line_that_ends_in_a_backslash_is_refused(arch: str, tacet: Run) -> None:
    # The kernel's line cannot end so by way of the runner: the line is given to QEMU as it is.
    ports = architectures.named(arch).terminals
    result = tacet("status.musl", qemu_options=["-append", f"stdout={ports[1]} stderr={ports[2]} \\"])
    expect_stop(result, BAD_INPUT, r"backslash")


def test_more_arguments_than_there_is_room_for_are_refused(tacet: Run) -> None:
    expect_stop(tacet("status.musl", *["0"] * 600), BAD_INPUT, r"512|arguments")


def test_an_archive_with_a_path_out_of_itself_is_refused(tacet: Run, tmp_path: Path) -> None:
    entry = cpio._record(1, cpio.Entry.file("../../init", GOOD)) + cpio._record(
        0, cpio.Entry(cpio.TRAILER, 0)
    )
    module = tmp_path / "module"
    module.write_bytes(entry + bytes(-len(entry) % 512))
    expect_stop(tacet(None, initrd=module), BAD_INPUT, r"initrd: ")


def test_an_archive_whose_etc_is_a_file_is_refused(arch: str, tacet: Run, tmp_path: Path) -> None:
    module = tmp_path / "module"
    files = [cpio.Entry.file("init", GOOD, executable=True), cpio.Entry.file("etc", b"x")]
    module.write_bytes(made_for(arch, cpio.pack(files)))
    expect_stop(tacet(None, initrd=module), BAD_INPUT, r"initrd: .*'etc' is used as a directory, but is none")


def test_an_archive_without_the_program_reports_which_is_missing(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    module.write_bytes(made_for(arch, cpio.pack([cpio.Entry.file("bin/prog", GOOD, executable=True)])))
    expect_stop(tacet(None, initrd=module), BAD_INPUT, r"app=/init: there is no such file")
    expect_exit(tacet(None, initrd=module, options="app=/bin/prog"), elf.STATUS)
