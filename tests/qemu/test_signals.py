# SPDX-License-Identifier: BSD-2-Clause
"""Signals are Linux's: what handlers are told and find, who gets them, which calls they interrupt, what becomes of hostile frames.

The programs check themselves, and keep the same promises on the build machine's Linux.
"""

from __future__ import annotations

import re
import subprocess

import pytest
import qemu
from conftest import Run, expect_exit, program


def expect_kept(result: qemu.Result, least: int) -> None:
    expect_exit(result)
    kept = re.search(rb"promises: (\d+), broken: 0\n", result.stdout)
    assert kept and int(kept[1]) >= least, result.explain()
    assert result.stderr == b"", result.explain()


@pytest.mark.parametrize("cpu", ["max", "qemu64", "max,-xsave", "max,-smap,-smep"])
def test_handlers_are_told_the_truth_and_leave_no_trace(cpu: str, tacet: Run) -> None:
    expect_kept(tacet("signals.musl", cpu=cpu), 150)


def test_the_same_holds_beside_idle_cpus(tacet: Run) -> None:
    expect_kept(tacet("signals.glibc", cpus=4, options="ranks=1"), 150)


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_threads_reach_each_other_while_they_compute(kind: str, tacet: Run) -> None:
    expect_kept(tacet(f"signal_threads.{kind}", cpus=4, options="ranks=1", time_limit=180), 20)


@pytest.mark.parametrize("kind", ["musl", "glibc"])
@pytest.mark.parametrize("cpus", [1, 4])
def test_timers_send_what_was_asked_for_and_count_what_was_missed(kind: str, cpus: int, tacet: Run) -> None:
    expect_kept(tacet(f"itimers.{kind}", cpus=cpus, options="ranks=1"), 30)


@pytest.mark.parametrize(("seed", "cpu"), [(1, "max"), (2, "qemu64"), (3, "max,-xsave")])
def test_a_hostile_frame_harms_only_who_returns_from_it(seed: int, cpu: str, tacet: Run) -> None:
    result = expect_exit(tacet("signal_frames.musl", str(seed), "10000", cpu=cpu, time_limit=180))
    assert re.match(rb"attempts: 10000, faults: \d{4}", result.stdout), result.explain()


def test_a_full_signal_stack_ends_the_program_with_a_report(tacet: Run) -> None:
    result = expect_exit(tacet("signals.musl", "overflow"), 128 + 11)
    assert re.search(r"no room on the signal stack at 0x[0-9a-f]+, 32768 bytes, for SIGUSR1", result.console), result.explain()


def test_ranks_signal_stop_and_continue_each_other(tacet: Run) -> None:
    result = tacet("signal_ranks.musl", cpus=2, options="ranks=2")
    assert result.status == 128 + 15, result.explain()  # the second rank's end is the worst status
    assert b"promises: 6, broken: 0\n" in result.stdout, result.explain()
    console = result.console.replace("\r", "")
    assert re.search(r"rank 1 \(signal_ranks\S*\) stopped by SIGSTOP, until SIGCONT", console), result.explain()
    assert re.search(r"rank 1 \(signal_ranks\S*\) ended by SIGTERM, which rank 0 sent", console), result.explain()


@pytest.mark.parametrize("name", ["signals.glibc", "signals.musl", "itimers.glibc", "signal_threads.glibc", "signal_frames.musl"])
def test_linux_keeps_the_same_promises(name: str) -> None:
    done = subprocess.run([program(name)], capture_output=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
