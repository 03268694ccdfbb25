# SPDX-License-Identifier: BSD-2-Clause
"""Timers of CPU time, as profilers use them: tests/programs/profiled.c. Interrupts are compared under a
deterministic clock; which thread gets a signal, and that none is early, at any speed."""

from __future__ import annotations

import pytest
from conftest import Run, expect_exit
from test_sharing import EXACT, expect_kept, run

CPUS = pytest.mark.parametrize("cpus", [1, 3])


def test_a_timer_of_cpu_time_costs_the_interrupts_of_its_signals_alone(tacet: Run) -> None:
    expect_kept(run(tacet, "profiled.musl", "silent", **EXACT))


def test_a_process_that_sleeps_is_interrupted_once_at_most(tacet: Run) -> None:
    expect_kept(run(tacet, "profiled.musl", "asleep", **EXACT))


def test_a_limit_of_cpu_time_is_first_a_signal_and_then_the_end(tacet: Run) -> None:
    result = run(tacet, "profiled.musl", "limited", cpus=1, icount=5)
    assert b"promises: 5, broken: 0\n" in result.stdout and result.status == 137, result.explain()
    assert b"ended by SIGKILL: it has used its CPU time (RLIMIT_CPU)" in result.stderr, result.explain()


@CPUS
def test_the_threads_that_compute_get_the_profiler_s_signals_in_turns(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "profiled.musl", "shares", cpus=cpus, options="rotation=1ms"))


@CPUS
def test_each_thread_gets_the_signals_of_its_own_cpu_time(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "profiled.musl", "own", "60", cpus=cpus, options="rotation=1ms"))


@CPUS
def test_a_thread_that_ends_takes_its_timers_with_it(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "profiled.musl", "ends", "60", cpus=cpus, time_limit=120))


def test_a_daemon_s_threads_have_such_timers_and_bind_themselves_to_other_ranks_cpus(tacet: Run) -> None:
    """The ranks wait in between, so that the daemon is on their CPUs when it binds its threads elsewhere."""
    daemon = ["profiled.musl", "own", "60"]
    result = tacet("sleeps.musl", "random", "10", "100", cpus=3, options="threads=64", service=daemon)
    expect_exit(result)
