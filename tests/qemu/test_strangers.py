# SPDX-License-Identifier: BSD-2-Clause
"""What a host on the segment makes a node keep is charged to an owner and bounded: whatever it sends, the
node answers a ping afterwards, and the programs' counters say that no frame was dropped for want of memory.
The stranger is made of single frames."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import network
import pytest
from conftest import Run, expect_exit, slowness
from lan import IPV4, MAC, Lan, checksum, ethernet, ip, ipv4, udp
from waiting_nodes import LIMIT_S, WaitingNodes
from wire import Wire

NODE, STRANGER, PORT = "10.9.0.7", "10.9.0.1", 7000
FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
SEGMENT = 1460
#: Frames between two looks at what the node has sent, fewer than its ring holds.
BATCH = 60
#: More than the node has memory for, of each kind.
CONNECTIONS, DATAGRAMS, NEIGHBOURS, ENDS = 8, 400, 90, 700


class Stranger(Lan):
    """A TCP without state beyond the last numbers of each of its connections."""

    def __init__(self, script: Callable[[Lan], None]) -> None:
        super().__init__(node=NODE, script=script)
        self.numbers: dict[int, tuple[int, int]] = {}  #: of a port: next own one, next one of the node's
        self.ended: set[int] = set()
        self.acknowledged: list[int] = []  #: ports of segments that hold nothing but that
        self.is_silent = False

    def segment(self, port: int, sequence: int, acknowledged: int, flags: int, data: bytes = b"") -> bytes:
        header = struct.pack(
            ">HHIIBBHHH", port, PORT, sequence & 0xFFFFFFFF, acknowledged, 5 << 4, flags, 65535, 0, 0
        )
        pseudo = ip(STRANGER) + ip(NODE) + struct.pack(">HH", 6, len(header) + len(data))
        header = header[:16] + struct.pack(">H", checksum(pseudo + header + data)) + header[18:]
        return ethernet(ipv4(header + data, ip(STRANGER), ip(NODE), 6), MAC, IPV4)

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] != IPV4 or frame[23] != 6 or self.is_silent:
            return super().answers(frame)
        port, theirs, flags = struct.unpack_from(">HI", frame, 36) + (frame[47],)
        if flags & SYN:
            own = struct.unpack_from(">I", frame, 42)[0]
            self.numbers[port] = own, theirs + 1 & 0xFFFFFFFF
            return [self.segment(port, own, theirs + 1 & 0xFFFFFFFF, ACK)]
        if flags & FIN and port in self.numbers:
            own, _ = self.numbers[port]
            self.ended.add(port)
            self.numbers[port] = own + 1, theirs + 1 & 0xFFFFFFFF
            return [self.segment(port, own, theirs + 1 & 0xFFFFFFFF, FIN | ACK)]
        self.acknowledged.append(port)
        return []

    def send(self, frames: list[bytes]) -> None:
        for number, frame in enumerate(frames):
            self.wire.send(frame)
            if number % BATCH == BATCH - 1:
                self.look()
        self.look()

    def look(self) -> None:
        """Takes what the node has sent, until it has answered a ping: so its ring is empty, too."""
        assert self.ping(1), "the node does not hear any more"

    def connect(self, ports: range) -> None:
        """Connects from these ports, a few at a time: a ring that is full drops some, and a listener whose
        queue is, until the others' handshakes are through."""
        for _ in range(200):
            left = [port for port in ports if port not in self.numbers]
            if not left:
                return
            self.send([self.segment(port, 1000, 0, SYN) for port in left[:BATCH]])
            self.step(0.2)
        raise AssertionError(f"{len(left)} connections were not made")


def holes(lan: Stranger) -> None:
    """On each of some connections all but the first segment of a window comes."""
    lan.connect(range(20000, 20000 + CONNECTIONS))
    for port, (own, theirs) in list(lan.numbers.items()):
        lan.send(
            [
                lan.segment(port, own + number * SEGMENT, theirs, ACK | PUSH, bytes(SEGMENT))
                for number in range(1, 44)
            ]
        )


def small_holes(lan: Stranger) -> None:
    """The same with segments of one byte, each with a gap before it."""
    lan.connect(range(20000, 20000 + CONNECTIONS))
    for port, (own, theirs) in list(lan.numbers.items()):
        lan.send([lan.segment(port, own + 2 * number, theirs, ACK | PUSH, b"x") for number in range(1, 400)])


def fragments(lan: Stranger) -> None:
    """The first piece each of many long datagrams."""
    lan.send(
        [
            ethernet(fragment_of(number, udp(bytes(1472), 9, 9)), MAC, IPV4)
            for number in range(1, 1 + DATAGRAMS)
        ]
    )


def fragment_of(identity: int, data: bytes) -> bytes:
    packet = bytearray(ipv4(data, ip(STRANGER), ip(NODE), 17, identity))
    packet[6] |= 0x20  # more of it follows
    packet[10:12] = b"\0\0"
    packet[10:12] = struct.pack(">H", checksum(bytes(packet[:20])))
    return bytes(packet)


def unknown_ports(lan: Stranger) -> None:
    """Datagrams and requests for ports that no socket has, from neighbours that answer no ARP."""
    frames = []
    for number in range(NEIGHBOURS * 8):
        source = ip(f"10.9.0.{100 + number % NEIGHBOURS}")
        frames.append(ethernet(ipv4(udp(bytes(1000), 9, 1 + number), source, ip(NODE), 17), MAC, IPV4))
    lan.send(frames)


def half_open(lan: Stranger) -> None:
    """Requests of which nothing more comes: each from another port, and the answers are not answered."""
    lan.is_silent = True
    lan.send(
        [lan.segment(port, 1000, 0, SYN) for port in range(30000, 30000 + 10 * BATCH)]
        + [lan.segment(port, 1001, 0, RST) for port in range(30000, 30000 + 10 * BATCH)]
    )


def ends(lan: Stranger) -> None:
    """More connections than the node remembers, each of which its program has closed first. What is left of
    the last one acknowledges the end when it is repeated, and gives way to a new request."""
    for first in range(20000, 20000 + ENDS, BATCH):
        lan.connect(range(first, min(first + BATCH, 20000 + ENDS)))
    last = 20000 + ENDS - 1
    for _ in range(1500):
        if last in lan.ended:
            break
        lan.step(0.2)
    lan.look()
    own, theirs = lan.numbers[last]
    lan.acknowledged.clear()
    lan.send([lan.segment(last, own - 1, theirs, FIN | ACK)])
    assert last in lan.acknowledged
    del lan.numbers[last]
    lan.send([lan.segment(last, own + 1000, 0, SYN)])
    assert last in lan.numbers


@pytest.mark.parametrize(
    "script, mode",
    [
        (holes, "keep"),
        (small_holes, "keep"),
        (fragments, "keep"),
        (unknown_ports, "keep"),
        (half_open, "keep"),
        (ends, "close"),
    ],
)
def test_no_stranger_makes_the_node_deaf(script: Callable[[Lan], None], mode: str, tacet: Run) -> None:
    lan = Stranger(script)
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            *("visited.musl", mode), options=f"ip={NODE}/24", qemu_options=wire.options(), time_limit=120
        )
        wire.close()
    if result.outcome != "exit":
        pytest.fail(f"the stranger: {wire.error!r}\n{result.explain()}")
    wire.check()
    said = expect_exit(result).stdout.decode()
    counts = dict(re.findall(r"^(\w+) (\d+)$", said, re.MULTILINE))
    assert int(counts["received_frames"]) > 200, result.explain()  # a full ring drops some
    assert counts["receive_dropped"] == "0", result.explain()


def floods_beside_a_neighbour(flood: Callable[[Stranger], None]) -> Callable[[Lan], None]:
    """The flood over and over, from the moment when the neighbour has measured in quiet."""

    def script(lan: Lan) -> None:
        assert isinstance(lan, Stranger)
        while not any(b"quiet" in frame for frame in lan.frames):
            lan.step(0.2)
        while True:
            flood(lan)

    return script


@pytest.mark.long
@pytest.mark.parametrize("flood", [holes, small_holes, fragments, unknown_ports, half_open])
def test_a_flood_delays_a_neighbour_by_a_few_frames_at_most(
    flood: Callable[[Stranger], None], tacet: Run
) -> None:
    """The neighbour's own datagrams wait for single frames, not for the flood: in guest time, two CPUs in
    turns of 1 µs, where the longest round trip was 0.22 ms, and 0.016 ms without the flood."""
    lan = Stranger(floods_beside_a_neighbour(flood))
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            "visited.musl",
            cpus=2,
            options=f"ip={NODE}/24 ranks=2",
            icount=0,
            turns_ns=1000,
            qemu="newest",
            qemu_options=wire.options(),
            time_limit=600,
        )
        wire.close()
    said = expect_exit(result).stdout.decode()
    quiet, beside = (int(ns) for ns in re.findall(r"longest_ns (\d+)", said))
    assert quiet < 50_000 and beside < 1_000_000, said
    assert re.search(r"^receive_dropped 0$", said, re.MULTILINE), said


def test_a_rank_that_joins_all_groups_makes_nobody_deaf(tacet: Run) -> None:
    """At a node of two ranks, of which one has as many memberships as it gets."""
    lan = Lan(node=NODE, script=lambda _: None)
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            "groups.musl", cpus=2, options=f"ip={NODE}/24", qemu_options=wire.options(), time_limit=120
        )
        wire.close()
        wire.check()
    said = expect_exit(result).stdout.decode()
    assert "rank 0: joined 60 of 4000, then No buffer space available" in said, result.explain()
    assert "rank 1: joined 1, received end" in said, result.explain()


#: Of one process at the stranger's host: a connection after the other, as fast as they come.
VISITS = """
import socket, sys
for _ in range(int(sys.argv[1])):
    socket.create_connection(("10.99.0.11", 35019), 60).close()
"""


def test_visitors_of_the_launch_port_leave_room_for_a_job(tmp_path: Path) -> None:
    with WaitingNodes(tmp_path) as nodes:
        visits = [sys.executable, "-c", VISITS, str(ENDS)]
        nodes.space.run(visits, check=True, timeout=LIMIT_S * slowness())
        done = nodes.tacetrun("-i", "none", "--bcast", "/bin/busybox", "cat", "/proc/tacet/network")
    assert done.returncode == 0, done.stderr
    counts = dict(re.findall(r"^(\w+) (\d+)$", done.stdout, re.MULTILINE))
    assert counts["receive_dropped"] == "0", done.stdout
    assert int(counts["visitors_bytes"]) <= 8 * 4096, done.stdout


#: Of one process at the stranger's host: visitors who stay, each with bytes that are no request.
STAY = """
import socket, sys, time
said = sys.argv[2].encode()
stay = [socket.create_connection(("10.99.0.11", 35019), 60) for _ in range(int(sys.argv[1]))]
for visitor in stay:
    try:
        visitor.sendall(said)
    except OSError:
        pass  # it was replaced
print("stay", flush=True)
time.sleep(1000)
"""
#: A few more than the node keeps.
VISITORS = 20


@pytest.mark.parametrize("said", ["", "launch 9 " + "f" * 500], ids=["nothing", "a part of a line"])
def test_who_is_silent_keeps_nobody_out_of_an_idle_node(said: str, tmp_path: Path) -> None:
    """A job begins as without them, within less time than the node gives to a visitor."""
    with WaitingNodes(tmp_path) as nodes:
        words = [sys.executable, "-c", STAY, str(VISITORS), said]
        strangers = nodes.space.popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert strangers.stdout is not None and strangers.stdout.readline() == "stay\n"
            done = nodes.tacetrun("-i", "none", "--bcast", "/bin/busybox", "true")
        finally:
            strangers.kill()
            strangers.communicate()
    assert (done.returncode, done.stderr) == (0, "")


#: Of one process at the strangers' host: a visitor of the second address is greeted, and waits. Then more
#: come from the first address than the node keeps. The node still listens to the second one's.
FLOOD = """
import socket, sys
first, second, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def visit(address):
    return socket.create_connection(("10.99.0.11", 35019), 300, (address, 0))
def is_greeted(visitor):
    return visitor.recv(12) == b"tacet-launch"
waiting = visit(second)
assert is_greeted(waiting), "the second address is not greeted"
flood = [visit(first) for _ in range(count)]
greeting = flood[-1].recv(12)
assert greeting == b"tacet-launch", f"the last one is not greeted, but gets {greeting}"
waiting.sendall(b"nonsense\\n")
answers = waiting.makefile("rb")
answers.readline()
assert answers.readline().startswith(b"refused line"), "the node does not listen to the second address"
"""
SECOND = "10.99.0.2"


def test_a_host_that_floods_the_launch_port_leaves_another_one_s_visitor_alone(tmp_path: Path) -> None:
    with WaitingNodes(tmp_path) as nodes:
        nodes.space.run(["ip", "addr", "add", f"{SECOND}/24", "dev", network.BRIDGE], check=True)
        flood = [sys.executable, "-c", FLOOD, "10.99.0.1", SECOND, str(BATCH)]
        nodes.space.run(flood, check=True, timeout=LIMIT_S * slowness())
