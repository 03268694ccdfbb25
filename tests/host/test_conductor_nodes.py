# SPDX-License-Identifier: BSD-2-Clause
"""The conductor with nodes that answer it, on a wire of its own (a network namespace without root): whom it
knows, what it says of them, which beats carry a command, and that no answer and no client harms beats.

Each test runs as `scene_…` in a namespace of its own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.beat_frames import (
    ACKNOWLEDGE,
    BROADCAST,
    PAYLOAD_AT,
    STOPPED,
    WELCOME,
    Answer,
    Beat,
    Command,
    answer_of,
    framed,
    welcome_of,
    welcomes_in,
)
from tests.fake_nodes import LIMIT_S, SERVICE, FakeNode, Wire, address_of, assert_plays, play
from tests.keys import TICKET_S, node_lines, ticket
from tests.making import made

ENOSYS = 38
#: Nodes answer their first beats, and commands; none becomes silent while a test runs on a busy machine.
SELDOM = ("--rate", "100", "--answer-every", "1000")
#: For tests in which one has to: two seconds later, longer than a busy machine keeps one from answering.
OFTEN = ("--rate", "100", "--answer-every", "50")


def names(nodes: list[dict]) -> list[str]:
    return sorted(node["name"] for node in nodes)


def carrying(beats: list[Beat], number: int) -> list[Command]:
    return [command for beat in beats for command in beat.commands if command.number == number]


def scene_a_node_is_shown_as_it_answers(wire: Wire) -> None:
    odd = FakeNode(b'a"b\\c', ipv4=bytes((10, 0, 0, 7)), lost=3, error_ns=-2500, counts=(9, 8, 7, 6), ranks=2)
    odd.job = 4294967295
    longest = FakeNode(b"x" * 31, booted_ns=2**64 - 1, error_ns=2**63 - 1, state=2)
    wire.add(odd, longest, FakeNode(b"n3"))
    wire.start(*SELDOM)
    nodes = {node["name"]: node for node in wire.ctl("nodes")["nodes"]}
    assert sorted(nodes) == sorted(('a"b\\c', "x" * 31, "n3"))
    shown = nodes['a"b\\c']["sequence"]
    said = next(answer for answer in map(answer_of, odd.sent) if answer.sequence == shown)
    expected = {
        "address": "02:54:00:00:00:01",
        "ipv4": "10.0.0.7",
        "state": "running",
        "cpus": 4,
        "welcomed": bool(said.welcomed),
        "ranks": 2,
        "job": 4294967295,
        "booted_ns": 1,
        "restarts": 0,
        "sequence": said.sequence,
        "beats": said.beats,
        "lost": 3,
        "error_ns": -2500,
        "done": 0,
        "result": 0,
        "system_calls": 9,
        "exceptions": 8,
        "interrupts": 7,
        "switches": 6,
    }
    assert {name: nodes['a"b\\c'][name] for name in expected} == expected
    beat = next(beat for beat in wire.heard() if beat.sequence == said.sequence)
    assert nodes['a"b\\c']["heard_ns"] >= beat.time_ns
    far = nodes["x" * 31]
    assert (far["booted_ns"], far["error_ns"], far["state"]) == (2**64 - 1, 2**63 - 1, "stopped")
    table = wire.run("nodes").stdout.splitlines()
    assert len(table) == 4 and table[0].split()[:4] == ["node", "address", "ipv4", "state"]
    row = next(line for line in table if line.startswith('a"b\\c'))
    assert row.split()[1:4] == ["02:54:00:00:00:01", "10.0.0.7", "running"] and "-2.5" in row
    assert "2/4 4294967295" in " ".join(row.split()) and "4/4" not in row
    assert next(line for line in table if line.startswith("n3")).split()[8] == "-"
    lines = dict(
        line.split(None, 1) for line in wire.run("status").stdout.splitlines() if " " in line.strip()
    )
    assert lines["nodes"] == "3: 2 running, 1 stopped, 0 silent, 0 restarts"
    assert lines["interface"] == "beats" and lines["answer_every"] == "1000" and "running" not in lines


def scene_every_command_is_done_once_by_all(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i) for i in range(3)]
    wire.add(*nodes)
    wire.start(*SELDOM)
    cases = (
        (["stop"], 1, b""),
        (["continue"], 2, b""),
        (["trace", "+timer"], 5, b"+timer"),
        (["trace", "-timer"], 5, b"-timer"),
        (["rating", "nettick", "50"], 6, b"nettick 50"),
        (["services", "258"], 7, b"\0\0\1\2"),
        (["stop", "--job", "1"], 1, b"\0\0\0\1"),
        (["--job", "4294967295", "continue"], 2, b"\xff\xff\xff\xff"),
        (["kill", "--job", "258"], 3, b"\0\0\1\2"),
        (["kill"], 3, b""),
    )
    for number, (words, _, _) in enumerate(cases, 1):
        said = wire.ctl(*words)
        assert said["command"] in words and (said["number"], said["done"]) == (number, 3)
        assert said["beats"] >= 1 and not any(said[name] for name in ("failed", "missing", "silent"))
    for node in nodes:
        done = [(command.code, command.body) for command in node.obeyed]
        assert done == [(code | ACKNOWLEDGE, body) for _, code, body in cases]
    wire.ctl("stop")
    assert {node["state"] for node in wire.ctl("nodes")["nodes"]} == {"stopped"}
    said = wire.run("continue")
    assert (said.returncode, said.stdout, said.stderr) == (0, "continue: done by 3 nodes\n", "")
    wire.next_beats(4)
    for number in range(1, 13):
        assert len(carrying(list(wire.heard()), number)) >= 3
    numbers = [[command.number for command in beat.commands if command.number] for beat in wire.heard()]
    assert all(each == sorted(set(each)) for each in numbers) and wire.next_beats(2)[-1].commands == []


def scene_a_command_for_a_job_leaves_all_others_alone(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % job, job=job) for job in range(3)]
    wire.add(*nodes)
    wire.start(*SELDOM)
    assert wire.ctl("stop", "--job", 2)["done"] == 3
    assert [node.state for node in nodes] == [1, 1, STOPPED]
    assert wire.ctl("stop")["done"] == 3
    assert wire.ctl("continue", "--job", 1)["done"] == 3
    assert [node.state for node in nodes] == [STOPPED, 1, STOPPED]
    assert [node["job"] for node in wire.ctl("nodes")["nodes"]] == [0, 1, 2]
    assert wire.run("kill", "--job", 2, "--one-way").stdout == "kill: goes with the next beats\n"


def scene_a_node_outlives_a_job_that_is_killed(wire: Wire) -> None:
    node = FakeNode(b"n1", job=7)
    wire.add(node)
    wire.start(*OFTEN)
    node.answers = False
    said = wire.ctl("kill", "--job", 7, "--within", "100", status=1)
    assert (said["done"], names(said["silent_nodes"])) == (0, ["n1"])


def asked(wire: Wire, request: str) -> dict:
    with connect(wire) as client:
        client.send(request.encode())
        return json.loads(client.recv(65536))


def scene_jobs_have_numbers_of_their_own(wire: Wire) -> None:
    conductor = wire.start("--rate", "0")
    begun = int(time.time())
    given = [asked(wire, "job begin")["job"] for _ in range(5)]
    assert given == list(range(given[0], given[0] + 5)) and abs(given[0] - begun) < 2 * LIMIT_S
    while time.time() < given[-1]:
        time.sleep(0.1)
    conductor.send_signal(signal.SIGKILL)
    conductor.wait()
    wire.start("--rate", "0")
    assert asked(wire, "job begin")["job"] > given[-1]
    assert "error" in asked(wire, "job end")


def scene_a_ticket_takes_the_key(wire: Wire) -> None:
    wire.start("--rate", "0")
    job = asked(wire, "job begin")["job"]
    for nonce in ("0123456789abcdef", "FFFFFFFFFFFFFFFF", "0000000000000000"):
        said = asked(wire, f"ticket {nonce} n1 {job}")["ticket"]
        groups = said.split()[3]
        numbers = [] if groups == "-" else list(map(int, groups.split(",")))
        assert sorted(numbers) == sorted(os.getgroups())
        expires = int(said.split()[4])
        assert abs(expires - time.time()) <= LIMIT_S + TICKET_S
        assert said == ticket(nonce, "n1", job=job, groups=numbers, expires=expires)
    for wrong in ("", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg", " 123456789abcdef"):
        assert "16 hexadecimal digits" in asked(wire, f"ticket {wrong} n1 {job}")["error"]
    for wrong in ("n1", f"n1 {job} 1", f"n/1 {job}", f"{'n' * 65} {job}", "n1 0x1", "n1 -1"):
        assert "ticket takes" in asked(wire, f"ticket 0123456789abcdef {wrong}")["error"], wrong
    assert asked(wire, "key n1") == dict(line.split() for line in node_lines("n1").splitlines())
    assert wire.run("key", "n1").stdout == node_lines("n1")
    assert "a node's id" in asked(wire, "key n/1")["error"]


def scene_a_one_way_command_goes_with_three_beats(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    said = wire.ctl("--one-way", "stop")
    assert said == {"command": "stop", "number": 1}
    assert wire.run("kill", "--one-way").stdout == "kill: goes with the next beats\n"
    wire.next_beats(5)
    for number, code in ((1, 1), (2, 3)):
        carried = carrying(list(wire.heard()), number)
        assert [command.code for command in carried] == [code] * 3
    assert [command.code for command in node.obeyed] == [1, 3]


def scene_a_command_goes_with_every_beat_until_all_have_answered(wire: Wire) -> None:
    nodes = [FakeNode(b"n1"), FakeNode(b"n2")]
    wire.add(*nodes)
    wire.start(*SELDOM)
    nodes[1].lose_answers = 20
    said = wire.ctl("--within", "100", "stop")
    assert said["done"] == 2 and said["beats"] > 20
    carried = [beat for beat in wire.heard() if any(command.number for command in beat.commands)]
    first = carried[0].sequence
    assert [beat.sequence for beat in carried] == list(range(first, first + len(carried)))
    assert [len(node.obeyed) for node in nodes] == [1, 1]


def scene_who_has_not_done_a_command_is_named(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i) for i in range(3)]
    wire.add(*nodes)
    wire.start(*SELDOM)
    nodes[1].answers = False
    said = wire.run("stop", "--within", "3")
    assert said.returncode == 1 and said.stdout == "stop: done by 2 nodes\n"
    assert "in time" in said.stderr and "not acknowledged by: n1 (02:54:00:00:00:02)" in said.stderr
    assert wire.next_beats(2)[-1].commands == []  # no beat carries it any more
    said = wire.ctl("continue", "--within", "3", status=1)
    assert (said["done"], said["missing"], names(said["missing_nodes"])) == (2, 1, ["n1"])
    nodes[1].answers, nodes[2].result = True, ENOSYS
    said = wire.ctl("stop", status=1)
    assert (said["done"], said["failed"]) == (2, 1) and said["failed_nodes"][0]["result"] == ENOSYS
    assert "not done by: n2 (02:54:00:00:00:03) does not know the command" in wire.run("stop").stderr


def scene_a_silent_node_is_named_and_not_waited_for(wire: Wire) -> None:
    nodes = [FakeNode(b"n1"), FakeNode(b"n2")]
    wire.add(*nodes)
    wire.start(*OFTEN)
    nodes[0].answers = nodes[1].answers = False
    wire.until(lambda: wire.status()["silent"] == 2)
    assert "silent" in wire.run("nodes").stdout
    said = wire.ctl("stop", "--within", "100", status=1)
    assert said["done"] == 0 and names(said["silent_nodes"]) == ["n1", "n2"] and "not waited" in said["error"]
    assert "silent: n1 (" in wire.run("stop").stderr
    wire.ctl("rate", "0")
    asked = wire.status()["sequence"]
    wire.until(lambda: wire.status()["period_ns"] == 0)
    nodes[0].answers = True
    wire.ctl("rate", "100")
    wire.until(lambda: wire.status()["running"] + wire.status()["stopped"] >= 1)
    assert wire.status()["sequence"] > asked
    assert wire.ctl("remove", "nobody", status=1)["error"].startswith("no node of this name")
    assert wire.ctl("remove", "02:54:00:00:00:02")["nodes"] == 1
    wire.ctl("remove", "n1")
    wire.until(lambda: wire.status()["nodes"] == 1)  # it answers again
    assert names(wire.ctl("nodes")["nodes"]) == ["n1"]


def scene_who_falls_silent_when_it_is_killed_has_done_it(wire: Wire) -> None:
    dying, dead = FakeNode(b"dying", dies=True), FakeNode(b"dead")
    wire.add(dying, dead)
    wire.start(*OFTEN)
    wire.until(lambda: wire.status()["nodes"] == 2)
    dead.answers = False
    wire.until(lambda: wire.status()["silent"] == 1)
    said = wire.ctl("kill", "--within", "100", status=1)
    assert not dying.answers and said["done"] == 1 and names(said["silent_nodes"]) == ["dead"]
    wire.ctl("remove", "dead")
    assert wire.ctl("kill", "--within", "100", status=1)["silent"] == 1  # it was silent before


def scene_nodes_that_have_not_answered_yet_are_waited_for(wire: Wire) -> None:
    wire.add(FakeNode(b"n1"))
    wire.start(*OFTEN, "--nodes", "2")
    wire.until(lambda: wire.status()["nodes"] == 1)
    said = wire.ctl("stop", "--within", "5", status=1)
    assert "fewer nodes" in said["error"] and said["done"] == 1
    wire.add(FakeNode(b"n2"))
    assert wire.ctl("continue", "--within", "100")["done"] == 2


def scene_a_node_that_was_started_anew_is_seen(wire: Wire) -> None:
    nodes = [FakeNode(b"n1"), FakeNode(b"n2")]
    wire.add(*nodes)
    wire.start(*SELDOM)
    wire.ctl("stop")
    wire.next_beats(4)  # three at least carry a command, also to a node that was started meanwhile
    with wire.lock:
        nodes[1].restart()
    wire.ctl("continue")
    assert wire.status()["restarts"] == 1
    assert "node n2 (02:54:00:00:00:02) has restarted" in wire.messages.read_text()
    assert [command.number for command in nodes[1].obeyed] == [2]
    found = {node["name"]: node["restarts"] for node in wire.ctl("nodes")["nodes"]}
    assert found == {"n1": 0, "n2": 1}


def welcomes(wire: Wire, node: FakeNode) -> list[Beat]:
    """The beats that welcome the last start of a node."""
    welcome = welcome_of(node.address, node.start)
    return [beat for beat in wire.heard() if welcome in welcomes_in(beat)]


def scene_each_start_of_a_node_is_welcomed(wire: Wire) -> None:
    node, other = FakeNode(b"n1", lose_welcomes=7), FakeNode(b"n2")
    wire.add(node, other)
    wire.start(*OFTEN)
    wire.until(lambda: [each["welcomed"] for each in wire.ctl("nodes")["nodes"]] == [True, True])
    asked = [answer.sequence for answer in map(answer_of, node.sent) if not answer.welcomed]
    carried = [beat.sequence for beat in welcomes(wire, node)]
    assert asked[0] < carried[0] and 8 <= len(carried) <= 3 * len(asked)
    wire.next_beats(6)
    assert [beat.sequence for beat in welcomes(wire, node)] == carried
    with wire.lock:
        node.restart()
    assert wire.ctl("stop", "--within", "100")["done"] == 2
    assert welcomes(wire, node) and welcomes(wire, node)[0].sequence > carried[-1]


def scene_nodes_that_start_at_once_are_welcomed_by_few_beats(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i, start=10**18 + i) for i in range(300)]
    wire.add(*nodes)
    wire.start("--rate", "5", "--answer-every", "1000")
    beats = [beat for beat in wire.heard() if welcomes_in(beat)]
    assert max(len(welcomes_in(beat)) for beat in beats) <= 128
    assert len({welcome for beat in beats for welcome in welcomes_in(beat)}) == 300
    assert wire.ctl("stop", "--within", "100")["done"] == 300


def scene_bad_answers_are_counted_by_cause_and_change_nothing(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    wire.next_beats(4)
    with wire.lock:
        node.answers = False  # no more than it has sent, however long this takes
    wire.until(lambda: wire.status()["answers"] == len(node.sent))
    before = wire.ctl("nodes")["nodes"]
    good = node.answer(2**32)  # but for its sequence
    epoch, last = node.epoch, answer_of(node.sent[-1])
    status = wire.status()
    stranger = bytes.fromhex("025400000099")

    def framed_as(source: bytes, **changes: object) -> bytes:
        fields = {name: getattr(good, name) for name in good.__dataclass_fields__} | {"sequence": 1}
        return Answer(**fields | changes).frame(wire.to, source)

    def ghost(number: int) -> bytes:
        """Another address, from which what this node has sent comes again."""
        return struct.pack(">HI", 0x0202, number)

    short, tagged = last.payload(), framed_as(stranger)
    wrong = {
        "forged": [
            last.frame(wire.to, stranger, bytes(16)),
            tagged[:-1] + bytes([tagged[-1] ^ 1]),
            *(framed(node.sent[-1][PAYLOAD_AT:], wire.to, ghost(i)) for i in range(50)),
        ],
        "truncated": [framed(short[:60], wire.to, stranger), framed_as(stranger, length=169)],
        "other_version": [framed_as(stranger, version=1), framed_as(stranger, version=3)],
        "other_kind": [framed_as(stranger, kind=9)],
        "absurd": [
            framed_as(stranger, state=3),
            framed_as(stranger, welcomed=4),
            framed_as(stranger, polls=2),
            framed_as(stranger, cpus=0),
            framed_as(stranger, name=b"a b"),
            framed_as(stranger, name=b"\x1b[2J"),
            framed_as(stranger, name=b"x" * 32),
            framed_as(BROADCAST),
            Beat(epoch=5, period_ns=1).frame(),
        ],
        "other_epoch": [framed_as(stranger, epoch=epoch - 1), framed_as(stranger, epoch=epoch + 1)],
        "not_sent": [framed_as(stranger, sequence=2**40), framed_as(stranger, done=1)],
        "late": [framed_as(node.address, sequence=last.sequence - 1)],
        "duplicate": [last.frame(wire.to, node.address)],
    }
    for frames in wrong.values():
        for frame in frames:
            wire.send(frame)
    wire.send(framed(short[:1], wire.to, stranger))  # Ethernet pads it with zeros
    wire.send(framed(random.Random(5).randbytes(1500), wire.to, stranger))
    wire.until(lambda: wire.status()["duplicate"] == 1)
    wire.until(lambda: wire.status()["other_version"] >= 2)
    after = wire.status()
    counted = {cause: after[cause] - status[cause] for cause in wrong}
    counted["other_version"] -= 1  # the random ones
    counted["truncated"] -= 1  # the byte
    assert counted == {cause: len(frames) for cause, frames in wrong.items()}, counted
    assert (after["answers"], after["nodes"]) == (status["answers"], 1)
    assert wire.ctl("nodes")["nodes"] == before


def scene_nodes_come_back_to_a_conductor_that_was_killed(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i) for i in range(3)]
    wire.add(*nodes)
    conductor = wire.start(*SELDOM)
    wire.ctl("stop")
    wire.ctl("stop")
    first = wire.status()
    conductor.send_signal(signal.SIGKILL)
    conductor.wait()
    assert wire.run("status").returncode == 1
    wire.start(*SELDOM)
    wire.until(lambda: wire.status()["nodes"] == 3)
    second = wire.status()
    assert second["epoch"] > first["epoch"] and second["last_command"] == 0 and second["restarts"] == 0
    assert (second["stopped"], second["other_conductors"]) == (3, 0)
    assert wire.ctl("continue")["number"] == 1
    assert [[command.number for command in node.obeyed] for node in nodes] == [[1, 2, 1]] * 3


def scene_beats_come_before_a_flood_of_answers(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    forged = Answer(name=b"n9").frame(wire.to, bytes.fromhex("025400000009"), bytes(16))
    again = node.sent[-1]
    ended = threading.Event()

    def flood() -> None:
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sender.bind(("nodes", 0))
        while not ended.is_set():
            for frame in (forged, again):
                for _ in range(100):
                    sender.send(frame)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        sent = wire.status()["sent"]
        wire.until(lambda: wire.status()["forged"] > 20000)
        wire.until(lambda: wire.status()["sent"] >= sent + 100)
        assert wire.ctl("stop", "--within", "100")["done"] == 1
    finally:
        ended.set()
        thread.join()
    status = wire.status()
    assert status["answers_per_loop_max"] <= 64 and status["nodes"] == 1
    assert status["duplicate"] + status["late"] > 1000
    assert wire.conductor and wire.conductor.poll() is None


def scene_two_conductors_say_so(wire: Wire) -> None:
    wire.start(*SELDOM)
    wire.start("--rate", "50", interface="nodes", control="second")
    wire.until(lambda: wire.status()["other_conductors"] > 3)
    wire.until(lambda: wire.ctl("status", control="second")["other_conductors"] > 3)
    status = wire.status()
    there = address_of("nodes").hex(":")
    assert status["other_conductor"] == there and status["absurd"] == status["forged"] == 0
    said = wire.messages.read_text()
    assert said.count("another conductor beats on beats, from " + there) == 1
    assert said.count("another conductor beats on nodes") == 1
    assert "nodes follow the other" in said and "nodes follow this" in said
    wire.ctl("rate", "0", control="second")


def connect(wire: Wire) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(str(wire.control))
    client.settimeout(120)
    return client


def scene_junk_of_clients_is_refused(wire: Wire) -> None:
    wire.start(*SELDOM)
    client = connect(wire)
    for junk in (b"\0\0\0", b"x" * 5000, b"nodes -1", b"nodes 99999999999999999999", b"within 0 stop", b"\n"):
        client.send(junk)
        assert set(json.loads(client.recv(65536))) & {"error", "nodes"}, junk
    client.close()


def scene_what_has_no_room_in_the_queue_is_refused(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    node.answers = False
    clients = [connect(wire) for _ in range(11)]
    for client in clients[:9]:
        client.send(b"within 1000 stop")
    wire.until(lambda: wire.status()["waiting_commands"] == 8)
    clients[9].send(b"stop")
    assert "too many commands wait" in json.loads(clients[9].recv(65536))["error"]
    clients[10].send(b"one-way kill")
    assert json.loads(clients[10].recv(65536))["number"] == 2
    clients[1].close()  # a client that has gone gets no answer, and no other client gets it instead
    later = connect(wire)
    later.send(b"status")
    assert "interface" in json.loads(later.recv(65536))
    wire.ctl("rate", "0")
    replies = [json.loads(client.recv(65536)) for client in (clients[0], *clients[2:9])]
    assert names(replies[0]["missing_nodes"]) == ["n1"]
    assert all("were stopped" in reply["error"] for reply in replies[1:])
    later.settimeout(0.2)
    with pytest.raises(TimeoutError):
        later.recv(65536)
    wire.ctl("rate", "100")
    clients[0].send(b"within 1000 stop")
    wire.until(lambda: wire.status()["last_command"] == 3)
    assert "not sent" in wire.ctl("continue", "--within", "1", status=1)["error"]


def scene_without_beats_a_command_is_refused(wire: Wire) -> None:
    wire.start("--rate", "0")
    assert "no beats" in wire.ctl("stop", status=1)["error"]
    assert "no beats" in wire.run("kill", "--one-way").stderr
    node = FakeNode(b"n1", lose_answers=10**6)
    wire.add(node)
    wire.ctl("rate", "100")
    client = connect(wire)
    client.send(b"within 100 stop")
    wire.until(lambda: bool(node.obeyed))
    wire.ctl("rate", "0")
    assert "beats have ended" in json.loads(client.recv(65536))["error"]
    client.close()
    last = wire.status()["sequence"]

    def later() -> list[Beat]:
        return [beat for beat in wire.heard() if beat.sequence > last]

    wire.ctl("rate", "100")
    wire.until(lambda: len(later()) > 5)
    codes = {command.code for beat in later() for command in beat.commands}
    assert codes <= {WELCOME}, "what was dropped is not sent later"


def scene_a_command_without_nodes_is_not_done(wire: Wire) -> None:
    wire.start("--rate", "100", "--answer-every", "0")
    said = wire.ctl("stop", "--within", "2", status=1)
    assert "no node has answered" in said["error"] and said["beats"] >= 1
    assert {beat.answer_every for beat in wire.heard()} == {0}
    wire.add(FakeNode(b"n1"))
    assert wire.ctl("stop")["done"] == 1  # a command asks, too


def scene_nodes_are_asked_about_once_a_second(wire: Wire) -> None:
    wire.start("--rate", "100")
    wire.until(lambda: len(wire.heard()) > 10)
    assert [beat.answer_every for beat in wire.heard()[:5]] == [1, 1, 1, 100, 100]
    for rate, every in ((1000, 1000), (12.5, 13), (1, 1), (0.1, 1), (0.02, 1)):
        assert wire.ctl("rate", rate)["answer_every"] == every


def scene_counters_are_the_difference_of_two_counts(wire: Wire) -> None:
    wire.add(FakeNode(b"n1", counts=(1000, 0, 0, 0)), FakeNode(b"n2"))
    wire.start(*SELDOM)
    said = wire.ctl("counters", "0")
    expected = {"system_calls": 100, "exceptions": 10, "interrupts": 5, "switches": 1}
    assert names(said["nodes"]) == ["n1", "n2"] and said["interval_ns"] > 0
    assert all(node | expected == node for node in said["nodes"])
    rows = wire.run("counters", "0.1").stdout.splitlines()
    assert len(rows) == 3 and rows[1].split() == ["n1", "02:54:00:00:00:01", "100", "10", "5", "1"]
    wire.nodes[1].answers = False
    said = wire.run("counters", "0", "--within", "2")
    assert said.returncode == 1 and "not acknowledged by: n2" in said.stderr and "n2" not in said.stdout
    assert names(wire.ctl("counters", "0", "--within", "2", status=1)["nodes"]) in (["n1"], [])


def scene_a_thousand_nodes_are_listed_and_commanded(wire: Wire) -> None:
    many = [FakeNode(b"node%d-" % i + b"x" * 20) for i in range(1000)]
    wire.add(*many)
    wire.start("--rate", "2", "--answer-every", "1000")
    nodes = wire.ctl("nodes")["nodes"]
    assert len(nodes) == 1000 and names(nodes) == sorted(node.name.decode() for node in many)
    assert len(wire.run("nodes").stdout.splitlines()) == 1001
    assert wire.ctl("stop", "--within", "100")["done"] == 1000
    for node in many:
        node.answers = False
    said = wire.ctl("continue", "--within", "1", status=1)
    assert said["missing"] == 1000 and 100 < len(said["missing_nodes"]) <= 1000


def scene_a_watched_table_is_drawn_again(wire: Wire) -> None:
    wire.add(FakeNode(b"n1"))
    wire.start(*SELDOM)
    command = [SERVICE / "conductorctl", "--socket", wire.control, "nodes", "--watch", "1"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert watch.stdout
    lines = [watch.stdout.readline().split()[0] for _ in range(6)]
    watch.terminate()
    watch.communicate()
    assert lines == ["node", "n1"] * 3


SCENES = sorted(name.removeprefix("scene_") for name in globals() if name.startswith("scene_"))


@pytest.fixture(scope="module")
def service() -> None:
    made("service")


@pytest.mark.parametrize("scene", SCENES)
def test_with_nodes(scene: str, tmp_path: Path, service: None) -> None:
    assert_plays(__file__, scene, tmp_path)


@pytest.mark.parametrize(
    "words",
    (
        [],
        ["nothing"],
        ["status", "now"],
        ["stop", "--watch"],
        ["nodes", "--one-way"],
        ["rate"],
        ["stop", "--within", "0"],
        ["stop", "--within"],
        ["stop", "--within", "1", "--one-way"],
        ["rating", "tsc"],
        ["rating", "a", "b", "c"],
        ["--loud", "status"],
        ["nodes", "--watch", "0"],
        ["trace", "+" + "a" * 300],
        ["stop", "--job"],
        ["stop", "--job", "0"],
        ["stop", "--job", "4294967296"],
        ["stop", "--job", "+1"],
        ["stop", "job", "1"],
        ["trace", "+timer", "--job", "1"],
        ["status", "--job", "1"],
        ["counters", "--one-way"],
    ),
)
def test_words_that_are_wrong_end_with_status_2(words: list[str], service: None) -> None:
    ran = subprocess.run([SERVICE / "conductorctl", *words], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and "(conductorctl --help)" in ran.stderr and not ran.stdout


if __name__ == "__main__":
    play(globals()["scene_" + sys.argv[1]], Path(sys.argv[2]))
