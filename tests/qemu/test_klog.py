# SPDX-License-Identifier: BSD-2-Clause
"""The flight log on whole nodes: it says what happened, when, and no more than was requested.

Boots machines of its own and builds what they run, so that it needs nothing but the tree.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]

from conftest import memory_of
from planted import planted

import qemu
from lab.bench import costs
from lab.flight_log import names
from lab.formats import klog
from qemu import architectures
from tests.making import made

EINVAL = 22
#: What the kernel makes of a bound: the largest power of two that is not above it.
ROUNDED_NS = {1: 1, 50_000: 32_768, 1_000_000: 524_288, 1 << 22: 1 << 22}

#: Runs the program flight_log; the result and the log.
Run = Callable[..., tuple[qemu.Result, klog.FlightLog]]


@pytest.fixture(scope="session")
def program(arch: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/programs/flight_log.c, built."""
    made(f"ARCH={arch}", "kernel", "apps")
    path = tmp_path_factory.mktemp("klog") / "flight_log"
    source = str(ROOT / "tests/programs/flight_log.c")
    command = [
        str(ROOT / "libc/tacet-cc"),
        "-std=gnu11",
        "-O2",
        f"-I{ROOT / 'libc/include'}",
        source,
        "-o",
        str(path),
    ]
    env = {**os.environ, "TACET_BUILD": str(qemu.BUILD), "TACET_ARCH": arch}
    compiled = subprocess.run(command, env=env, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    return path


@pytest.fixture
def run(arch: str, program: Path, tmp_path: Path) -> Run:
    def once(*args: str, **keywords: Any) -> tuple[qemu.Result, klog.FlightLog]:
        keywords["memory"] = memory_of(keywords.get("memory", "128M"), arch)
        end = keywords.pop("end", ("exit", 0))
        result = qemu.run_tacet(program, args, arch=arch, klog=tmp_path / "klog.bin", **keywords)
        assert (result.outcome, result.status) == end, result.explain()
        log = klog.read(tmp_path / "klog.bin")
        assert log.architecture == arch
        return result, log

    return once


def stopped(program: Path, options: str, **keywords: Any) -> str:
    """The reason for which a node with these options does not start."""
    keywords["memory"] = "256M"
    arch = architectures.of_file(program).name
    result = qemu.run_tacet(program, options=options, arch=arch, **keywords)
    assert (result.outcome, result.status) == ("stop", 64), result.explain()
    return result.reason


def event_names(log: klog.FlightLog) -> list[str]:
    return [log.kinds[kind].name for kind in log.kind.tolist()]


# ---- What it records ----


@pytest.mark.parametrize("bound_ns", ROUNDED_NS)
def test_sleeps_end_at_the_first_boundary_after_their_deadline(bound_ns: int, run: Run) -> None:
    lengths_us = [1, 30, 100, 999, 5000, 20_000]
    _, log = run("sleeps", str(bound_ns), *map(str, lengths_us), icount=0)
    rounded = ROUNDED_NS[bound_ns]
    sleeps, armed, ends = log.of("sleep"), log.of("timer_arm"), log.of("sleep_end")
    assert len(sleeps) == len(armed) == len(ends) == len(lengths_us)
    for (deadline, bound), (armed_deadline, boundary), (end_deadline, now) in zip(
        sleeps.tolist(), armed.tolist(), ends.tolist()
    ):
        assert deadline == armed_deadline == end_deadline and bound == bound_ns
        assert boundary % rounded == 0 and 0 <= boundary - deadline < rounded
        # One microsecond is long here: a nanosecond is an instruction. A boundary that passed before the
        # timer was armed comes at once.
        assert deadline <= boundary <= now < boundary + 2000
    # One interrupt a sleep: the device's rate is known well enough that none comes too early.
    assert (
        len(log.of("timer_expire"))
        == len(log.of("clockevent_arm"))
        == len(log.of("interrupt"))
        == len(lengths_us)
    )


def test_times_of_the_log_are_times_of_the_program_and_of_the_timers(run: Run) -> None:
    """The clock of the log's stamps and the times inside of its events are one."""
    _, log = run("sleeps", "1", "1000", "2000")
    for kind in ("sleep_end", "timer_expire"):
        stamps = log.time_ns[[name == kind for name in event_names(log)]].tolist()
        for stamp, (_, now) in zip(stamps, log.of(kind).tolist(), strict=True):
            assert now <= stamp + 1
            assert log.time_ns[0] < now


def test_every_cpu_reports_who_ran_there(run: Run) -> None:
    _, log = run("calls", "3", cpus=4)
    assert [part.cpu for part in log.cpus] == [0, 1, 2, 3]
    for cpu in range(4):
        mine = log.select(log.cpu == cpu)
        reported = event_names(mine)
        assert (reported[0] == "cpu_online") == (cpu != 0)
        assert mine.of("program_enter")[:, 0].tolist() == [cpu] and mine.of("program_end").tolist() == [
            [cpu, 0]
        ]


def test_a_silent_program_logs_nothing_between_its_beginning_and_its_end(run: Run) -> None:
    _, log = run("calls", "1000", icount=0)
    assert event_names(log) == ["program_enter", "program_end"]


def test_the_cause_of_a_detour_is_in_the_log(run: Run) -> None:
    """As docs/flight-log.md reads it: whatever the computing rank missed, an interrupt of its CPU explains
    it."""
    result, log = run("detour", "200", cpus=2, icount=0, options="clockevents=writable")
    detours = [
        (int(a), int(b)) for a, b in re.findall(rb"^  at (\d+) ns: (\d+) ns$", result.stdout, re.MULTILINE)
    ]
    assert detours, result.explain()
    mine = log.select((log.cpu == 0) & np.array([name == "interrupt" for name in event_names(log)]))
    for at, taken in detours:
        inside = (mine.time_ns >= at - 1) & (mine.time_ns <= at + taken + 1)
        assert [
            names.word_text("vector", vector, log.architecture) for vector in mine.words[inside, 0].tolist()
        ] == ["0xf0 (ipi)"], result.explain()


# ---- What is requested of it ----


def test_system_calls_appear_only_when_asked(run: Run) -> None:
    _, log = run("calls", "5")
    assert "system_call" not in event_names(log)
    _, log = run("calls", "5", options="klog_classes=all")
    calls = [
        words
        for words in log.of("system_call").tolist()
        if names.system_calls(log.architecture)[words[0]] == "getppid"
    ]
    assert [argument for _, argument in calls] == [1, 2, 3, 4, 5]
    # Every call but the last, exit_group, has its end, right after it.
    reported = [
        names.cause(log.kinds[kind], words, log.architecture)
        for kind, words in zip(log.kind.tolist(), log.words.tolist())
    ]
    assert reported.count("system_call getppid") == reported.count("system_call_end getppid") == 5
    assert all(
        reported[i + 1] == "system_call_end getppid"
        for i, cause in enumerate(reported)
        if cause == "system_call getppid"
    )
    assert "system_call exit_group" in reported and "system_call_end exit_group" not in reported


def test_classes_are_chosen_on_the_command_line(run: Run) -> None:
    _, log = run("sleeps", "1", "100", options="klog_classes=process,timer")
    assert {kind.event_class for kind in log.kinds} >= {
        "boot",
        "process",
        "syscall",
        "trap",
        "timer",
        "memory",
        "mark",
    }
    assert {log.kinds[kind].event_class for kind in log.kind.tolist()} == {"process", "timer"}
    _, log = run("sleeps", "1", "100", options="klog_classes=none", cpus=2)
    assert len(log) == 0


@pytest.mark.parametrize("wrong", ["timers", "timer,bogus", ",timer", "All", "all,timer"])
def test_a_wrong_class_stops_the_node_in_a_clear_line(wrong: str, program: Path) -> None:
    (bad,) = [word for word in wrong.split(",") if word != "timer"] if wrong != "all,timer" else ["all"]
    assert stopped(program, f"klog_classes={wrong}") == (
        f"klog_classes={bad}: no such class; there are boot, process, syscall, trap, timer, memory, mark, "
        "all, none"
    )


def test_a_wrong_port_stops_the_node_in_a_clear_line(arch: str, program: Path) -> None:
    # Without the runner's fourth port there are three.
    *ports, none = architectures.named(arch).terminals
    for port in (none, ""):
        said = stopped(program, f"klog={port}")
        assert said == f"klog={port}: this machine has no such console; it has: {', '.join(ports)}"


def test_a_program_changes_what_is_logged(run: Run, program: Path, tmp_path: Path) -> None:
    result, log = run("write", "+syscall", "-timer", "+timer\n", "-syscall")
    assert result.stdout == b"+syscall: written\n-timer: written\n+timer\n: written\n-syscall: written\n", (
        result.explain()
    )
    calls = {names.system_calls(log.architecture)[number] for number, _ in log.of("system_call").tolist()}
    assert {"write", "open", "close"} & calls, calls
    # Only between the two: the first text was written before the class was on, the last ended after it was
    # off.
    assert "program_end" == event_names(log)[-1] and "exit_group" not in calls


@pytest.mark.parametrize(
    "wrong",
    [
        "nonsense",
        "+",
        "-",
        "+bogus",
        "syscall",
        "+syscal",
        "+syscalls",
        "+ syscall",
        "+all",
        "+timer,trap",
        "x" * 200,
    ],
)
def test_nonsense_is_refused_and_changes_nothing(wrong: str, run: Run) -> None:
    result, log = run("write", wrong)
    assert result.stdout.decode() == f"{wrong}: errno {EINVAL}\n", result.explain()
    assert event_names(log) == ["program_enter", "program_end"]


def test_a_change_of_another_class_disturbs_no_other_cpu(run: Run) -> None:
    # Both ranks write; the one interrupt that may come to the second CPU is the job's start.
    _, log = run("write", *["-memory", "+memory"] * 10, cpus=2)
    assert len(log.of("interrupt")) <= 1
    _, log = run("write", *["+syscall", "-syscall"] * 10, cpus=2)
    assert len(log.of("interrupt")) > 1


# ---- Rings ----


def test_the_newest_events_stay_when_a_ring_is_full(run: Run) -> None:
    _, log = run("calls", "3000", options="klog_classes=syscall")
    (part,) = log.cpus
    assert part.kept == 1023 and part.lost > 4900
    calls = [
        argument
        for number, argument in log.of("system_call").tolist()
        if names.system_calls(log.architecture)[number] == "getppid"
    ]
    assert calls == list(range(3000 - len(calls) + 1, 3001)) and len(calls) > 500


@pytest.mark.parametrize("cpus", [2, 3, 4])
def test_reading_the_ring_of_a_busy_cpu_gives_no_torn_event(cpus: int, run: Run) -> None:
    """The program itself looks through each file that it reads, event by event."""
    result, end = run("read_busy", "500", cpus=cpus, options="klog_classes=syscall", time_limit=180)
    reported = re.fullmatch(rb"whole events: (\d+), torn files: 0\n", result.stderr)
    assert reported and int(reported[1]) > 10_000, result.explain()
    # The last file that it read reads here, too, as does the one that the node sent at its end.
    log = klog.parse(result.stdout)
    assert len(log.cpus) == len(end.cpus) == cpus
    assert all(part.lost > 0 for part in log.cpus[1:])


def test_no_byte_of_a_large_log_is_lost(run: Run) -> None:
    result, log = run("calls", "600", cpus=16, memory="1G", options="klog_classes=all", time_limit=180)
    assert [part.kept for part in log.cpus] == [1023] * 16, result.explain()


def test_an_nmi_to_a_sleeping_cpu_tears_nothing(run: Run, tmp_path: Path) -> None:
    """It finds the CPU in the kernel, where it may be writing an event, and is reported on the console
    alone."""
    path = tmp_path / "monitor"

    def inject(chunk: bytes) -> None:
        if not chunk.endswith(b"\n"):
            return  # the beginning of the line, which the host has read early
        # The machine may have switched itself off before it answers.
        with (
            contextlib.suppress(ConnectionResetError, BrokenPipeError),
            socket.socket(socket.AF_UNIX) as monitor,
        ):
            monitor.connect(str(path))
            monitor.settimeout(30)
            monitor.sendall(b"nmi\n")
            said = b""
            while said.count(b"(qemu) ") < 2 and (
                answer := monitor.recv(4096)
            ):  # the first prompt, and that after the command
                said += answer

    result, log = run(
        "await_nmi", qemu_options=["-monitor", f"unix:{path},server=on,wait=off"], on_stdout=inject
    )
    assert "non-maskable interrupt of unknown origin" in result.console, result.explain()
    assert len(log.of("sleep")) == len(log.of("sleep_end")) and len(log.of("exception")) <= 1


# ---- The end ----


#: What an instruction that there is none of raises.
INVALID = {"x86_64": ("invalid opcode", 6), "ppc64": ("program", 7)}


def test_a_panic_prints_the_last_events_and_still_sends_the_log(arch: str, run: Run, tmp_path: Path) -> None:
    result, log = run(
        "calls",
        "1",
        kernel=planted(tmp_path, "call_getppid", arch=arch),
        options="klog_classes=all",
        end=("stop", 70),
    )
    console = result.console.replace("\r", "")
    fault, vector = INVALID[arch]
    assert f"kernel fault: {fault} at" in result.reason
    assert "tacet: the last events of CPU 0:\n" in console, result.explain()
    reported = re.findall(
        r"^tacet: +(\d+) ticks  (\w+) +([0-9a-f]+) ([0-9a-f]+)  \((\w+ \w+)\)$", console, re.MULTILINE
    )
    assert [name for _, name, *_ in reported] == event_names(log)[-32:], result.explain()
    getppid = next(
        number for number, name in names.system_calls(log.architecture).items() if name == "getppid"
    )
    assert reported[-2][1:] == ("system_call", f"{getppid:x}", "1", "number argument")
    assert reported[-1][1:3] == ("exception", f"{vector:x}") and reported[-1][4] == "vector instruction"
    assert console.index("the last events") < console.index("stop status=70")


def test_a_panic_reports_at_most_the_newest_events(arch: str, run: Run, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "sys_exit_group", arch=arch)
    result, log = run("sleeps", "1", *["10"] * 50, kernel=kernel, end=("stop", 70))
    assert len(log) > 100
    assert len(re.findall(r"^tacet: +\d+ ticks ", result.console, re.MULTILINE)) == 32, result.explain()


#: An x86_64 has measured no rate when it reads its options; a POWER's firmware says it.
EARLY_HZ = {"x86_64": 0, "ppc64": 512_000_000}


def test_a_stop_for_bad_input_sends_a_log_too(arch: str, program: Path, tmp_path: Path) -> None:
    kept = tmp_path / "klog.bin"
    assert "latency_bound" in stopped(program, "latency_bound=nonsense", klog=kept)
    assert len(klog.read(kept)) == 0
    assert "no_such" in stopped(program, "no_such=1", klog=kept)
    assert klog.read(kept).clock_hz == EARLY_HZ[arch]


# ---- Cost ----


def test_an_event_costs_less_than_sixty_instructions(arch: str) -> None:
    result = qemu.run_tacet(
        qemu.BUILD / arch / "apps/cost", ["-n", "200"], arch=arch, memory="256M", icount=0
    )
    assert (result.outcome, result.status) == ("exit", 0), result.explain()
    reported = costs.parse_cost(result.stdout.decode())
    assert 0 < reported["klog_event_ticks"] < 60, reported
    logged = reported["getpid_logged_ticks_min"] - reported["getpid_ticks_min"]
    assert abs(reported["klog_event_ticks"] - logged / 2) <= 1  # all three are rounded
