# SPDX-License-Identifier: BSD-2-Clause
"""What a person types: tools/run and make, end to end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import APPS, ROOT, program


def typed(
    *words: str | Path, time_limit: float = 600, **keywords: object
) -> subprocess.CompletedProcess[bytes]:
    command = [*map(str, words)]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, cwd=ROOT, capture_output=True, timeout=time_limit, **keywords
    )


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_run_ends_with_the_program_s_status(status: int) -> None:
    ran = typed("tools/run", program("status.musl"), str(status))
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, b"", b"")


def test_run_keeps_the_streams_apart() -> None:
    ran = typed("tools/run", program("streams.musl"), "bytes")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, bytes(range(256)), bytes(range(255, -1, -1)))


def test_run_reports_why_the_node_stopped() -> None:
    ran = typed("tools/run", "--options", "colour=blue", program("status.musl"))
    assert ran.returncode == 64
    assert (
        ran.stderr.startswith(b"tools/run: the node stopped: ")
        and b"colour" in ran.stderr
        and ran.stderr.count(b"\n") == 1
    )


def test_run_shows_the_report_of_a_fault() -> None:
    ran = typed("tools/run", program("runtime.musl"), "fault")
    lines = ran.stderr.decode().splitlines()
    assert (
        ran.returncode == 139
        and lines[0] == "tacet: rank 0 (runtime.musl) ended by SIGSEGV: write to where nothing is mapped"
    ), lines
    assert any(" in fault_here+0x" in line for line in lines) and any(" rip 0" in line for line in lines), (
        lines
    )


def test_run_refuses_a_program_that_is_not_there() -> None:
    ran = typed("tools/run", "/none")
    assert ran.returncode == 2 and ran.stderr == b"tools/run: no such program: /none\n"


def test_run_ends_at_its_time_limit_and_shows_the_console() -> None:
    ran = typed("tools/run", "--time-limit", "2", program("wait.musl"))
    assert ran.returncode == 124 and b"no end within 2 s" in ran.stderr and b"Tacet" in ran.stderr
    assert ran.stdout == b"ready\n"


def test_run_shows_output_as_it_comes() -> None:
    """The program computes on for ever after its line: what arrives, arrives while it runs."""
    process = subprocess.Popen(["tools/run", program("wait.musl")], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        assert process.stdout.readline() == b"ready\n"
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_run_hands_the_environment_over() -> None:
    ran = typed("tools/run", "--env", "A=1 2", "--env", 'B="', program("arguments.musl"), "x")
    assert ran.stdout.startswith(b'arguments.musl\0x\0=ENV=\0A=1 2\0B="\0')


def test_run_takes_a_folder_of_files_and_an_input(tmp_path: Path, busybox: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "hello").write_text("from a file\n")
    (tmp_path / "in").write_text("from the input\n")
    ran = typed(
        "tools/run", "--files", tmp_path / "files", "--stdin", tmp_path / "in", busybox, "cat", "/hello", "-"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"from a file\nfrom the input\n", b"")


def test_run_verbose_shows_the_console_and_a_command_that_repeats_it() -> None:
    ran = typed("tools/run", "--verbose", program("status.musl"), "7")
    assert ran.returncode == 7
    assert (
        b"tacet: exit status=7" in ran.stderr
        and b"again: " in ran.stderr
        and b"qemu-system-x86_64" in ran.stderr
    )


def test_the_same_file_runs_on_linux() -> None:
    ran = typed(program("runtime.musl"), env={"PROMISE_TEST": "a value"})
    # There the version does not name Tacet, fork works and the tree can be written: nothing else differs,
    # nothing crashes.
    assert ran.returncode in (0, 1) and b"promises: " in ran.stdout


def test_make_run_prints_what_the_program_prints_and_nothing_else() -> None:
    ran = typed("make", "run", "APP=/bin/busybox", "ARGS=echo hi")
    assert (ran.returncode, ran.stdout) == (0, b"hi\n"), ran.stderr


def test_make_run_ends_with_the_program_s_status() -> None:
    # make has a status of its own for a failed command, and names the command's.
    ran = typed("make", "run", f"APP={program('status.musl')}", "ARGS=3")
    assert ran.returncode != 0 and b"Error 3" in ran.stderr, ran.stderr


def test_make_run_splits_arguments_and_environment_as_a_shell_does() -> None:
    ran = typed(
        "make",
        "run",
        f"APP={program('arguments.musl')}",
        """ARGS='two words' "a\\"b" c\\ d ''""",
        """ENV=A=1 B="2 3" C='it''s'""",
    )
    assert ran.returncode == 0, ran.stderr
    given, environment = ran.stdout.split(b"=ENV=\0")
    assert given == b'arguments.musl\0two words\0a"b\0c d\0\0'
    assert environment.startswith(b"A=1\0B=2 3\0C=its\0"), environment


def test_make_run_takes_files_and_an_input(tmp_path: Path, busybox: Path) -> None:
    files = tmp_path / "my files"
    (files / "tools").mkdir(parents=True)
    (files / "hello").write_text("from a file\n")
    (files / "tools" / "status").write_bytes(program("status.musl").read_bytes())
    (tmp_path / "in").write_text("from the input\n")
    given = [f"FILES={files}", f"STDIN={tmp_path / 'in'}"]
    ran = typed("make", "run", f"APP={busybox}", "ARGS=cat /hello -", *given)
    assert (ran.returncode, ran.stdout) == (0, b"from a file\nfrom the input\n"), ran.stderr
    # A program in the folder: by its path here, and by its path there.
    for app in (files / "tools" / "status", "/tools/status", "tools/status"):
        ran = typed("tools/run", "--files", files, app, "9")
        assert ran.returncode == 9, ran.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            None,
            b"is linked dynamically, and there is no dynamic linker on a node; link it statically: gcc "
            b"-static",
        ),
        (b"#!/bin/sh\n", b"is a script; a node runs static ELF programs"),
        (b"text", b"is not an ELF file; a node runs static ELF programs"),
        (b"", b"is empty; a node runs static ELF programs"),
        (b"\x7fELF\1\1" + bytes(60), b"is not a 64-bit little-endian ELF file"),
    ],
    ids=["dynamic", "script", "text", "empty", "32_bits"],
)
def test_run_says_what_is_wrong_with_a_program(content: bytes | None, said: bytes, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.write_bytes(Path("/bin/ls").read_bytes() if content is None else content)
    ran = typed("tools/run", app)
    assert ran.returncode == 2 and said in ran.stderr and ran.stderr.count(b"\n") == 1, ran.stderr


@pytest.mark.parametrize(("files", "said"), [("file", b"is not a folder"), ("none", b"no such folder: ")])
def test_run_says_what_is_wrong_with_the_folder_of_files(files: str, said: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = typed("tools/run", "--files", tmp_path / files, program("status.musl"))
    assert ran.returncode == 2 and said in ran.stderr and ran.stderr.count(b"\n") == 1, ran.stderr


def test_run_says_what_is_wrong_with_the_environment() -> None:
    for words, said in (("A", b"takes K=V, not A"), ("A='1", b"no closing quotation")):
        ran = typed("tools/run", f"--env-words={words}", program("status.musl"))
        assert ran.returncode == 2 and said in ran.stderr, ran.stderr


@pytest.mark.xdist_group("gdb")
def test_make_gdb_reaches_the_kernel_with_symbols(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text(
        "continue\nbacktrace 2\nprint boot->module_count\nprint boot->protocol\ninfo symbol $pc\n"
    )
    ran = typed(
        "make",
        "gdb",
        f"APP={APPS / 'ftq'}",
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "GDB_COMMANDS": str(commands), "HOME": str(tmp_path)},
    )
    text = (ran.stdout + ran.stderr).decode(errors="replace")
    assert ran.returncode == 0, text
    assert "kernel_start" in text and "main.c" in text, text
    assert "$1 = 1" in text and '"pvh"' in text, text
    assert "kernel_start in section .text" in text, text


def test_make_iso_makes_an_image_of_a_program(tmp_path: Path) -> None:
    ran = typed("make", "iso", f"ISO={tmp_path / 'x.iso'}", f"APP={program('status.musl')}", "ARGS=1")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "x.iso").read_bytes()[32769:32774] == b"CD001"
