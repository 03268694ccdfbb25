# SPDX-License-Identifier: BSD-2-Clause
"""Parts of tools/lockstep-run that need no machine: the switch, cables, the conductor, what may be asked
for."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from lockstep import arguments, beats, timers
from lockstep.cable import DELIVERY_BYTES_MAX, Cable
from lockstep.switch import Switch

from qemu.errors import RunnerError
from tests.beat_frames import beat_of
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
    with pytest.raises(RunnerError, match="more than data carries: shorter quanta"):
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


def test_beats_are_the_kernel_s_at_the_gates_that_they_are_due_at() -> None:
    made("lockstep-parts")
    conductor = beats.Beats(period_ns=20 * MS, first_ns=105 * MS, quantum_ns=MS // 2)
    due = {gate: conductor.sequence_at(gate) for gate in range(400) if conductor.sequence_at(gate)}
    assert due == {240: 1, 280: 2, 320: 3, 360: 4}
    beat = beat_of(conductor.frame(3), beats.KEY)
    assert (beat.sequence, beat.epoch, beat.period_ns, beat.answer_every) == (3, beats.EPOCH_NS, 20 * MS, 0)
    assert beat.time_ns == beats.EPOCH_NS + 320 * MS // 2


def test_the_first_gate_is_after_the_firmware_s_work() -> None:
    for quantum_ns in (10_000, 100_000, 700_000, 5 * MS):
        first = timers.first_gate(quantum_ns) * quantum_ns
        assert timers.BEGIN_NS <= first < timers.BEGIN_NS + quantum_ns


# ---- What may be asked for ----

WRONG = {
    "--quantum 5us": "--quantum takes whole microseconds from 10us to 100ms, not 5us",
    "--quantum 100500ns": "--quantum takes whole microseconds from 10us to 100ms, not 100500ns",
    "--quantum fast": "--quantum takes a time such as 100us, 20ms or 1.5s, not fast",
    "--network --latency 50us": "--latency 50us is shorter than a quantum, 100us: frames are",
    "--stagger 250us": "--stagger 250us is no whole number of quanta of 100us",
    "--service 'a": "--service 'a: No closing quotation",
    "--service /none": "/none",
    "--network --latency 250us": "--latency 250us is no whole number of quanta of 100us",
    "--latency 100us": "--latency is for a network: give --network, too",
    "--frames x": "--frames is for a network: give --network, too",
    "--network --loss 2": "--loss takes 0 to 1, such as 0.01, not 2",
    "--beats 30": "--beats 30: a period must be a whole number of quanta of 100us",
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
    made("apps")
    with pytest.raises(RunnerError, match=re.escape(WRONG[words])) as error:
        arguments.parse([*words.split(), FTQ])
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
