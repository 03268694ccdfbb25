# SPDX-License-Identifier: BSD-2-Clause
"""Threads that share CPUs: which of them runs, for how long and where (tests/programs/sharing.c), and crowds
of them (crowd.c). Gates are orders, exact sums and counters; turns and CPU time are compared under a
deterministic clock on one CPU."""

from __future__ import annotations

import re

import pytest
from conftest import Run, expect_exit, hardware_threads, own_errors
from test_bad_input import BAD_INPUT, expect_stop

import qemu

#: QEMU's: one instruction lasts a nanosecond.
EXACT = {"cpus": 1, "icount": 0}
TURN_NS = 2_000_000
KINDS = ["musl", "glibc-pie"]


def run(tacet: Run, name: str, *words: str, options: str = "", **keywords: object) -> qemu.Result:
    return tacet(name, *words, options=f"ranks=1 {options}".strip(), **keywords)


def expect_kept(result: qemu.Result) -> qemu.Result:
    kept = re.search(rb"promises: (\d+), broken: 0\n", expect_exit(result).stdout)
    assert kept and int(kept[1]) > 1 and own_errors(result) == b"", result.explain()
    return result


def said(result: qemu.Result, key: str) -> list[int]:
    line = re.search(rf"{key}: ([\d ]+)", expect_kept(result).stdout.decode())
    assert line, result.explain()
    return [int(word) for word in line[1].split()]


# ---- Turns ----


@pytest.mark.parametrize("way", ["rotation", "rotation-blocks"])
def test_each_turn_lasts_as_long_as_rotation_says(way: str, tacet: Run) -> None:
    """Whichever thread had the CPU before, and for however short a time."""
    result = run(tacet, "sharing.musl", way, options=f"rotation={TURN_NS}ns", **EXACT)
    assert TURN_NS * 0.99 < said(result, "shortest_ns")[0] < TURN_NS * 1.2, result.explain()


def test_two_threads_that_compute_both_go_on(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "rotation", cpus=2))


def test_a_higher_thread_that_runs_often_starves_nobody(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "rotation-often", options="rotation=2ms", **EXACT))


def test_without_rotation_others_wait_until_a_thread_blocks(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "rotation-off", options="rotation=off"))


@pytest.mark.parametrize(
    "option",
    ["rotation=99us", "rotation=2s", "rotation=on", "rotation=", "rotation=0", "rotation=-1ms"]
    + ["threads=0", "threads=1025", "threads=many", "threads=", "threads=4x", "threads=99999999999999999999"],
)
def test_turns_and_threads_that_cannot_be_are_refused_by_name(option: str, tacet: Run) -> None:
    name, value = option.split("=")
    reason = f"option {name}: '{re.escape(value)}' is not" + (".*or off" if name == "rotation" else "")
    expect_stop(tacet("sharing.musl", options=option), BAD_INPUT, reason)


# ---- Policies ----


@pytest.mark.parametrize("clock", [EXACT, {"cpus": 2}])
def test_the_highest_rank_runs_and_equals_take_turns_where_their_policy_has_some(
    clock: dict[str, int], tacet: Run
) -> None:
    expect_kept(run(tacet, "sharing.musl", "ranks", **clock))


@pytest.mark.parametrize("cpus", [2, 4])
def test_who_waits_in_the_background_or_sleeps_costs_nothing(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "background", cpus=cpus))


def test_policies_and_their_errors_are_linux_s(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "policies"))


# ---- Places ----


def test_threads_move_in_every_state(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "places", cpus=4))


@pytest.mark.parametrize(("way", "options"), [("displaced", ""), ("widened", "rotation=off")])
def test_a_ready_thread_goes_to_an_idle_cpu(way: str, options: str, tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", way, options=options, cpus=2))


def test_a_thread_that_waits_goes_on_before_a_lower_one_of_another_cpu(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "pulled", cpus=2))


def test_a_core_of_its_own_comes_before_a_hardware_thread_of_a_busy_one(arch: str, tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "cores", **hardware_threads(arch, 4, 2)))


# ---- What becomes pending ----


def test_a_thread_that_has_yielded_takes_signals_and_ends(tacet: Run) -> None:
    expect_kept(run(tacet, "sharing.musl", "yields-end", options="rotation=1s"))


@pytest.mark.parametrize("cpus", [1, 4])
def test_each_signal_reaches_its_thread(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "crowd.musl", "signals", cpus=cpus))


def test_a_timer_may_be_deleted_while_it_fires(tacet: Run) -> None:
    expect_kept(run(tacet, "crowd.musl", "timers", "4", options="latency_bound=1ns", cpus=2))


@pytest.mark.parametrize("cpus", [1, 2])
def test_alarms_turns_and_locks_go_on_beside_each_other(cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, "crowd.musl", "alarms", "3", options="rotation=1ms", cpus=cpus))


# ---- CPU time ----


def test_each_thread_has_the_time_that_it_computed(tacet: Run) -> None:
    result = run(tacet, "sharing.musl", "times", "4000000", options="rotation=1ms", **EXACT)
    own, process, wall = said(result, "own_ns"), said(result, "process_ns")[0], said(result, "wall_ns")[0]
    assert own[1] == pytest.approx(2 * own[0], rel=0.02), result.explain()
    assert own[2] == pytest.approx(3 * own[0], rel=0.02), result.explain()
    assert own[3] < own[0] / 50, result.explain()
    assert sum(own) <= process <= wall * 1.02, result.explain()
    assert sum(own) > wall * 0.9, result.explain()


@pytest.mark.parametrize("clock", [EXACT, {"cpus": 2}])
def test_a_process_that_is_stopped_takes_no_time(clock: dict[str, int], tacet: Run) -> None:
    """It is stopped for two seconds, and a signal comes meanwhile."""
    assert said(run(tacet, "sharing.musl", "stopped", **clock), "stopped_ns")[0] < 1_000_000_000


# ---- Crowds ----


@pytest.mark.parametrize(
    ("cpus", "rounds"), [(1, 256), (2, 32), (4, 12), pytest.param(4, 256, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_fifteen_threads_a_cpu_lose_no_wake_up(kind: str, cpus: int, rounds: int, tacet: Run) -> None:
    expect_kept(run(tacet, f"crowd.{kind}", "rings", str(rounds), cpus=cpus))


@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_begin_and_end_in_storms(kind: str, cpus: int, tacet: Run) -> None:
    expect_kept(run(tacet, f"crowd.{kind}", "storm", "10", cpus=cpus))


@pytest.mark.parametrize(
    ("how", "status"), [("end-exit", 7), ("end-fault", 139), ("end-signal", 143), ("end-leave", 9)]
)
@pytest.mark.parametrize("cpus", [1, 4])
def test_all_threads_end_with_their_process(how: str, status: int, cpus: int, tacet: Run) -> None:
    expect_exit(run(tacet, "crowd.musl", how, cpus=cpus), status)


def test_a_process_ends_while_its_threads_do(tacet: Run) -> None:
    result = expect_exit(
        tacet("crowd.musl", "end-among-ends", "20", cpus=16, memory="512M", options="ranks=8")
    )
    assert result.stdout.count(b"broken: 0") == 8, result.explain()


@pytest.mark.parametrize(("threads", "cpus"), [(1, 2), (4, 1), (16, 2), (1024, 1)])
def test_a_hundred_thousand_clones_make_as_many_threads_as_there_may_be(
    threads: int, cpus: int, tacet: Run
) -> None:
    words = ["bomb", str(threads * cpus)]
    options = f"threads={threads}"
    result = expect_kept(run(tacet, "crowd.musl", *words, options=options, cpus=cpus, memory="512M"))
    assert result.console.count("wants more threads than") == 1, result.explain()


def test_threads_that_exhaust_the_memory_get_eagain_and_nothing_is_lost(tacet: Run) -> None:
    expect_kept(run(tacet, "crowd.musl", "exhausted", "1024", options="threads=1024"))
