# SPDX-License-Identifier: BSD-2-Clause
"""A node that polls for heartbeats answers and obeys those that a call of the network or an idle CPU finds
(docs/nettick.md), and disturbs no rank for those that command nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from test_nettick import CARDS, KEYED, STATIC
from test_nettick_commands import (
    CONTINUE,
    COUNT,
    EINVAL,
    RUNNING,
    SERVICES,
    STOP,
    STOPPED,
    Commander,
    conduct,
)

from lab.formats import klog

POLLS = f"ranks=1 nettick=poll {STATIC} {KEYED}"
BEAT_VECTOR = 0xF4
BEATS = 50
MS = 10**6


def stop_and_go(commander: Commander) -> None:
    assert commander.command(STOP).state == STOPPED
    answer = commander.command(CONTINUE)
    assert (answer.state, answer.welcomed) == (RUNNING, 1)
    assert commander.command(SERVICES, bytes(4)).result == EINVAL


@pytest.mark.parametrize("card", CARDS)
def test_who_computes_and_looks_by_turns_answers_and_obeys(card: str, tacet: Run) -> None:
    """One CPU. A stopped one idles, and so hears that it is to go on."""

    def script(commander: Commander) -> None:
        first = commander.beat()
        assert (first.state, first.cpus, first.ranks, first.welcomed) == (RUNNING, 1, 1, 0)
        assert first.ipv4 == bytes([10, 9, 0, 7])
        stop_and_go(commander)

    conduct(tacet, script, "beats.musl", "look", str(10**9), str(MS), card=card, options=POLLS)


def test_what_was_recorded_before_its_start_does_not_kill_it(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        for _ in range(3):
            answer = commander.beat(commander.next(STOP))
            assert (answer.done, answer.state, answer.welcomed) == (0, RUNNING, 0)
        assert commander.welcome(start_error=1).welcomed == 0

    conduct(tacet, script, "beats.musl", "look", str(10**9), str(MS), options=POLLS)


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_idle_cpu_obeys_for_those_that_compute(ranks: int, tacet: Run, tmp_path: Path) -> None:
    """The ranks are disturbed by beats that command something, and by no others."""
    kept = tmp_path / "klog.bin"

    def script(commander: Commander) -> None:
        commander.welcome()
        for _ in range(BEATS):
            commander.beat()
        stop_and_go(commander)
        for _ in range(3):
            commander.command(COUNT)

    options = POLLS.replace("ranks=1", f"ranks={ranks}")
    conduct(tacet, script, "wait.musl", cpus=4, options=options, klog=kept)
    log = klog.read(kept)
    kinds = [log.kinds[kind].name for kind in log.kind]
    on_first = log.words[[kind == "interrupt" and cpu == 0 for kind, cpu in zip(kinds, log.cpu, strict=True)]]
    beats = sum(int(word) == BEAT_VECTOR for word in on_first[:, 0])
    commands = kinds.count("command")
    # Each command is passed on once, and so is a beat with which wall time steps.
    assert kinds.count("beat") > BEATS + commands and 0 < beats <= commands + 1, (beats, commands)
