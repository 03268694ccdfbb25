# SPDX-License-Identifier: BSD-2-Clause
"""Threads and ranks next to each other: if both want the same at the same time, or one of them ends, nothing
is lost, broken or kept."""

from __future__ import annotations

from conftest import Run, expect_exit


def expect_kept(result: object, ranks: int = 1) -> None:
    assert result.stdout.count(b"broken: 0\n") == ranks, result.explain()  # type: ignore[attr-defined]
    assert result.stderr == b"", result.explain()  # type: ignore[attr-defined]


def test_pseudo_files_are_made_while_other_threads_map(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "proc", cpus=3, memory="128M", options="ranks=1")))


def test_two_signals_at_once_reach_two_threads_that_wait(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "signals", cpus=3, options="ranks=1")))


def test_a_new_thread_has_a_cpu_that_it_may_have(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "affinity", cpus=4, options="ranks=1")))


def test_threads_that_sleep_or_have_just_begun_have_used_no_cpu_time(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "time", cpus=3, options="ranks=1")))


def test_a_file_that_cannot_grow_so_far_takes_no_memory_meanwhile(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "hopeless", cpus=2, options="ranks=1")))


def test_a_robust_lock_that_was_being_given_back_wakes_the_next(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "lock", cpus=2, options="ranks=1")))


def test_what_an_ended_rank_has_mapped_goes_back(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "mapping", cpus=2, memory="128M")), 2)


def test_a_record_of_two_parts_stays_in_one_piece(tacet: Run) -> None:
    expect_kept(expect_exit(tacet("together.musl", "records", cpus=3, options="ranks=1")))
