# SPDX-License-Identifier: BSD-2-Clause
"""Parts of tools/lockstep-run that need no machine: the switch, cables, the conductor, what may be asked
for."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from lockstep import arguments, beats, timers
from lockstep.cable import DELIVERY_BYTES_MAX, Cable
from lockstep.switch import Switch

from qemu.errors import RunnerError
from tests.beat_frames import ACKNOWLEDGE, SOURCE, Answer, Beat, beat_of, welcome_of, welcomes_in
from tests.making import made

MS = 10**6
FTQ = str(ROOT / "build/x86_64/apps/ftq")


def frame(to: int | None, sender: int, content: bytes = b"") -> bytes:
    """To a port's address, or to all."""
    addresses = [b"\xff" * 6 if port is None else bytes([2, 0, 0, 0, 0, port]) for port in (to, sender)]
    return b"".join(addresses) + b"\x88\xb5" + content


def arrivals(switch: Switch, gates: range) -> list[tuple[int, int, bytes]]:
    return [
        (gate, port, one)
        for gate in gates
        for port, frames in sorted(switch.due(gate).items())
        for one in frames
    ]


# ---- The switch ----


def test_a_frame_reaches_the_others_after_the_latency() -> None:
    switch = Switch(ports=3, latency=2)
    switch.take(10, 0, frame(None, 0))
    assert arrivals(switch, range(10, 20)) == [(12, 1, frame(None, 0)), (12, 2, frame(None, 0))]
    assert arrivals(switch, range(10, 20)) == []


def test_a_frame_to_an_address_that_has_sent_goes_to_its_port_alone() -> None:
    switch = Switch(ports=3, latency=1)
    switch.take(10, 0, frame(2, 0))
    switch.take(11, 2, frame(0, 2))
    switch.take(12, 0, frame(2, 0))
    assert [(gate, port) for gate, port, _ in arrivals(switch, range(20))] == [
        *((11, 1), (11, 2)),
        (12, 0),
        (13, 2),
    ]


def test_frames_to_themselves_and_short_ones_go_nowhere() -> None:
    switch = Switch(ports=2, latency=1)
    switch.take(1, 0, frame(None, 0)[:13])
    switch.take(1, 0, frame(0, 0))
    assert arrivals(switch, range(9)) == [] and switch.counts.short == 1


def test_each_receiver_loses_what_the_seed_says() -> None:
    def run(seed: int, loss: float) -> tuple[list[tuple[int, int, bytes]], int]:
        switch = Switch(ports=3, latency=1, loss=loss, seed=seed)
        for gate in range(200):
            switch.take(gate, gate % 3, frame(None, gate % 3, bytes([gate])))
        return arrivals(switch, range(300)), switch.counts.lost

    kept, lost = run(1, 0.25)
    assert (kept, lost) == run(1, 0.25)
    assert kept != run(2, 0.25)[0]
    assert len(kept) + lost == 400 and 60 < lost < 140
    # Not both receivers of a frame or none.
    assert len({(gate, one) for gate, _, one in kept}) > len(kept) / 2
    assert run(1, 1)[0] == [] and run(1, 0)[1] == 0


# ---- Cables ----


@pytest.fixture
def cable() -> Cable:
    return Cable("data", "e1000", "52:54:00:01:00:01", 100_000)


def sent(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def test_frames_that_come_in_pieces_are_whole(cable: Cable) -> None:
    stream = sent(b"first") + sent(b"second") + sent(b"")
    cable.of_qemu.sendall(stream[:7])
    assert cable.collect() == []
    cable.of_qemu.sendall(stream[7:])
    assert cable.collect() == [b"first", b"second", b""]
    assert cable.collect() == []


def test_a_flood_is_an_error_and_not_a_delay(cable: Cable) -> None:
    cable.of_qemu.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            cable.of_qemu.sendall(sent(bytes(60)))
    with pytest.raises(RunnerError, match="exceed what data can carry"):
        cable.collect()


def test_a_port_takes_so_much_at_a_gate_and_qemu_reads_it_all(cable: Cable) -> None:
    frames = [bytes(1000)] * (DELIVERY_BYTES_MAX // 1000 + 10)
    overrun = cable.deliver(frames)
    assert overrun >= 10 and not cable.is_read()
    left = (len(frames) - overrun) * 1004
    while left:
        left -= len(cable.of_qemu.recv(left))
    assert cable.is_read()


# ---- The conductor ----


def conductor_new(**more: Any) -> beats.Conductor:
    made("lockstep-parts")
    return beats.Conductor(period_ns=20 * MS, first_ns=105 * MS, quantum_ns=MS // 2, **more)


@dataclass
class Node:
    """It hears beats from one gate on, and answers and obeys as docs/nettick.md says."""

    number: int
    hears_from: int = 0
    done: int = 0
    is_welcomed: bool = False

    def address(self) -> bytes:
        return bytes([2, 0, 0, 0, 0, self.number])

    def hear(self, beat: Beat) -> list[bytes]:
        self.is_welcomed |= welcome_of(self.address(), self.number, beats.KEY) in welcomes_in(beat)
        if self.is_welcomed:
            self.done = max([self.done, *(command.number for command in beat.commands)])
        due = beat.answer_every and beat.sequence % beat.answer_every == 0
        if not due and not any(command.code & ACKNOWLEDGE for command in beat.commands):
            return []
        answer = Answer(
            beat.sequence, beat.epoch, done=self.done, start=self.number, welcomed=self.is_welcomed
        )
        return [answer.frame(SOURCE, self.address(), beats.KEY)]


def play(conductor: beats.Conductor, gates: range, *nodes: Node) -> dict[int, Beat]:
    """All beats, by the gates at which they reach the cards; nodes' answers are there at the gates after."""
    found: dict[int, Beat] = {}
    for gate in gates:
        beat = found.get(gate - 1)
        hearing = [node for node in nodes if beat and gate > node.hears_from]
        sent = conductor.at_gate(gate, [frame for node in hearing for frame in node.hear(beat)])
        if sent is not None:
            found[gate + 1] = beat_of(sent, beats.KEY)
    return found


def carried(beat: Beat) -> list[tuple[int, int]]:
    return [(command.code & ~ACKNOWLEDGE, command.number) for command in beat.commands]


def test_beats_are_the_conductor_s_at_the_gates_that_they_are_due_at() -> None:
    found = play(conductor_new(), range(4, 399))
    assert {gate: beat.sequence for gate, beat in found.items()} == {240: 1, 280: 2, 320: 3, 360: 4}
    assert all(beat.time_ns == beats.EPOCH_NS + gate * MS // 2 for gate, beat in found.items())
    assert {(b.epoch, b.period_ns, b.answer_every, b.late_ns) for b in found.values()} == {
        (beats.EPOCH_NS, 20 * MS, 0, 0)
    }


def test_a_command_goes_with_beats_until_all_nodes_have_done_it() -> None:
    """The second node hears nothing before 250 ms; the command after it waits for it, too."""
    commands = [beats.Command(at * MS, words, words) for at, words in ((201, "stop"), (160, "services 500"))]
    conductor = conductor_new(nodes=2, answer_every=beats.ANSWER_BY_RATE, commands=commands)
    nodes = [Node(1), Node(2, hears_from=500)]
    found = {gate: carried(beat) for gate, beat in play(conductor, range(4, 799), *nodes).items()}
    welcome, services, stop = (8, 0), (7, 1), (1, 2)
    # The first beats ask which nodes are there.
    assert found[240] == [] and found[280] == [welcome] and found[320] == [services]
    assert all(found[gate] == [services] for gate in range(320, 521, 40))
    # At 520 the second one is heard first, at 560 it is welcomed and does what all have done.
    assert found[560] == [welcome, services]
    assert all(found[gate] == [stop] for gate in (600, 640, 680)) and found[720] == []
    assert [node.done for node in nodes] == [2, 2]
    assert [
        (one.command.words, one.first_ns, one.done_ns, one.beats, one.nodes, one.error)
        for one in conductor.outcomes
    ] == [("services 500", 160 * MS, 561 * MS // 2, 7, 2, ""), ("stop", 300 * MS, 601 * MS // 2, 1, 2, "")]


def test_at_the_end_silence_says_who_was_killed_and_no_command_is_lost() -> None:
    commands = [beats.Command(at * MS, words, words) for at, words in ((200, "kill"), (900, "stop"))]
    conductor = conductor_new(nodes=1, answer_every=2, commands=commands)
    node = Node(1)
    play(conductor, range(4, 400), node)
    play(conductor, range(400, 420))
    assert node.is_welcomed and conductor.outcomes == []
    conductor.end(420, goes_on=True)
    kill, stop = conductor.outcomes
    assert (kill.command.words, kill.first_ns, kill.nodes, kill.error) == ("kill", 200 * MS, 1, "")
    assert (stop.first_ns, stop.error) == (None, "all nodes had ended before")


def test_a_command_that_is_under_way_when_time_is_up_is_said_to_be() -> None:
    commands = [beats.Command(200 * MS, "stop", "stop"), beats.Command(250 * MS, "kill", "kill")]
    conductor = conductor_new(nodes=1, commands=commands)
    play(conductor, range(4, 450))
    conductor.end(450, goes_on=False)
    stop, kill = conductor.outcomes
    assert stop.first_ns == 200 * MS and stop.error.startswith("beats were stopped before")
    assert (kill.first_ns, kill.error) == (None, "the run ended before")


def test_the_conductor_goes_on_above_the_epoch_that_a_node_follows() -> None:
    """Its command goes on, too. The frame that says so comes again at each gate, and does nothing."""
    commands = [beats.Command(200 * MS, "stop", "stop")]
    conductor = conductor_new(nodes=1, answer_every=1, commands=commands)
    node, newer = Node(1), beats.EPOCH_NS + 10**9
    found = play(conductor, range(4, 401))
    first = found[max(found)]
    told = Answer(first.sequence, first.epoch, start=1, follows=newer).frame(
        SOURCE, node.address(), beats.KEY
    )
    for gate in range(401, 799):
        beat = found.get(gate - 1)
        sent = conductor.at_gate(gate, [told, *(node.hear(beat) if beat else [])])
        if sent is not None:
            found[gate + 1] = beat_of(sent, beats.KEY)
    later = [beat for gate, beat in found.items() if gate > 401]
    assert first.epoch == beats.EPOCH_NS and {beat.epoch for beat in later} == {later[0].epoch}
    assert later[0].epoch > newer and [beat.sequence for beat in later] == list(range(1, len(later) + 1))
    assert [beat.time_ns - first.time_ns for beat in later[:2]] == [20 * MS, 40 * MS]
    assert carried(first) == carried(later[0]) == [(1, 1)]
    assert [(one.command.words, one.nodes, one.error) for one in conductor.outcomes] == [("stop", 1, "")]


def test_frames_that_are_no_answers_change_nothing() -> None:
    conductor = conductor_new(nodes=1, answer_every=1)
    others = [b"", bytes(13), bytes(60), bytes(2000), frame(None, 1, b"x" * 100)]
    others += [SOURCE + bytes(6) + b"\x88\xcb" + bytes([2, kind]) * 70 for kind in (1, 2, 3)]
    for gate in range(4, 399):
        conductor.at_gate(gate, others)
    assert conductor.beats_sent == 4 and conductor.outcomes == []


def test_the_first_gate_is_after_the_firmware_s_work() -> None:
    for quantum_ns in (10_000, 100_000, 700_000, 5 * MS):
        first = timers.first_gate(quantum_ns) * quantum_ns
        assert timers.BEGIN_NS <= first < timers.BEGIN_NS + quantum_ns


def test_turns_of_cpus_end_between_gates_and_the_first_one_shortly_after_each() -> None:
    """The comparator's first write is the time of the first turn's end, its last one the timer's period."""
    for turn_ns in (None, 10_000, 1_000):
        written = timers.registers(MS, 0xFEB00000, 1, 2, turn_ns)
        comparator = [value for offset, value in written if offset == 0x108 + 2 * 0x20]
        gate_ns = timers.first_gate(MS) * MS - timers.TICK_NS
        assert comparator == [(gate_ns + timers.LEAP_NS) // timers.TICK_NS, (turn_ns or MS) // timers.TICK_NS]


# ---- What may be asked for ----

WRONG = {
    "--command|2s stop": "--command needs beats, which carry commands: add --beats HZ",
    "--beats 10 --nodes 0 --linux 1 --command|2s stop": "--command is for Tacet nodes, and there are none",
    "--beats 10 --command|50ms stop": "--command 50ms stop: the first beat is at 100ms (--first-beat)",
    "--beats 10 --until 2s --command|2s stop": "--command 2s stop: the run ends at 2s (--until)",
    "--beats 10 --command|stop": "--command takes a time such as 100us, 20ms or 1.5s, not stop",
    "--beats 10 --command|2s": "--command takes a time and a command, such as 2s stop, not 2s",
    "--beats 10 --command|2s jump": "--command 2s jump: nodes do not know jump; they know stop, continue, ",
    "--beats 10 --command|2s trace timer": "--command 2s trace timer: trace takes +CLASS or -CLASS, a class",
    "--beats 10 --command|2s stop now": "--command 2s stop now: it takes nothing, or one job: job N",
    "--beats 10 --command|2s services 0": "services takes microseconds, 1 to 100000",
    "--beats 10 --command|2s --within 0 stop": "--within 0 stop: --within takes 1 to 86400, not 0",
    "--beats 10 --command|2s --one-way": "--command 2s --one-way: nodes do not know that",
    "--answer-every 5": "--answer-every needs beats: add --beats HZ",
    "--answer-every -1": "--answer-every takes 0 to 1000, not -1",
    "--service|'x": "--service 'x: No closing quotation",
    "--quantum 5us": "--quantum takes whole microseconds from 10us to 100ms, not 5us",
    "--quantum 100500ns": "--quantum takes whole microseconds from 10us to 100ms, not 100500ns",
    "--quantum fast": "--quantum takes a time such as 100us, 20ms or 1.5s, not fast",
    "--turns 1500ns": "--turns takes whole microseconds that divide a quantum, 100us, not 1500ns",
    "--turns 30us": "--turns takes whole microseconds that divide a quantum, 100us, not 30us",
    "--turns 200us": "--turns takes whole microseconds that divide a quantum, 100us, not 200us",
    "--network --latency 50us": "--latency 50us is shorter than a quantum, 100us, but frames",
    "--stagger 250us": "--stagger 250us is not a whole number of quanta of 100us",
    "--service 'a": "--service 'a: No closing quotation",
    "--service /none": "/none",
    "--network --latency 250us": "--latency 250us is not a whole number of quanta of 100us",
    "--latency 100us": "--latency needs --network",
    "--frames x": "--frames needs --network",
    "--network --loss 2": "--loss takes 0 to 1, such as 0.01, not 2",
    "--beats 30": "--beats 30: the period must be a whole number of quanta of 100us",
    "--beats 2000": "--beats takes 1/60 to 1000 beats a second, or 0, not 2000",
    "--nodes 65": "--nodes takes 0 to 64, not 65",
    "--nodes 0": "--nodes and --linux together take 1 to 64, not 0",
    "--nodes 40 --linux 40": "--nodes and --linux together take 1 to 64, not 80",
    "--until 1ms": "--until 1ms is before the first gate",
    "--env A": "--env takes K=V, not A",
    "--time-limit never": "--time-limit takes seconds, above 0 and at most",
    "--nodes 64 --memory 900G": "--memory takes at most what this host has",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said_in_one_line(words: str) -> None:
    """What stands after | is one word."""
    made("apps")
    made("lockstep-parts")
    options, _, one = words.partition("|")
    with pytest.raises(RunnerError, match=re.escape(WRONG[words])) as error:
        arguments.parse([*options.split(), *([one] if one else []), FTQ])
    assert "\n" not in str(error.value)


def test_what_is_asked_for_is_counted_in_quanta() -> None:
    made("apps")
    words = "--quantum 200us --network --latency 1ms --beats 12.5 --until 1.5s".split()
    plan = arguments.parse([*words, FTQ, "-n", "{node}"])
    assert (plan.latency, plan.beat_ns, plan.until_ns) == (5, 80 * MS, 1500 * MS)
    assert plan.args == ["-n", "{node}"] and plan.total == 2


# ---- What the programs of the experiments refuse ----

BARRIER, DAEMON = (ROOT / "build/x86_64/apps" / name for name in ("barrier", "daemon"))
REFUSED = {
    "": "give --node and --nodes",
    "--node 3 --nodes 2": "--node 3: there are 2",
    "--node 1 --nodes 65": "--nodes 65: ",
    "--node 1 --nodes 2 --first host": "--first host: give an IPv4 address",
    "--node 1 --nodes 2 --limit 1us": "--limit 1us: give a time of 1ms or more",
    "--node 1 --nodes 2 --compute long": "--compute long: ",
    "--node 1 --nodes 3 --loggp": "--loggp takes --nodes 2",
    "--node 1 --nodes 2 more": "more: it takes options only",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_barrier_refuses_is_one_line(words: str) -> None:
    made("apps")
    done = subprocess.run([BARRIER, *words.split()], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("barrier: ") and REFUSED[words] in done.stderr


def test_a_rank_alone_gives_up() -> None:
    made("apps")
    words = ["--node", "1", "--nodes", "2", "--limit", "20ms", "--first", "127.0.0.11", "--compute", "1us"]
    done = subprocess.run([BARRIER, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "barrier: rank 0 has heard nothing of rank 1 within 20 ms\n"


def test_a_daemon_ends_after_its_rounds_and_refuses_a_seed_that_is_none(tmp_path: Path) -> None:
    made("apps")
    words = ["-p", "1ms", "-w", "1us", "-s", "3", "-n", "4", "-f", str(tmp_path / "rounds")]
    assert subprocess.run([DAEMON, *words]).returncode == 0
    assert (tmp_path / "rounds").read_text() == "rounds 4\n"
    done = subprocess.run([DAEMON, "-s", "0"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("daemon: -s 0: ")
