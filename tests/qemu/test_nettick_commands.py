# SPDX-License-Identifier: BSD-2-Clause
"""What a conductor commands with a beat, and what a node answers (docs/nettick.md): the test is the conductor
at the other end of the card's wire.

Nothing here depends on how fast this machine is: each beat is answered before the next one is sent.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Run
from test_nettick import CARDS, HEARS, LONG_NS, MAC, Conductor, needs
from wire import Wire

import qemu
from tests.beat_frames import EPOCH, ETHERTYPE, SOURCE, WELCOME, Answer, Beat, Command, answer_of, welcome_of

STOP, CONTINUE, KILL, COUNT, TRACE, RATE, SERVICES = range(1, 8)
ACKNOWLEDGE = 0x8000
RUNNING, STOPPED = 1, 2
SYSTEM_CALLS, EXCEPTIONS, INTERRUPTS, SWITCHES = range(4)
EPERM, EINVAL, ENODEV, ENOSYS = 1, 22, 19, 38
#: Linux's status of a program that SIGKILL has ended.
KILLED = 128 + 9
#: A command is done by all CPUs in that many beats: this machine lets each run by then, whatever else it
#: does.
BEATS_MAX = 20_000
#: The machine's clock when it begins, s since 1970.
CLOCK_S = 1_700_000_000


class Commander:
    """Beats that are answered, one after the other."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.sequence, self.epoch = 0, EPOCH
        self.is_welcome = False
        self._numbers = itertools.count(1)
        self._began: dict[int, int] = {}

    def send(self, *commands: Command, answer_every: int = 1) -> None:
        self.sequence += 1
        beat = Beat(self.sequence, self.epoch, LONG_NS, answer_every=answer_every, commands=commands)
        self.wire.send(beat.frame())

    def answer(self) -> Answer:
        """The node's next one."""
        frame = self.wire.expect(lambda frame: frame[12:14] == ETHERTYPE)
        assert frame[:6] == SOURCE and frame[6:12] == bytes.fromhex(MAC.replace(":", "")), frame.hex()
        answer = answer_of(frame)
        assert answer.epoch == self.epoch
        return answer

    def beat(self, *commands: Command) -> Answer:
        """What the node answers the next beat, which carries these commands."""
        self.send(*commands)
        answer = self.answer()
        assert answer.sequence == self.sequence
        return answer

    def next(self, code: int, body: bytes = b"") -> Command:
        return Command(code, next(self._numbers), body)

    def welcome(self, address: str = MAC, start_error: int = 0) -> Answer:
        """Let the node obey: no command is obeyed before. Or a node that it is not."""
        start = self.beat().start ^ start_error
        body = b"another." * 3 + welcome_of(bytes.fromhex(address.replace(":", "")), start)
        answer = self.beat(Command(WELCOME, 0, body))
        self.is_welcome = answer.welcomed == 1
        return answer

    def restart(self) -> None:
        """Another conductor, which does not know the node yet."""
        self.epoch, self.sequence, self.is_welcome = self.epoch + 1, 0, False
        self._numbers = itertools.count(1)

    def command(self, code: int, body: bytes = b"") -> Answer:
        """Repeat a command until all CPUs have done it."""
        if not self.is_welcome:
            self.welcome()
        command = self.next(code | ACKNOWLEDGE, body)
        self._began[command.number] = self.sequence + 1
        for _ in range(BEATS_MAX):
            if (answer := self.beat(command)).done == command.number:
                return answer
        raise AssertionError(f"command {code} is not done: {answer}")

    def first_beat_of(self, number: int) -> int:
        """The beat that carried a command first."""
        return self._began[number]

    def kill(self) -> None:
        """One-way: the node may be gone before it can answer."""
        if not self.is_welcome:
            self.welcome()
        self.send(self.next(KILL), answer_every=0)


def conduct(
    tacet: Run,
    script: Callable[[Commander], None],
    *words: str,
    card: str = "e1000",
    options: str = HEARS,
    cards: tuple[str, ...] = (),
    **more: Any,
) -> qemu.Result:
    """Run a program until the script is over, which has it killed; it begins when the program says that it is
    ready."""
    machine = {"cpus": 1, "options": options, "time_limit": 120, **needs(card), **more}
    with Wire() as wire:
        said = Conductor(wire)

        def whole(wire: Wire) -> None:
            wire.connected()
            said.wait("ready")
            commander = Commander(wire)
            try:
                script(commander)
            finally:
                commander.kill()

        wire.play(whole)
        try:
            result = tacet(
                *words, qemu_options=[*wire.options(card, MAC), *cards], on_stdout=said.hear, **machine
            )
        finally:
            said.end()
        wire.check()
    assert (result.outcome, result.status) == ("exit", KILLED), result.explain()
    return result


# ---- Answers ----


@pytest.mark.parametrize("card", CARDS)
def test_a_node_answers_who_it_is_and_what_it_has_heard(card: str, tacet: Run) -> None:
    def script(commander: Commander) -> None:
        first = commander.beat()
        assert (first.state, first.cpus, first.ranks) == (RUNNING, 2, 1)
        assert (first.beats, first.lost, first.done, sum(first.counts)) == (1, 0, 0, 0)
        assert (first.name, first.ipv4) == (b"node7", bytes([10, 9, 0, 7]))
        # However long the firmware took.
        assert -2 * 10**9 < first.booted_ns - CLOCK_S * 10**9 < 600 * 10**9
        commander.sequence += 5
        second = commander.beat()
        assert (second.beats, second.lost, second.booted_ns) == (2, 5, first.booted_ns)

    data = ("-netdev", "user,id=data", "-device", "e1000,netdev=data,mac=52:54:00:00:00:02,romfile=")
    clock = ("-rtc", f"base={time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(CLOCK_S))},clock=vm")
    options = f"{HEARS} ip=10.9.0.7/24,,,node7"
    conduct(tacet, script, "wait.musl", card=card, cpus=2, options=options, cards=(*data, *clock))


def test_beats_are_answered_where_they_ask_for_it_and_nowhere_else(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        for sequence in range(1, 21):
            commander.send(answer_every=4)
            if sequence % 4 == 0:
                assert commander.answer().sequence == sequence
        for sequence in (20, 4):  # a copy, and a late one
            commander.wire.send(Beat(sequence, period_ns=LONG_NS, answer_every=4).frame())
        commander.send(commander.next(99), answer_every=0)
        commander.send(commander.next(99 | ACKNOWLEDGE), answer_every=0)
        assert commander.answer().sequence == 22  # the next one

    conduct(tacet, script, "wait.musl")


# ---- Which commands are obeyed ----


def test_a_node_that_has_just_started_obeys_no_recorded_beat(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        commander.sequence = 1000
        for _ in range(3):
            answer = commander.beat(commander.next(KILL | ACKNOWLEDGE), commander.next(STOP))
            assert (answer.done, answer.state, answer.welcomed, answer.ranks) == (0, RUNNING, 0, 1)
        # What welcomed another start of this node, or another node.
        assert commander.welcome(start_error=1).welcomed == 0
        assert commander.welcome(address="52:54:00:00:00:77").welcomed == 0
        answer = commander.beat(commander.next(STOP))
        assert (answer.done, answer.state, answer.ranks) == (0, RUNNING, 1)
        assert commander.welcome().welcomed == 1
        assert commander.command(STOP).state == STOPPED
        commander.restart()
        answer = commander.beat(commander.next(CONTINUE))
        assert (answer.welcomed, answer.done, answer.state) == (0, 0, STOPPED)
        assert commander.command(CONTINUE).state == RUNNING

    conduct(tacet, script, "wait.musl", cpus=2)


def test_each_start_of_a_node_draws_another_number(tacet: Run) -> None:
    starts: list[int] = []
    for _ in range(2):
        conduct(tacet, lambda commander: starts.append(commander.beat().start), "wait.musl")
    assert len(set(starts)) == 2


# ---- Commands ----


@pytest.mark.parametrize(("cpus", "ranks"), [(1, 1), (4, 1), (4, 4)])
def test_ranks_stop_and_go_on_at_a_beat(cpus: int, ranks: int, tacet: Run) -> None:
    """The program makes system calls without end, but while it is stopped."""

    def script(commander: Commander) -> None:
        for _ in range(5):
            assert commander.command(STOP).state == STOPPED
            before = commander.command(COUNT)
            for _ in range(10):
                assert commander.beat().state == STOPPED
            after = commander.command(COUNT)
            assert after.counts[SYSTEM_CALLS] == before.counts[SYSTEM_CALLS]
            assert after.counts[SWITCHES] == before.counts[SWITCHES]
            assert commander.command(CONTINUE).state == RUNNING
            while commander.command(COUNT).counts[SYSTEM_CALLS] < after.counts[SYSTEM_CALLS] + 100 * ranks:
                pass

    options = HEARS.replace("ranks=1", f"ranks={ranks}")
    conduct(tacet, script, "beats.musl", "wait", str(10**9), cpus=cpus, options=options)


def test_a_program_of_the_command_line_is_no_numbered_job(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        for number in (0, 1, 2**32 - 1):
            answer = commander.command(STOP, number.to_bytes(4, "big"))
            assert (answer.state, answer.result, answer.job) == (RUNNING, 0, 0)
        assert commander.command(STOP, bytes(3)).result == EINVAL
        assert commander.command(STOP).state == STOPPED
        commander.command(KILL, (1).to_bytes(4, "big"))
        assert commander.beat().state == STOPPED

    conduct(tacet, script, "wait.musl", cpus=2)


def test_a_stopped_job_can_be_killed(tacet: Run) -> None:
    conduct(tacet, lambda commander: commander.command(STOP) and None, "wait.musl", cpus=2)


@pytest.mark.parametrize("cpus", [1, 4])
def test_between_two_counts_a_program_that_computes_is_entered_for_beats_alone(cpus: int, tacet: Run) -> None:
    def script(commander: Commander) -> None:
        before = commander.command(COUNT)
        for _ in range(50):
            commander.beat()
        after = commander.command(COUNT)
        entered = [new - old for new, old in zip(after.counts, before.counts, strict=True)]
        assert [entered[i] for i in (SYSTEM_CALLS, EXCEPTIONS, SWITCHES)] == [0, 0, 0]
        interrupts = entered[INTERRUPTS]
        beats = commander.first_beat_of(after.done) - commander.first_beat_of(before.done)
        # The CPU that has the card takes each; one that stands still meanwhile, two of them as one.
        assert beats + cpus - 1 <= interrupts <= beats * cpus

    conduct(tacet, script, "wait.musl", cpus=cpus)


def test_what_concerns_the_node_is_done_and_its_errors_are_said(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        assert commander.command(TRACE, b"+syscall").result == 0
        assert commander.command(TRACE, b"-syscall").result == 0
        assert commander.command(TRACE, b"syscall").result == EINVAL
        assert commander.command(RATE, b"nettick 3").result == 0
        # The node goes by its own timers now, and hears commands still.
        assert commander.command(RATE, b"nettick 200").result == 0
        assert commander.command(RATE, b"nonsense 3").result == ENODEV
        assert commander.command(RATE, b"nettick").result == EINVAL
        assert commander.command(SERVICES, (500).to_bytes(4, "big")).result == 0
        assert commander.command(SERVICES, bytes(4)).result == EINVAL
        assert commander.command(99, bytes(64)).result == ENOSYS

    conduct(tacet, script, "beats.musl", "wait", str(10**9), cpus=4, options=f"{HEARS} clockevents=writable")


def test_a_rating_is_refused_where_the_node_was_started_without_leave(tacet: Run) -> None:
    def script(commander: Commander) -> None:
        assert commander.command(RATE, b"nettick 3").result == EPERM

    conduct(tacet, script, "wait.musl")
