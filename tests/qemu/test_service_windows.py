# SPDX-License-Identifier: BSD-2-Clause
"""The conductor's `services`: at a beat the ready threads of the service run before the ranks', for as long
as the command says [Betti09 §III]. The flight log says, in the node's own time, which thread had a CPU when.

If one instruction takes one nanosecond, windows are measured, else they are counted. No period of the
beats here is shorter than a minute, so what ends a window in time is the CPU's own device.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from test_nettick import HEARS, LONG_NS, Conductor, heard
from test_nettick import conduct as conduct_beats
from test_nettick_commands import CONTINUE, COUNT, KILL, SERVICES, STOP, STOPPED, SWITCHES, Commander, conduct

from lab.formats import klog
from tests.beat_frames import Beat

US, MS = 1_000, 1_000_000
DAEMON = "apps/daemon"
#: One that never blocks, and one that computes for 100 us of each 10 ms.
BUSY = ["service.musl", "computing"]
SLEEPY = [DAEMON, "-p", "10ms", "-w", "100us"]
#: From the beginning or the end of a window to the switch.
SWITCH_MAX_NS = 20 * US
WINDOWS = 10


@dataclass(frozen=True)
class Stint:
    """A time in which a CPU had a thread of the service."""

    cpu: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Log:
    """What the flight log says of windows: (CPU, time, the event's two words)."""

    windows: list[tuple[int, int, int, int]]
    ends: list[tuple[int, int, int, int]]
    stints: list[Stint]
    signal_ns: list[int]
    rank_end_ns: list[int]


def read(path: Path, service_tids: set[int]) -> Log:
    log = klog.read(path)
    log_of = Log([], [], [], [], [])
    began: dict[int, int] = {}
    for at, cpu, kind, words in zip(log.time_ns, log.cpu, log.kind, log.words, strict=True):
        event, first, second = log.kinds[int(kind)].name, int(words[0]), int(words[1])
        match event:
            case "window":
                log_of.windows.append((int(cpu), int(at), first, second))
            case "window_end":
                log_of.ends.append((int(cpu), int(at), first, second))
            case "signal":
                log_of.signal_ns.append(int(at))
            case "program_end":
                log_of.rank_end_ns.append(int(at))
            case "thread_switch":
                if first in service_tids:
                    log_of.stints.append(Stint(int(cpu), began.pop(int(cpu), 0), int(at)))
                if second in service_tids:
                    began[int(cpu)] = int(at)
    return log_of


def us(count: int) -> bytes:
    return count.to_bytes(4, "big")


def switches(commander: Commander) -> int:
    return commander.command(COUNT).counts[SWITCHES]


def windows_pass(commander: Commander, *lengths_us: int) -> None:
    """One window after the other: the next when the ranks have the CPU again."""
    for length in lengths_us:
        before = switches(commander)
        assert commander.command(SERVICES, us(length)).result == 0
        while switches(commander) < before + 2:
            pass


def run(
    tacet: Run, tmp_path: Path, script: Callable[[Commander], None], service: list[str] | None, **more: Any
) -> Log:
    """A rank that computes on one CPU with a service, by instructions."""
    path = tmp_path / "klog"
    options = f"{HEARS} klog_classes=process {more.pop('options', '')}"
    machine: dict[str, Any] = {"icount": 0, "options": options, "klog": path, **more}
    conduct(tacet, script, "service.musl", "computing", service=service, **machine)
    return read(path, {2})


@pytest.mark.parametrize("options", ["", "service_policy=other rotation=off"], ids=["idle", "other"])
def test_a_service_that_would_get_nothing_gets_its_windows_and_nothing_else(
    options: str, tacet: Run, tmp_path: Path
) -> None:
    lengths = [500, 100, 2000, 1, 500]
    log = run(tacet, tmp_path, lambda commander: windows_pass(commander, *lengths), BUSY, options=options)
    assert [threads for _, _, threads, _ in log.windows] == [1] * len(lengths)
    assert len(log.stints) == len(log.ends) == len(lengths)
    for (_, at, _, end), length, stint in zip(log.windows, lengths, log.stints, strict=True):
        assert 0 <= at + length * US - end < 5 * US  # it is logged a little after it has begun
        assert 0 <= stint.begin_ns - at < SWITCH_MAX_NS
        assert 0 <= stint.end_ns - end < SWITCH_MAX_NS


def test_a_service_that_sleeps_runs_where_its_time_has_come_and_gives_the_cpu_back_at_once(
    tacet: Run, tmp_path: Path
) -> None:
    def script(commander: Commander) -> None:
        for _ in range(WINDOWS):
            before = switches(commander)
            while switches(commander) == before:  # it sleeps until its time has come
                commander.command(SERVICES, us(5000))
            while switches(commander) < before + 2:
                pass

    log = run(tacet, tmp_path, script, SLEEPY)
    assert len(log.stints) >= WINDOWS
    # In the first one it begins, and sleeps.
    assert all(stint.end_ns - stint.begin_ns >= 100 * US for stint in log.stints[1:])
    # Where a busy host lets the conductor wait, a stint makes up for all periods that have passed since.
    early = [
        stint.end_ns < end - MS
        for stint in log.stints
        for _, at, _, end in log.windows
        if 0 <= stint.begin_ns - at < SWITCH_MAX_NS
    ]
    assert len(early) == len(log.stints) and sum(early) > len(early) / 2, log


def test_a_command_within_a_window_ends_it_later_and_never_earlier(tacet: Run, tmp_path: Path) -> None:
    def script(commander: Commander) -> None:
        for lengths in ((3000, 500), (500, 3000), (200, 2000, 1000)):
            before = switches(commander)
            commander.beat(*(commander.next(SERVICES, us(length)) for length in lengths))
            while switches(commander) < before + 2:
                pass

    log = run(tacet, tmp_path, script, BUSY)
    assert [threads for _, _, threads, _ in log.windows] == [1, 0, 1, 0, 1, 0, 0]
    by_end = [log.windows[:2], log.windows[2:4], log.windows[4:]]
    assert len(log.stints) == 3
    for windows, stint, length in zip(by_end, log.stints, (3000, 3000, 2000), strict=True):
        last = max(end for _, _, _, end in windows)
        assert 0 <= stint.end_ns - last < SWITCH_MAX_NS
        assert length * US <= stint.end_ns - windows[0][1] + 5 * US < (length + 50) * US


def test_ranks_that_are_stopped_in_a_window_stop_after_it_and_go_on(tacet: Run, tmp_path: Path) -> None:
    def script(commander: Commander) -> None:
        commander.welcome()
        for _ in range(3):
            answer = commander.beat(commander.next(SERVICES, us(1000)), commander.next(STOP))
            while answer.state != STOPPED:
                answer = commander.beat()
            before = switches(commander)
            commander.command(SERVICES, us(100))  # the service has the CPU, for the rank does not want it
            assert commander.command(CONTINUE).result == 0
            while switches(commander) < before + 1:
                pass
            windows_pass(commander, 100)

    log = run(tacet, tmp_path, script, BUSY)
    assert sum(threads for _, _, threads, _ in log.windows) == sum(threads for _, _, threads, _ in log.ends)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_job_is_killed_in_a_window_at_its_end_at_the_latest(
    at_once: bool, tacet: Run, tmp_path: Path
) -> None:
    def script(commander: Commander) -> None:
        def kill() -> None:
            commands = [commander.next(SERVICES, us(20_000)), commander.next(KILL)]
            if not at_once:
                commander.beat(commands.pop(0))
            commander.send(*commands, answer_every=0)

        commander.welcome()
        commander.kill = kill  # type: ignore[method-assign]

    log = run(tacet, tmp_path, script, BUSY)
    (_, _, _, end), (killed,), (ended,) = log.windows[0], log.signal_ns, log.rank_end_ns
    assert ended - killed < 100 * US or (killed < end and 0 <= ended - end < 100 * US)


def test_a_node_without_a_service_does_nothing(tacet: Run, tmp_path: Path) -> None:
    def script(commander: Commander) -> None:
        before = switches(commander)
        for _ in range(3):
            assert commander.command(SERVICES, us(500)).result == 0
        assert switches(commander) == before

    log = run(tacet, tmp_path, script, None)
    assert not log.windows and not log.ends


@pytest.mark.parametrize(("ranks", "threads"), [(4, 1), (2, 2), (1, 4)])
def test_on_several_cpus_who_was_lifted_is_lowered_wherever_it_is(
    ranks: int, threads: int, tacet: Run, tmp_path: Path
) -> None:
    """Six threads of the service, which are ready somewhere; windows that end early and late."""

    def script(commander: Commander) -> None:
        lengths = itertools.cycle((300, 2000, 50))
        for _ in range(3 * WINDOWS):
            commander.command(SERVICES, us(next(lengths)))
        time.sleep(0.01)
        commander.command(COUNT)  # done by all CPUs later than that: their windows are over

    path = tmp_path / "klog"
    options = f"{HEARS.replace('ranks=1', f'ranks={ranks}')} klog_classes=process"
    service = ["service.musl", "computing", "6"]
    words = ("service.musl", "computing", str(threads))
    conduct(tacet, script, *words, cpus=4, options=options, service=service, klog=path)
    log = read(path, set())
    lifted = sum(count for _, _, count, _ in log.windows)
    assert lifted >= WINDOWS and lifted == sum(count for _, _, count, _ in log.ends)
    assert all(at >= now for _, at, _, now in log.ends)


def test_windows_are_counted(tacet: Run) -> None:
    def script(conductor: Conductor) -> None:
        commander = Commander(conductor.wire)
        windows_pass(commander, *[200] * 5)
        conductor.beat_until_end(lambda sequence: Beat(sequence, period_ns=LONG_NS), commander.sequence + 1)

    result = conduct_beats(tacet, script, "wait", "200", service=BUSY)
    assert " windows 5 goes_by " in result.stdout.decode().replace("\r", ""), result.explain()
    assert heard(result)["fine"] >= 200
