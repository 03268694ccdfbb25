# SPDX-License-Identifier: BSD-2-Clause
"""Signals are Linux's: what handlers get and find, which thread gets them, which calls they interrupt, what
becomes of hostile frames.

The programs check themselves, and keep the same promises on the build machine's Linux.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit, own_errors, program

import qemu


def expect_kept(result: qemu.Result, least: int) -> None:
    expect_exit(result)
    kept = re.search(rb"promises: (\d+), broken: 0\n", result.stdout)
    assert kept and int(kept[1]) >= least, result.explain()
    assert own_errors(result) == b"", result.explain()


@pytest.mark.parametrize("cpu", [None, "qemu64", "max,-xsave", "max,-smap,-smep"])
def test_handlers_are_reported_the_truth_and_leave_no_trace(cpu: str | None, tacet: Run) -> None:
    expect_kept(tacet("signals.musl", cpu=cpu), 100)


def test_the_same_holds_beside_idle_cpus(tacet: Run) -> None:
    expect_kept(tacet("signals.glibc", cpus=4, options="ranks=1"), 100)


@pytest.mark.parametrize(
    ("cpus", "icount"), [(1, 0), (1, None), (2, None)], ids=["icount", "free", "beside_an_idle_cpu"]
)
def test_interrupted_waits_end_or_begin_again_as_on_linux(cpus: int, icount: int | None, tacet: Run) -> None:
    expect_kept(tacet("interrupted.musl", cpus=cpus, icount=icount, options="ranks=1"), 200)


def test_a_read_of_standard_input_is_interrupted_and_begins_again(tacet: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    writer = os.open(tmp_path / "never", os.O_RDWR)
    expect_kept(tacet("interrupted.musl", "stdin", stdin=tmp_path / "never"), 2)
    linux = subprocess.run(
        [program("interrupted.musl"), "stdin"], stdin=writer, capture_output=True, timeout=60
    )
    os.close(writer)
    assert linux.returncode == 0, (linux.stdout + linux.stderr).decode()


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_threads_reach_each_other_while_they_compute(kind: str, tacet: Run) -> None:
    expect_kept(tacet(f"signal_threads.{kind}", cpus=4, options="ranks=1", time_limit=180), 20)


@pytest.mark.parametrize("kind", ["musl", "glibc"])
@pytest.mark.parametrize("cpus", [1, 4])
def test_timers_send_what_was_asked_for_and_count_what_was_missed(kind: str, cpus: int, tacet: Run) -> None:
    expect_kept(tacet(f"itimers.{kind}", cpus=cpus, options="ranks=1"), 30)


@pytest.mark.parametrize(("seed", "cpu"), [(1, None), (2, "qemu64"), (3, "max,-xsave")])
def test_a_hostile_frame_harms_only_who_returns_from_it(seed: int, cpu: str | None, tacet: Run) -> None:
    model = {"cpu": cpu} if cpu else {}
    result = expect_exit(tacet("signal_frames.musl", str(seed), "10000", time_limit=180, **model))
    assert re.match(rb"attempts: 10000, faults: \d{4}", result.stdout), result.explain()


def test_a_full_signal_stack_ends_the_program_with_a_report(tacet: Run) -> None:
    result = expect_exit(tacet("signals.musl", "overflow"), 128 + 11)
    assert re.search(
        r"no room on the signal stack at 0x[0-9a-f]+, 32768 bytes, for SIGUSR1", result.console
    ), result.explain()


def test_ranks_signal_stop_and_continue_each_other(tacet: Run) -> None:
    result = tacet("signal_ranks.musl", cpus=2, options="ranks=2")
    assert result.status == 128 + 15, result.explain()  # the second rank's end is the worst status
    assert b"promises: 106, broken: 0\n" in result.stdout, result.explain()
    console = result.console.replace("\r", "")
    assert re.search(r"rank 1 \(signal_ranks\S*\) stopped by SIGSTOP, until SIGCONT", console), (
        result.explain()
    )
    assert re.search(r"rank 1 \(signal_ranks\S*\) ended by SIGTERM, which rank 0 sent", console), (
        result.explain()
    )


@pytest.mark.parametrize(("icount", "rounds"), [(0, "100"), (None, "500")], ids=["icount", "free"])
def test_a_signal_reaches_a_thread_before_its_first_step(icount: int | None, rounds: str, tacet: Run) -> None:
    expect_kept(
        tacet("signal_races.musl", "newborn", rounds, cpus=2, options="ranks=1", icount=icount), int(rounds)
    )


def test_a_signal_reaches_a_thread_on_its_way_to_another_cpu(idle: str, tacet: Run) -> None:
    rounds = "500" if idle == "poll" else "2000"
    expect_kept(
        tacet("signal_races.musl", "travel", rounds, cpus=3, options=f"ranks=1 idle={idle}"), int(rounds)
    )


def test_the_end_of_a_process_reaches_a_thread_before_its_first_step(tacet: Run) -> None:
    expect_exit(tacet("signal_races.musl", "ended", cpus=2, options="ranks=1", icount=0), 5)


@pytest.mark.parametrize(("part", "rounds"), [("alarms", "500"), ("stranger", "20000")])
def test_timers_outlive_their_threads_and_do_not_outlive_themselves(
    part: str, rounds: str, tacet: Run
) -> None:
    expect_kept(tacet("signal_races.musl", part, rounds, cpus=2, options="ranks=1"), 2)


def test_signals_threads_and_timers_survive_each_other(idle_at_rest: str, tacet: Run) -> None:
    options = f"ranks=1 idle={idle_at_rest}"
    expect_kept(tacet("signal_races.musl", "chaos", "50", cpus=4, options=options, time_limit=120), 2)


def test_a_periodic_timer_goes_on_after_its_signal_was_ignored(tacet: Run) -> None:
    expect_kept(tacet("signal_races.musl", "ignored"), 2)


@pytest.mark.parametrize(
    "name",
    [
        "signals.glibc",
        "signals.musl",
        "itimers.glibc",
        "signal_threads.glibc",
        "signal_frames.musl",
        "interrupted.musl",
    ],
)
def test_linux_keeps_the_same_promises(name: str) -> None:
    done = subprocess.run([program(name)], capture_output=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("part", ["newborn", "travel", "alarms", "stranger"])
def test_linux_loses_no_signal_either(part: str) -> None:
    done = subprocess.run([program("signal_races.musl"), part, "50"], capture_output=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
