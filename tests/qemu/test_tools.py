# SPDX-License-Identifier: BSD-2-Clause
"""What a person types: tools/run and make, end to end."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from conftest import APPS, ROOT, program, slowness


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
    limit = str(round(3 * slowness()))
    ran = typed("tools/run", "--time-limit", limit, program("wait.musl"))
    assert ran.returncode == 124 and f"no end within {limit} s".encode() in ran.stderr
    assert b"Tacet" in ran.stderr
    assert ran.stdout == b"ready\n"


#: Starts a command as a shell without job control starts one in the background.
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
#: Runs a Python file so that the system gives SIGINT to another thread than the one that waits: the waiting
#: call does not end, as when the signal comes right before it.
IN_ANOTHER_THREAD = (
    "/usr/bin/python3",
    "-c",
    "import runpy, signal, sys, threading, time; "
    "threading.Thread(target=time.sleep, args=[600], daemon=True).start(); "
    "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')",
)


@pytest.mark.parametrize(
    "started", [(), IN_BACKGROUND, IN_ANOTHER_THREAD], ids=["plain", "background", "another-thread"]
)
def test_an_interrupted_run_ends_qemu_and_says_so_in_a_line(started: tuple[str, ...]) -> None:
    command = [*started, "tools/run", program("wait.musl")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    try:
        assert process.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, said) == (130, b"tools/run: interrupted\n")
    assert children and not any(Path(f"/proc/{child}").exists() for child in children)


def test_output_that_cannot_be_written_is_an_error_in_a_line() -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            ["tools/run", program("streams.musl"), "bytes"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
        )
    assert ran.returncode == 123 and ran.stderr.endswith(b"tools/run: <stdout>: No space left on device\n"), (
        ran.stderr
    )


@pytest.mark.parametrize(("status", "code"), [(0, 123), (7, 7)])
def test_a_flight_log_that_the_disk_cut_off_is_not_kept_silently(
    status: int, code: int, tmp_path: Path, busybox: Path
) -> None:
    """It is larger than the one page of its file system. The program's own status stays the command's, unless
    that would mean that all went well."""
    script = 'mount -t tmpfs -o size=4k none "$0" && exec tools/run --klog "$0/log" "$@"'
    writes = f"for i in {' '.join('0123456789' * 20)}; do echo; done; exit {status}"
    options = ["--options", "klog_classes=all", busybox, "sh", "-c", writes]
    ran = typed("unshare", "-rm", "bash", "-c", script, tmp_path, *options)
    assert ran.returncode == code, ran
    last = ran.stderr.decode().splitlines()[-1]
    cut = "it ends after 4096 bytes, within the events of CPU 0 of 1; check whether its disk is full"
    assert last == (
        f"tools/run: the flight log in {tmp_path}/log is incomplete: {cut} "
        f"(the program ended with status {status})"
    )


@pytest.mark.parametrize("system", ["tacet", "linux"])
@pytest.mark.parametrize("folder", [None, "/dev/shm"])
def test_a_program_starts_in_the_same_folder_on_both_systems(
    system: str, folder: str | None, busybox: Path
) -> None:
    given = [*(["--linux"] if system == "linux" else []), *(["--cwd", folder] if folder else [])]
    ran = typed("tools/run", *given, busybox, "pwd")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{folder or '/tmp'}\n".encode(), b"")


@pytest.mark.parametrize("system", ["tacet", "linux"])
def test_a_folder_that_the_node_does_not_have_is_named(system: str, busybox: Path) -> None:
    given = ["--linux"] if system == "linux" else []
    ran = typed("tools/run", *given, "--cwd", "/no 'such", busybox, "pwd")
    assert ran.returncode == 64 and b"tools/run: the node stopped: cwd=/no 'such" in ran.stderr, ran
    assert ran.stderr.count(b"\n") == 1


def test_a_node_with_too_little_memory_names_the_size_of_its_files(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(50 << 20)
    ran = typed("tools/run", "--memory", "64M", "--files", tmp_path, program("status.musl"))
    assert ran.returncode == 65, ran
    assert ran.stderr.endswith(
        b"tools/run: the node has 64M, and its files take 50 MiB; give it more with --memory\n"
    )


def test_what_qemu_says_is_shown_with_the_option_it_came_from() -> None:
    ran = typed("tools/run", "--qemu-options=-frobnicate", program("status.musl"))
    assert ran.returncode == 125, ran
    assert b"-frobnicate: invalid option" in ran.stderr
    assert ran.stderr.endswith(b"tools/run: QEMU's message is about --qemu-options\n"), ran.stderr


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


@pytest.mark.xdist_group("make run")  # they share build/klog.bin
def test_make_run_prints_what_the_program_prints_and_nothing_else() -> None:
    ran = typed("make", "run", "APP=/bin/busybox", "ARGS=echo hi")
    assert (ran.returncode, ran.stdout) == (0, b"hi\n"), ran.stderr


@pytest.mark.xdist_group("make run")  # they share build/klog.bin
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


@pytest.mark.xdist_group("make run")  # they share build/klog.bin
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
