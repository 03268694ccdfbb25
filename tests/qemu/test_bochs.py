# SPDX-License-Identifier: BSD-2-Clause
"""A second machine, in Bochs: other firmware, an x2APIC, a TSC deadline, AVX-512. The kernel keeps its
promises there, too. Its time is a function of the instructions executed, so that times are exact.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import APPS, ROOT, expect_exit, program, slowness

import bochs
import qemu

sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import compare

Run = Callable[..., qemu.Result]

#: Ticks of 10 ns; what entering the kernel and leaving it takes, and a system call or two.
CALLS_NS = 20_000
LATENCY_BOUND_NS = 50_000  # latency_bound=, if nothing sets another one


@pytest.fixture(scope="module")
def node() -> Run:
    def run(app: str | Path, *args: str, **keywords: Any) -> qemu.Result:
        keywords["time_limit"] = keywords.get("time_limit", 120.0) * slowness()
        return bochs.run_bochs(program(app) if isinstance(app, str) else app, args, **keywords)

    return run


def reported(text: bytes) -> dict[str, int]:
    return {
        name: int(value) for name, value in re.findall(r"^(\w+):? (-?\d+)\b", text.decode(), re.MULTILINE)
    }


# ---- The machine ----


def test_two_cpus_boot_and_compute_in_silence(node: Run) -> None:
    """And the last byte of the console has left the port before the machine is off: Bochs drops what has
    not."""
    result = expect_exit(node(APPS / "ftq", "-n", "100", "-s", cpus=2, options="prefix=rank"))
    assert "started by multiboot2" in result.console and " avx512\r\n" in result.console, result.explain()
    assert "cpus: 2 run, local interrupts by x2APIC\r\n" in result.console, result.explain()
    assert result.console.endswith("tacet: exit status=0\r\n"), result.explain()
    summary = result.stderr.decode()
    for rank in range(2):
        for line in (
            "detours: 0 (zero detours)",
            "lost_quanta: 0 (no operation at all)",
            "kernel_entries: 0",
        ):
            assert re.search(rf"^{rank}: {re.escape(line)}$", summary, re.MULTILINE), result.explain()


def test_ftq_has_no_detour_and_a_run_repeats_digit_for_digit(node: Run) -> None:
    first, second = (expect_exit(node(APPS / "ftq", "-n", "300", "-s")) for _ in range(2))
    said = reported(first.stderr)
    assert (said["detours"], said["lost_quanta"], said["kernel_entries"]) == (0, 0, 0), first.explain()
    assert len(re.findall(rb"^\d+ \d+$", first.stdout, re.MULTILINE)) == 300, first.explain()
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr), second.explain()


def test_a_cpu_that_waits_is_woken_by_another_ones_store(node: Run) -> None:
    result = expect_exit(node("threads.musl", cpus=2, options="ranks=1 idle=mwait"))
    assert b"broken: 0\n" in result.stdout, result.explain()


# ---- Timers ----


def test_the_tsc_deadline_expires_timers_where_there_is_one(node: Run) -> None:
    result = expect_exit(node(qemu.BUSYBOX, "cat", "/proc/tacet/clockevents"))
    assert b"tsc-deadline 150 top" in result.stdout, result.explain()


@pytest.mark.parametrize("device", ["tsc-deadline", "lapic"])
@pytest.mark.parametrize("slack_ns", [1, 0])
def test_a_sleep_is_never_early_and_late_within_its_bound(device: str, slack_ns: int, node: Run) -> None:
    options = f"clockevent={device}"
    result = expect_exit(node("sleeps.musl", "late", str(slack_ns), "112", options=options))
    late, bound = reported(result.stdout), slack_ns or LATENCY_BOUND_NS
    assert late["late_min_ns"] >= 0, result.explain()
    assert late["late_absolute_max_ns"] <= bound + CALLS_NS, result.explain()


def test_crowds_of_sleeps_end_by_the_tsc_deadline(node: Run) -> None:
    crowd = reported(expect_exit(node(APPS / "cost", "-t", options="threads=1024 rotation=off")).stdout)
    assert (crowd["crowd_sleeps"], crowd["crowd_interrupts"]) == (1000, 1)
    expect_exit(node("sleeps.musl", "random", "20", "20", options="threads=64"))


def test_after_the_last_timer_there_is_silence(node: Run) -> None:
    result = expect_exit(node("sleeps.musl", "quiet", "1"))
    assert reported(result.stdout) == {"entries": 0}, result.explain()


# ---- AVX-512 ----


def test_avx512_outlives_turns_of_other_threads_and_signals(node: Run) -> None:
    """Whose turns are of half a millisecond: each is lost to a timer in the midst of an instruction loop."""
    result = expect_exit(node("avx512.musl", options="rotation=500us"))
    assert b"broken: 0\n" in result.stdout and not result.stderr, result.explain()


def test_frames_with_random_avx512_state_harm_nobody_else(node: Run) -> None:
    result = expect_exit(node("signal_frames.musl", "1", "1000"))
    assert b"attempts: 1000" in result.stdout, result.explain()


# ---- System calls ----


def test_system_calls_answer_as_on_qemus_machine(tmp_path: Path, node: Run) -> None:
    """All conformance tests, on one CPU. Only the clock ticks slower: its resolution is 10 ns."""
    settings = {"files": compare.files_make(tmp_path), "options": "ranks=1"}
    app, names = compare.program("musl"), compare.names()
    there = expect_exit(qemu.run_tacet(app, names, **settings))
    here = expect_exit(node(app, *names, **settings, time_limit=240))
    lines = [compare.lines_of(result.stdout.decode()) for result in (there, here)]
    assert all("conform" in one for one in lines), here.explain()
    for name in names:
        in_qemu, in_bochs = (one[name] for one in lines)
        expected = [line.replace("is a nanosecond: 1", "is a nanosecond: 10") for line in in_qemu]
        assert in_bochs in (in_qemu, expected), (name, here.explain())


# ---- tools/run --bochs ----


def tool(*words: str | Path, **keywords: Any) -> subprocess.CompletedProcess[str]:
    command = ["tools/run", "--bochs", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, **keywords)


def test_the_command_hands_over_words_files_and_environment_and_keeps_the_flight_log(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "said").write_text("a file of the node\n")
    log = tmp_path / "flight log"
    ran = tool(
        *("--env", "WORD=two words", "--files", tmp_path / "files", "--klog", log, "--memory", "64M"),
        *(program("arguments.musl"), 'say "x"', "it's", "back\\slash"),
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    expected = 'arguments.musl\0say "x"\0it\'s\0back\\slash\0=ENV=\0WORD=two words\0'
    assert ran.stdout.startswith(expected), ran.stdout
    read = subprocess.run(["tools/lab", "klog", log], cwd=ROOT, capture_output=True, text=True)
    assert "program_enter" in read.stdout, read.stdout + read.stderr


def test_the_command_ends_with_the_programs_status_or_the_nodes() -> None:
    assert tool(program("status.musl"), "42").returncode == 42
    stopped = tool("--options", "none=1", program("status.musl"))
    assert stopped.returncode == 64 and "the node stopped: " in stopped.stderr, stopped.stderr


def test_the_commands_time_limit_ends_a_node_that_hangs() -> None:
    ran = tool("--time-limit", "8", qemu.BUSYBOX, "sleep", "1000000")
    assert ran.returncode == 124 and "no end within 8 s" in ran.stderr, ran.stderr
    assert "tools/run --bochs --cpus 1 --memory 256M /bin/busybox sleep 1000000" in ran.stderr, ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--icount", "0"], "--icount is not for --bochs: in Bochs, time always follows the instructions"),
        (["--turns", "off"], "--turns is not for --bochs: its CPUs take turns of 16 instructions"),
        (["--stdin", "/dev/null"], "--stdin is not for --bochs: programs in Bochs have no standard input"),
        (["--qemu", "newest"], "--qemu is not for --bochs: Bochs is another emulator"),
        (["--qemu-options=-s"], "--qemu-options is not for --bochs: Bochs is another emulator"),
        (["--gdb"], "--gdb is not for --bochs: "),
        (["--linux"], "argument --linux: not allowed with argument --bochs"),
        (["--cpus", "9"], "--cpus takes 1 to 8 with --bochs, not 9"),
        (["--cpus", "0"], "--cpus takes 1 to 1024"),
        (["--memory", "2049M"], "--memory takes at most 2048M with --bochs, not 2049M"),
        (["--env", "X=tab\there"], "GRUB cannot pass an empty argument, or one with a tab"),
    ],
)
def test_what_bochs_does_not_have_is_refused_in_one_line(words: list[str], said: str) -> None:
    ran = tool(*words, program("status.musl"))
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert ran.stderr.startswith(f"tools/run: {said}"), ran.stderr


def test_a_missing_program_is_named_and_so_is_a_bochs_that_is_not_installed(tmp_path: Path) -> None:
    assert tool("none").stderr == "tools/run: no such program: none\n"
    (tmp_path / "python3").symlink_to("/usr/bin/python3")
    ran = tool(
        program("status.musl"), env={**os.environ, "PATH": str(tmp_path)}, executable=ROOT / "tools/run"
    )
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr == "tools/run: missing: bochs; apt-get install bochs\n", ran.stderr
