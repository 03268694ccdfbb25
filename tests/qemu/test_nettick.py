# SPDX-License-Identifier: BSD-2-Clause
"""A node that hears heartbeats (docs/nettick.md): what it takes, what it refuses and by which cause, what its
timers and its clock go by. The test is the conductor at the other end of the card's wire, but in one test,
where the real one is.

Nothing here depends on how fast this machine is: causes are counted, and if the node must keep up, the
conductor waits until the node says that it has. Beats say a long period if none may count as lost, however
late the next one is.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import network
import pytest
from conftest import ROOT, Run, expect_exit
from nodes import namespace
from services import HOST, NODE, Services
from wire import Wire, WireError

import qemu
from qemu.version import qemu_binary, qemu_major
from tests.beat_frames import (
    ANSWER,
    EPOCH,
    ETHERTYPE,
    KEY,
    PAYLOAD_AT,
    Answer,
    Beat,
    Command,
    answer_of,
    flipped,
    framed,
)
from tests.keys import MASTER, key_write
from tests.making import made

MAC = "52:54:00:00:00:01"
KEYED = f"nettick_key={KEY.hex()}"
HEARS = f"ranks=1 nettick=irq nettick_dev={MAC} {KEYED}"
STATIC = "ip=10.9.0.7/24"
MS, S = 10**6, 10**9
#: Interrupts of a local device that a wait of three periods takes: it is armed again where it comes early.
WAITS_MAX = 4
#: The longest period that there is: no beat of it counts as lost while a test runs.
LONG_NS = 60 * S
PAUSE_S = 0.01
CARDS = ["e1000", "e1000e", "igb"]
CAUSES = "fine truncated other_version other_kind forged absurd".split()
PLACES = "next after_lost duplicate late new_epoch".split()


def needs(card: str) -> dict[str, Any]:
    """The machine that has this card."""
    if card == "igb" and qemu_major(qemu_binary("newest")) < 8:
        pytest.skip("QEMU 10 is not there (make qemu10)")
    return {"qemu": "newest" if card == "igb" else None}


class Conductor:
    """The test's end of the wire, and what the program on the node says."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.is_over = threading.Event()
        self._said = bytearray()
        self._news = threading.Condition()

    def hear(self, chunk: bytes) -> None:
        with self._news:
            self._said += chunk
            self._news.notify_all()

    def end(self) -> None:
        """The machine has ended."""
        self.is_over.set()
        with self._news:
            self._news.notify_all()

    def wait(self, line: str, seconds: float = 600) -> None:
        """Until the program has said that."""
        end = time.monotonic() + seconds
        wanted = f"{line}\n".encode()
        with self._news:
            while not (b"\n" + self._said.replace(b"\r", b"")).count(b"\n" + wanted):
                left = end - time.monotonic()
                if self.is_over.is_set() or left <= 0:
                    raise WireError(f"the node has not said {line!r}")
                self._news.wait(left)

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self.wire.send(frame)

    def beat_until_end(self, beat: Callable[[int], Beat], first: int = 1) -> None:
        """One beat after the other, at some pace, until the machine has ended."""
        sequence = first
        try:
            while not self.is_over.wait(PAUSE_S):
                self.send(beat(sequence).frame())
                sequence += 1
        except OSError:  # it has ended just now
            pass


Script = Callable[[Conductor], None]


def conduct(
    tacet: Run,
    script: Script,
    *words: str,
    card: str = "e1000",
    cpus: int = 1,
    options: str = HEARS,
    cable: Callable[[Wire], list[str]] | None = None,
    **more: Any,
) -> qemu.Result:
    """Run the program of beats on a node while the script, which begins when it is ready, conducts."""
    machine = {"cpus": cpus, "options": options, "time_limit": 120, **needs(card), **more}
    with Wire() as wire:
        conductor = Conductor(wire)

        def whole(wire: Wire) -> None:
            wire.connected()
            conductor.wait("ready")
            script(conductor)

        wire.play(whole)
        wires = cable(wire) if cable else wire.options(card, MAC)
        try:
            result = tacet("beats.musl", *words, qemu_options=wires, on_stdout=conductor.hear, **machine)
        finally:
            conductor.end()
        expect_exit(result)
        wire.check()
    return result


def heard(result: qemu.Result) -> dict[str, Any]:
    """/proc/tacet/nettick, by name; numbers as such."""
    text = result.stdout.decode().replace("\r", "")
    found = re.findall(r"^(\w+) (-?\w+)$", text, re.M)
    return {name: int(value) if re.fullmatch(r"-?\d+", value) else value for name, value in found}


def cpus_of(result: qemu.Result) -> list[tuple[int, int, str]]:
    """Of each CPU its beats, its fallbacks, and what it goes by."""
    found = re.findall(
        r"^cpu\d+ beats (\d+) fallbacks (\d+) windows \d+ goes_by (\w+)", result.stdout.decode(), re.M
    )
    return [(int(beats), int(fallbacks), by) for beats, fallbacks, by in found]


def interrupts_of(result: qemu.Result, name: str) -> list[list[int]]:
    """How many interrupts of a kind each CPU had, at each time that the program printed it."""
    found = re.findall(rf"^{name}: ([\d ]+) ", result.stdout.decode(), re.M)
    return [[int(count) for count in line.split()] for line in found]


def expect_counts(result: qemu.Result, **wanted: int) -> dict[str, Any]:
    """Exactly these causes and places, and no others."""
    said = heard(result)
    counts = {name: said[name] for name in (*CAUSES, *PLACES, "lost") if said[name]}
    assert counts == wanted, result.explain()
    return said


# ---- Beats ----


def one_by_one(last: int) -> Script:
    """The next beat when every CPU has taken the last one."""

    def script(conductor: Conductor) -> None:
        for sequence in range(1, last + 1):
            conductor.send(Beat(sequence, period_ns=LONG_NS).frame())
            conductor.wait(f"at {sequence}")

    return script


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("cpus", [1, 4])
def test_each_beat_is_passed_on_to_every_cpu_once(card: str, cpus: int, tacet: Run) -> None:
    result = conduct(tacet, one_by_one(20), "each", "20", card=card, cpus=cpus)
    said = expect_counts(result, fine=20, next=20)
    assert (said["state"], said["epoch"], said["sequence"], said["period_ns"]) == (
        "beating",
        EPOCH,
        20,
        LONG_NS,
    )
    taken = cpus_of(result)
    assert [beats for beats, _, _ in taken] == [20] * cpus, result.explain()
    assert interrupts_of(result, "BEA")[-1] == [0] + [20] * (cpus - 1), result.explain()  # CPU 0 has the card


def test_the_conductors_time_is_this_nodes(tacet: Run) -> None:
    """Global time lies between what the last beat said and the conductor's time after the machine's end."""
    sent_ns: dict[int, int] = {}

    def beat(sequence: int) -> Beat:
        sent_ns[sequence] = EPOCH + time.monotonic_ns()
        late_ns = sent_ns[sequence] % (10 * MS)
        return Beat(sequence, time_ns=sent_ns[sequence] - late_ns, late_ns=late_ns)

    result = conduct(tacet, lambda conductor: conductor.beat_until_end(beat), "wait", "40")
    end_ns = EPOCH + time.monotonic_ns()
    said = heard(result)
    assert said["next"] == said["fine"] == said["sequence"] >= 40 and said["lost"] == 0, result.explain()
    # The line may lie as far back as the quickest of eight beats was late.
    assert sent_ns[said["sequence"]] - 10 * S <= said["global_ns"] <= end_ns + S, result.explain()
    assert said["global_ns"] - said["local_ns"] > EPOCH, result.explain()


@pytest.mark.parametrize(("mode", "cpus"), [("irq", 1), ("irq", 4), ("poll", 1)])
def test_programs_clocks_follow_the_conductor(mode: str, cpus: int, tacet: Run) -> None:
    """An hour ahead: a thread that waits by the time of day for half an hour wakes at the first beat. From
    then on TAI is global time, no clock goes back, and TAI - UTC is what the beats say."""
    ahead_ns = time.time_ns() - time.monotonic_ns() + 3600 * S

    def beat(sequence: int) -> Beat:
        return Beat(
            sequence, time_ns=ahead_ns + time.monotonic_ns() + 37 * S, tai_utc_s=37, period_ns=10 * MS
        )

    def script(conductor: Conductor) -> None:
        conductor.wait("waits")
        time.sleep(0.1)  # it is in the call by now, most likely
        conductor.beat_until_end(beat)

    # If beats are polled, no CPU looks at the network while this thread waits.
    options, wait_s = (HEARS, 1800) if mode == "irq" else (f"ranks=1 nettick=poll {STATIC} {KEYED}", 0)
    result = conduct(tacet, script, "clocks", "60", str(wait_s), cpus=cpus, options=options)
    said = heard(result)
    assert said["early_ns"] <= 0 and said["reads"] > 0, result.explain()
    assert (said["backwards"], said["outside"], said["ahead_s"]) == (0, 0, 37), result.explain()


def test_timers_that_are_read_follow_the_conductor(tacet: Run) -> None:
    """An hour ahead: of timers by the time of day in half an hour one expires, one ends at the step;
    one by the time since boot goes on."""
    ahead_ns = time.time_ns() - time.monotonic_ns() + 3600 * S

    def beat(sequence: int) -> Beat:
        return Beat(
            sequence, time_ns=ahead_ns + time.monotonic_ns() + 37 * S, tai_utc_s=37, period_ns=10 * MS
        )

    def script(conductor: Conductor) -> None:
        conductor.wait("waits")
        time.sleep(0.1)  # it is in the call by now, most likely
        conductor.beat_until_end(beat)

    result = conduct(tacet, script, "timers", "0", cpus=2, options=HEARS)
    said = heard(result)
    assert [said[f"ready{i}"] for i in range(3)] == [1, 1, 0], result.explain()
    assert [said[f"read{i}"] for i in range(3)] == [-1, 8, -1] and said["times"] == 1, result.explain()


def one_of_each() -> list[tuple[str, bytes]]:
    """Frames in their order, and what becomes of each."""

    def beat(sequence: int, **fields: Any) -> Beat:
        return Beat(sequence, **{"period_ns": LONG_NS, **fields})

    commands = [Command(99, number, bytes(number)) for number in range(4)]  # which no node knows
    good = beat(17)
    tag = 8 * (len(good.payload()) - 8)
    return [
        *(("next", beat(sequence).frame()) for sequence in range(1, 11)),
        *[("duplicate", beat(10).frame())] * 2,
        *(("late", beat(sequence).frame()) for sequence in (9, 3, 1)),
        ("late", beat(11, epoch=EPOCH - 1).frame()),
        ("after_lost", beat(16).frame()),  # 5 are missing
        # The tag's first and last bit; sequence, period, commands.
        *(("forged", flipped(good.frame(), bit)) for bit in (tag, tag + 63, 8 * 16, 8 * 39, 8 * 6)),
        ("forged", good.frame(key=bytes(16))),
        ("forged", framed(good.payload(), source=bytes.fromhex("025400000002"))),
        ("truncated", framed(good.payload() + bytes(1400))),  # longer than any
        ("truncated", good.frame()[:PAYLOAD_AT]),
        *(("truncated", framed(good.payload()[:length])) for length in (1, 47, 61)),
        *(("truncated", beat(17, length=length).frame()) for length in (0, 61, 1400, 65535)),
        *(("other_version", beat(17, version=version).frame()) for version in (0, 1, 3)),
        *(("other_kind", beat(17, kind=kind).frame()) for kind in (ANSWER, 0)),
        *(
            ("absurd", beat(17, period_ns=period_ns, time_ns=EPOCH).frame())
            for period_ns in (1, MS - 1, LONG_NS + 1, 2**64 - 1)
        ),
        ("absurd", beat(0).frame()),
        ("absurd", beat(17, epoch=0).frame()),
        *(("absurd", beat(17, commands=commands, command_count=count).frame()) for count in (3, 5, 17)),
        ("absurd", beat(17, commands=[Command(1, 1, bytes(65))]).frame()),
        ("next", beat(17, commands=commands, answer_every=7).frame()),
        ("new_epoch", beat(1, epoch=EPOCH + 1).frame()),
        ("next", beat(2, epoch=EPOCH + 1).frame()),
        ("late", beat(18).frame()),
        ("after_lost", beat(100, epoch=EPOCH + 1).frame()),  # 97 are missing
    ]


@pytest.mark.parametrize("card", CARDS)
def test_what_is_no_beat_of_the_conductors_is_counted_by_its_cause(card: str, tacet: Run) -> None:
    sent = one_of_each()
    wanted = Counter(cause for cause, _ in sent)
    wanted["fine"] = sum(wanted[place] for place in PLACES)
    frames = [frame for _, frame in sent]
    result = conduct(tacet, lambda conductor: conductor.send(*frames), "wait", "100", card=card)
    said = expect_counts(result, lost=5 + 97, **wanted)
    assert (said["state"], said["epoch"], said["sequence"]) == ("beating", EPOCH + 1, 100), result.explain()


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("mode", ["irq", "poll"])
def test_a_conductor_of_an_older_epoch_is_told_which_one_the_node_follows(
    mode: str, card: str, tacet: Run
) -> None:
    newer = EPOCH + 5

    def script(conductor: Conductor) -> None:
        def asks(*sent: Beat) -> Answer:
            conductor.send(*(beat.frame() for beat in sent))
            frame = conductor.wire.expect(lambda frame: frame[12:14] == ETHERTYPE)
            answer = answer_of(frame)
            assert (answer.epoch, answer.sequence) == (sent[-1].epoch, sent[-1].sequence)
            return answer

        assert asks(Beat(1, newer, period_ns=LONG_NS, answer_every=1)).follows == newer
        # While its conductor beats, however seldom, others hear nothing; then its last beat comes.
        conductor.send(*(Beat(sequence, period_ns=LONG_NS, answer_every=1).frame() for sequence in (1, 2, 3)))
        assert asks(Beat(2, newer, period_ns=0, time_ns=newer + LONG_NS, answer_every=1)).follows == newer
        assert asks(*(Beat(sequence, period_ns=LONG_NS) for sequence in (4, 5))).follows == newer
        told = asks(*(Beat(sequence, period_ns=LONG_NS) for sequence in (6, 7)))
        assert (told.follows, told.welcomed, told.done) == (newer, 0, 0)
        assert asks(Beat(1, newer + 1, period_ns=LONG_NS, answer_every=1)).follows == newer + 1
        conductor.send(Beat(100, newer + 1, period_ns=LONG_NS).frame())

    options = HEARS if mode == "irq" else f"ranks=1 nettick=poll {STATIC} {KEYED}"
    cpus = 1 if mode == "irq" else 4  # of which one idles, and polls
    result = conduct(tacet, script, "wait", "100", card=card, cpus=cpus, options=options)
    assert heard(result)["epoch"] == newer + 1, result.explain()
    said = f"is in epoch {EPOCH}; this node follows epoch {newer}, which is silent"
    assert result.console.count(said) == 1, result.explain()


# ---- Timers ----


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("cpus", [1, 4])
def test_timers_wake_by_beats_without_an_interrupt_of_their_own(card: str, cpus: int, tacet: Run) -> None:
    def script(conductor: Conductor) -> None:
        conductor.beat_until_end(lambda sequence: Beat(sequence, period_ns=LONG_NS))

    result = conduct(tacet, script, "sleep", "50", str(15 * MS), card=card, cpus=cpus)
    said = heard(result)
    assert said["late_min_ns"] >= 0, result.explain()
    before, after = interrupts_of(result, "LOC")
    # A machine that stands still for seconds is the one reason for a local interrupt; each sleep would have
    # had one.
    assert sum(after) - sum(before) < 10, result.explain()
    assert all(by == "beats" for _, fallbacks, by in cpus_of(result) if not fallbacks), result.explain()
    assert "device nettick" in result.stdout.decode(), result.explain()
    assert said["fine"] == said["next"] >= 50, "a beat wakes once"
    # A beat before a timer's boundary serves no timer.
    rearms = sum(map(int, re.findall(r" rearms (\d+) ", result.stdout.decode())))
    assert rearms <= sum(after), result.explain()


@pytest.mark.parametrize("cpus", [1, 4])
def test_when_beats_stop_timers_go_on_by_the_local_device(cpus: int, tacet: Run) -> None:
    def script(conductor: Conductor) -> None:
        for sequence in range(1, 11):
            conductor.send(Beat(sequence, period_ns=200 * MS).frame())
            time.sleep(PAUSE_S)

    result = conduct(tacet, script, "sleep", "100", str(5 * MS), cpus=cpus)
    said = heard(result)
    assert said["late_min_ns"] >= 0 and said["state"] == "lost", result.explain()
    fallen = [(fallbacks, by) for _, fallbacks, by in cpus_of(result) if fallbacks]
    assert fallen and all(by == "local" for _, by in fallen), result.explain()


@pytest.mark.parametrize("period_ns", [MS, 200 * MS, 2 * S])
def test_a_loss_is_noticed_by_the_local_device_and_ended_by_the_next_beat(period_ns: int, tacet: Run) -> None:
    """Also where that device is a little early, or cannot wait as long and is armed again: no local APIC of
    QEMU's waits for 6 s."""

    def script(conductor: Conductor) -> None:
        conductor.send(Beat(1, period_ns=period_ns).frame())
        conductor.wait("at loss")
        conductor.beat_until_end(lambda sequence: Beat(sequence, period_ns=LONG_NS), first=9)

    result = conduct(tacet, script, "lose", "12", str(5 * MS))
    said = heard(result)
    assert (said["after_lost"], said["lost"]) == (1, 7) and said["late_min_ns"] >= 0, result.explain()
    (before,), (lost,), _ = interrupts_of(result, "LOC")
    assert before < lost <= before + WAITS_MAX, result.explain()


@pytest.mark.parametrize("cpus", [1, 4])
def test_at_rest_all_cpus_go_by_their_local_devices(cpus: int, tacet: Run) -> None:
    def script(conductor: Conductor) -> None:
        conductor.send(Beat(1, period_ns=LONG_NS).frame())
        conductor.wait("at 1")
        conductor.send(*(Beat(sequence, period_ns=LONG_NS).frame() for sequence in range(2, 5)))
        conductor.send(Beat(5, period_ns=0, time_ns=EPOCH + LONG_NS).frame())

    result = conduct(tacet, script, "rest", "5", cpus=cpus)
    said = expect_counts(result, fine=5, next=5)
    assert said["state"] == "resting" and said["period_ns"] == 0, result.explain()
    assert [by for _, _, by in cpus_of(result)] == ["local"] * cpus, result.explain()


# ---- Options ----

CARD = ["-netdev", "user,id=n", "-device", f"e1000,netdev=n,mac={MAC},romfile="]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("nettick=nonsense", "nettick=nonsense"),
        ("nettick=", "nettick="),
        (f"nettick=irq nettick_dev={MAC}", "nettick_key="),
        (f"nettick=irq nettick_dev={MAC} {KEYED[:-1]}", "nettick_key="),
        (f"nettick=irq nettick_dev={MAC} {KEYED[:-1]}g", "nettick_key="),
        (f"nettick=irq nettick_dev={MAC} {KEYED}0", "nettick_key="),
        (f"nettick=irq nettick_dev=52:54:00:00:00:09 {KEYED}", "nettick_dev=52:54:00:00:00:09"),
        (f"nettick=irq nettick_dev=00:1f.7 {KEYED}", "nettick_dev=00:1f.7"),
        (f"nettick=irq nettick_interrupts=199 {KEYED}", "nettick_interrupts: '199'"),
        (f"nettick=poll nettick_interrupts=1000 {KEYED}", "nettick_interrupts=1000"),
        (f"nettick=poll nettick_dev={MAC} {KEYED}", f"nettick_dev={MAC}"),
        (f"nettick_dev={MAC}", f"nettick_dev={MAC}"),
    ],
)
def test_a_mistake_in_the_options_stops_the_node_with_a_line(options: str, option: str, tacet: Run) -> None:
    result = tacet("beats.musl", "wait", "1", options=options, qemu_options=CARD)
    assert result.outcome == "stop", result.explain()
    lines = [line for line in result.console.splitlines() if option in line and "command line" not in line]
    assert len(lines) == 1, result.explain()
    other = tacet("beats.musl", "wait", "1", options="netdev=00:1f.7", qemu_options=CARD)
    assert result.status == other.status, result.explain()


# ---- With the network ----


def beat_on(conductor: Conductor) -> None:
    """Beats of some real pace, until the machine has ended."""
    conductor.beat_until_end(lambda sequence: Beat(sequence, period_ns=10 * MS))


@pytest.mark.parametrize("card", CARDS)
def test_polled_beats_of_the_networks_card_are_counted_and_timers_stay_local(card: str, tacet: Run) -> None:
    options = f"ranks=1 nettick=poll {STATIC} {KEYED}"
    result = conduct(tacet, beat_on, "follow", "20", "60", str(2 * MS), card=card, options=options)
    said = heard(result)
    assert said["mode"] == "poll" and said["fine"] >= 60 and said["forged"] == 0, result.explain()
    assert said["fine"] == said["next"] + said["after_lost"], result.explain()
    assert said["global_ns"] >= EPOCH and said["late_min_ns"] >= 0, result.explain()
    assert cpus_of(result) == [(0, 0, "local")], result.explain()
    assert "device nettick" not in result.stdout.decode() and interrupts_of(result, "LOC")[-1][0] > 0


def test_polled_beats_are_taken_beside_a_programs_connections(tacet: Run) -> None:
    """One card, whose cable leads to this machine's services and to the conductor."""

    def cable(wire: Wire) -> list[str]:
        ends = ["-netdev", "user,id=net", *wire.netdev()]
        for name in ("net", "wire"):
            ends += ["-netdev", f"hubport,id=port-{name},hubid=0,netdev={name}"]
        return [*ends, "-netdev", "hubport,id=card,hubid=0", "-device", "e1000,netdev=card,romfile="]

    with Services() as services:
        words = ["talk", HOST, str(services.upper_port), "30", "0"]
        options = f"ranks=1 nettick=poll ip={NODE} {KEYED}"
        result = conduct(tacet, beat_on, *words, options=options, cable=cable)
    said = heard(result)
    assert said["sequence"] >= 30 and said["fine"] == said["next"] + said["after_lost"], result.explain()


@pytest.mark.parametrize(("beats", "data"), [("e1000", "e1000e"), ("e1000e", "e1000"), ("igb", "e1000")])
@pytest.mark.parametrize("cpus", [1, 4])
def test_beats_and_connections_have_a_card_each(beats: str, data: str, cpus: int, tacet: Run) -> None:
    def cable(wire: Wire) -> list[str]:
        return [
            *wire.options(beats, MAC),
            *("-netdev", "user,id=data"),
            *("-device", f"{data},netdev=data,mac=52:54:00:00:00:02,romfile="),
        ]

    with Services() as services:
        words = ["talk", HOST, str(services.upper_port), "30", "1"]
        options = f"{HEARS} ip={NODE}"
        result = conduct(tacet, beat_on, *words, card=beats, cpus=cpus, options=options, cable=cable)
    said = heard(result)
    assert said["sequence"] >= 30 and said["fine"] == said["next"], result.explain()
    assert all(taken > 0 for taken, _, _ in cpus_of(result)), result.explain()


# ---- The conductor ----


def test_a_node_hears_the_real_conductor(tacet: Run, tmp_path: Path) -> None:
    """Node and conductor on a bridge; the conductor has the key in a file, the node by its option."""
    made("service")
    key = key_write(tmp_path / "key", MASTER.hex())
    with namespace() as space:
        words: list[str | Path] = [ROOT / "build/service/conductor", "--interface", network.BRIDGE]
        words += ["--key", key, "--rate", "100", "--socket", tmp_path / "control"]
        process = space.popen(words)
        try:
            card = qemu.Network("bridge", "e1000", MAC, enter=space.enter)
            result = expect_exit(
                tacet("beats.musl", "wait", "200", options=HEARS, network=card, time_limit=120)
            )
        finally:
            process.terminate()
            process.wait(60)
    said = heard(result)
    assert said["sequence"] >= 200 and said["fine"] == said["next"] + said["after_lost"], result.explain()
    assert said["fine"] + said["lost"] <= said["sequence"], result.explain()
    assert not any(said[name] for name in (*CAUSES[1:], "duplicate", "late", "new_epoch")), result.explain()
    assert said["global_ns"] > EPOCH, result.explain()


# ---- Many ----

#: Beats in flight, no more than a ring has room for with what is mixed in.
EVERY = 64


def many(last: int, seed: int, sent: Counter[str]) -> Script:
    """As many beats as that, as fast as the node takes them; some are lost, doubled, late, overtaken by the
    next one, or no beats. What must become of them is counted in `sent`."""
    chance = random.Random(seed)

    def others(sequence: int) -> list[tuple[str, bytes]]:
        """What may follow a beat that was sent."""
        own = Beat(sequence, period_ns=MS).frame()
        return [
            ("duplicate", own),
            ("late", Beat(max(sequence - 7, 1), EPOCH - 1, period_ns=MS).frame()),
            ("forged", flipped(own, 8 * 8 + chance.randrange(8 * 48))),
            ("truncated", framed(bytes.fromhex("0201") + bytes(40))),
            ("other_kind", Beat(sequence, period_ns=MS, kind=ANSWER).frame()),
            ("absurd", Beat(sequence + 1, period_ns=MS - 1).frame()),
        ]

    def script(conductor: Conductor) -> None:
        missing = 0
        overtaken: Beat | None = None
        for sequence in range(1, last + 1):
            if sequence % EVERY > 1 and overtaken is None and chance.random() < 0.02:
                missing += 1
                if chance.random() < 0.5:
                    overtaken = Beat(sequence, period_ns=MS)
                continue
            sent["after_lost" if missing else "next"] += 1
            sent["lost"] += missing
            missing = 0
            conductor.send(Beat(sequence, period_ns=MS).frame())
            if overtaken is not None:
                sent["late"] += 1
                conductor.send(overtaken.frame())
                overtaken = None
            if chance.random() < 0.06:
                cause, frame = chance.choice(others(sequence))
                sent[cause] += 1
                conductor.send(frame)
            if sequence % EVERY == 0:
                conductor.wait(f"at {sequence}")

    return script


def check_many(tacet: Run, last: int, seed: int, card: str, cpus: int, **more: Any) -> None:
    sent: Counter[str] = Counter()
    words = ["follow", str(EVERY), str(last // EVERY * EVERY), str(MS // 2)]
    script = many(last // EVERY * EVERY, seed, sent)
    result = conduct(tacet, script, *words, card=card, cpus=cpus, **more)
    sent["fine"] = sum(sent[place] for place in PLACES)
    assert all(sent[cause] for cause in (*CAUSES, *PLACES[:-1], "lost") if cause != "other_version"), sent
    said = expect_counts(result, **sent)
    assert said["late_min_ns"] >= 0 and said["sequence"] == last // EVERY * EVERY, result.explain()
    assert said["reads"] > last // EVERY and said["backwards"] == 0, result.explain()


@pytest.mark.parametrize(("card", "cpus"), [("e1000", 1), ("e1000e", 4), ("igb", 4)])
def test_ten_thousand_beats_are_all_accounted_for(card: str, cpus: int, tacet: Run) -> None:
    check_many(tacet, 10_000, seed=cpus, card=card, cpus=cpus)


@pytest.mark.long
@pytest.mark.parametrize("card", CARDS)
def test_a_hundred_thousand_beats_are_all_accounted_for(card: str, tacet: Run) -> None:
    check_many(tacet, 100_000, seed=7, card=card, cpus=4, time_limit=1200)
