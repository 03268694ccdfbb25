# SPDX-License-Identifier: BSD-2-Clause
"""TCP and UDP of programs: over loopback, and to a peer on the wire that behaves as no real one does. Peer is
TCP made of single segments: its script decides what is acknowledged, and when."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from conftest import Run, expect_exit
from lan import IPV4, MAC, Lan, checksum, ethernet, ip, ipv4
from test_signals import expect_kept
from wire import Wire, WireError

import qemu

STATIC = "ranks=1 ip=10.9.0.7/24,10.9.0.1"
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
#: Kinds of options of TCP, and one that says how large the peer's segments may be.
NO_OPTION, SEGMENT_MAX, WINDOW_SCALE = b"\1", 2, 3
SEGMENTS_OF_1460 = struct.pack(">BBH", SEGMENT_MAX, 4, 1460)
#: In the first byte of IP's fragment field.
DO_NOT_FRAGMENT = 0x40
ECONNRESET, ETIMEDOUT, ECONNREFUSED = 104, 110, 111


# ---- Loopback ----


@pytest.mark.parametrize("cpus", [1, 2])
def test_sockets_are_ready_for_what_they_are_and_answer_linux_s_errors(cpus: int, tacet: Run) -> None:
    expect_kept(tacet("inet.musl", "edges", cpus=cpus, options="ranks=1"), 80)


@pytest.mark.parametrize("cpus", [1, 2])
def test_every_byte_of_a_stream_arrives_once_and_in_order(cpus: int, tacet: Run) -> None:
    expect_kept(tacet("inet.musl", "transfer", "2000000", cpus=cpus, options="ranks=1"), 10)


def test_a_thousand_connections_leave_nothing(tacet: Run) -> None:
    expect_kept(tacet("inet.musl", "many", "1000", options="ranks=1", icount=5), 8000)


def test_an_idle_connection_costs_no_interrupt_for_an_hour_and_works_then(tacet: Run) -> None:
    expect_kept(tacet("inet.musl", "idle", "3600", options="ranks=1", icount=8), 15)


def test_a_peer_that_does_not_read_stops_the_sender(tacet: Run) -> None:
    expect_kept(tacet("inet.musl", "unread", options="ranks=1"), 10)


@pytest.mark.parametrize(("cpus", "ranks"), [(2, 2), (4, 4)])
def test_ranks_talk_by_streams_and_by_a_group(cpus: int, ranks: int, tacet: Run) -> None:
    result = tacet("inet.musl", "ranks", "200000", cpus=cpus, memory="256M", options=f"ranks={ranks}")
    expect_exit(result)
    assert result.stdout.count(b", broken: 0\n") == ranks, result.explain()


# ---- A peer on the wire ----


@dataclass
class Segment:
    """What the node has sent."""

    port: int
    sequence: int
    acknowledged: int
    flags: int
    window: int
    data: bytes
    options: bytes
    packet: bytes  # with its IP header


class Peer(Lan):
    """The TCP of 10.9.0.1, port 9000, for one connection at a time, which its script serves."""

    def __init__(self, serve: Callable[[Peer], None]) -> None:
        super().__init__()
        self.serve = serve
        self.port = 0
        self.sent = 1_000_000  # its own next sequence number
        self.received = 0  # the node's next one

    def run(self, wire: Wire) -> None:
        self.wire = wire
        wire.connected()
        self.serve(self)
        try:
            while True:
                self.step(60.0)
        except (WireError, OSError):
            pass

    def segment(self, seconds: float = 60.0) -> Segment:
        """The next one that the node sends."""
        while True:
            frame = self.step(seconds)
            assert frame is not None, "the node has sent nothing"
            if frame[12:14] == IPV4 and frame[23] == 6:
                break
        packet = frame[14 : 14 + struct.unpack(">H", frame[16:18])[0]]
        port, _, sequence, acknowledged, offset, flags, window = struct.unpack(">HHIIBBH", packet[20:36])
        end = 20 + (offset >> 4) * 4
        return Segment(
            port, sequence, acknowledged, flags, window, packet[end:], packet[40:end], bytes(packet)
        )

    def send(self, flags: int, window: int = 65535, data: bytes = b"", options: bytes = b"") -> None:
        offset = 0x50 + (len(options) // 4 << 4)
        head = struct.pack(
            ">HHIIBBHHH", 9000, self.port, self.sent, self.received, offset, flags, window, 0, 0
        )
        head += options
        own, node = ip("10.9.0.1"), ip(self.node)
        check = checksum(own + node + struct.pack(">HH", 6, len(head) + len(data)) + head + data)
        head = head[:16] + struct.pack(">H", check) + head[18:]
        self.wire.send(ethernet(ipv4(head + data, own, node, 6), MAC, IPV4))

    def accept(self, window: int = 65535, options: bytes = b"") -> Segment:
        """The node's request, which is granted."""
        request = self.segment()
        while request.flags != SYN:
            request = self.segment()
        self.port, self.received = request.port, request.sequence + 1
        self.send(SYN | ACK, window, options=options)
        self.sent += 1
        return request

    def data(self) -> Segment:
        """The next segment with bytes that are new or old."""
        while not (segment := self.segment()).data:
            pass
        return segment

    def acknowledge(self, end: int, window: int = 65535) -> None:
        """All bytes up to that number, or a little further."""
        while self.received < end:
            segment = self.data()
            if segment.sequence == self.received:
                self.received += len(segment.data)
            self.send(ACK, window)

    def in_flight_max(self, enough: int) -> int:
        """How far the node goes on without an acknowledgement, until it begins again or reaches `enough`."""
        end = self.received
        while end - self.received < enough:
            segment = self.data()
            if segment.sequence + len(segment.data) <= end:
                break
            end = segment.sequence + len(segment.data)
        return end - self.received

    def finish(self, count: int) -> None:
        """Acknowledge all bytes up to the node's end, and end as well."""
        end = self.received + count
        while True:
            segment = self.segment()
            if segment.sequence <= self.received:  # what it has already is not counted again
                self.received = max(self.received, segment.sequence + len(segment.data))
                if segment.flags & FIN and self.received == end:
                    break
            self.send(ACK)
        self.received += 1
        self.send(FIN | ACK)
        self.sent += 1


def talk(tacet: Run, peer: Peer, *words: str) -> qemu.Result:
    with Wire() as wire:
        wire.play(peer.run)
        result = tacet(
            "inet.musl",
            *("client", "10.9.0.1", "9000", *words),
            options=STATIC,
            qemu_options=wire.options("e1000"),
            time_limit=120,
        )
        wire.close()
        wire.check()
    return expect_exit(result)


def test_a_peer_that_acknowledges_everything_gets_all(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        peer.finish(20000)

    assert b"sent 20000 got 0 errno 0\n" in talk(tacet, Peer(serve), "20000").stdout


def test_a_lost_segment_is_sent_again(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        first = peer.data()
        again = peer.data()
        assert (first.sequence, first.data) == (again.sequence, again.data)
        peer.finish(100)

    assert b"sent 100 got 0 errno 0\n" in talk(tacet, Peer(serve), "100").stdout


def test_a_closed_window_is_probed_and_used_when_it_opens(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept(window=0)
        probes = [peer.data() for _ in range(3)]
        for probe in probes:
            assert len(probe.data) == 1 and probe.sequence == peer.received
            peer.send(ACK, window=0)
        peer.finish(5000)

    assert b"sent 5000 got 0 errno 0\n" in talk(tacet, Peer(serve), "5000").stdout


@pytest.mark.parametrize("scale", [None, 4])
def test_a_window_is_as_large_as_both_ends_scale_it(scale: int | None, tacet: Run) -> None:
    """Without the option of the peer's the node's window is at most 64 KiB, and so is what it sends."""
    whole, begin = 1_200_000, 400_000

    def serve(peer: Peer) -> None:
        offer = NO_OPTION + bytes([WINDOW_SCALE, 3, scale]) if scale is not None else b""
        request = peer.accept(options=SEGMENTS_OF_1460 + offer)
        assert bytes([WINDOW_SCALE, 3]) in request.options
        start = peer.received
        peer.acknowledge(start + begin, window=65535 if scale is None else 16384)
        sent = peer.in_flight_max(100_000)
        assert sent <= 65535 if scale is None else 65535 < sent <= 16384 << scale, sent
        peer.finish(start + whole - peer.received)

    assert f"sent {whole} got 0 errno 0\n".encode() in talk(tacet, Peer(serve), str(whole)).stdout


def test_segments_are_as_small_as_the_peer_asks_and_routers_may_cut_them(tacet: Run) -> None:
    """A router that cannot cut them, and says so, changes nothing: none forbids it to."""

    def serve(peer: Peer) -> None:
        peer.accept(options=struct.pack(">BBH", SEGMENT_MAX, 4, 500))
        first = peer.data()
        too_large = struct.pack(">BBHHH", 3, 4, 0, 0, 296) + first.packet[:28]
        too_large = too_large[:2] + struct.pack(">H", checksum(too_large)) + too_large[4:]
        peer.wire.send(ethernet(ipv4(too_large, ip("10.9.0.1"), ip(peer.node), 1), MAC, IPV4))
        while peer.received < first.sequence + 4000:
            segment = peer.data()
            assert len(segment.data) <= 500 and not segment.packet[6] & DO_NOT_FRAGMENT
            if segment.sequence == peer.received:
                peer.received += len(segment.data)
            peer.send(ACK)
        peer.finish(first.sequence + 5000 - peer.received)

    assert b"sent 5000 got 0 errno 0\n" in talk(tacet, Peer(serve), "5000").stdout


def test_a_reset_ends_the_connection_with_its_error(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        segment = peer.data()
        peer.received += len(segment.data)
        peer.send(RST | ACK)

    result = talk(tacet, Peer(serve), "100")
    assert f"sent 100 got 0 errno {ECONNRESET}\n".encode() in result.stdout, result.explain()


def test_a_reset_with_a_guessed_number_is_ignored(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        peer.data()
        peer.sent += 1000
        peer.send(RST | ACK)
        peer.sent -= 1000
        peer.finish(100)

    assert b"sent 100 got 0 errno 0\n" in talk(tacet, Peer(serve), "100").stdout


def test_a_peer_that_refuses_is_an_error_at_once(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        request = peer.segment()
        peer.port, peer.received = request.port, request.sequence + 1
        peer.sent = 0
        peer.send(RST | ACK)

    assert f"sent 0 got 0 errno {ECONNREFUSED}\n".encode() in talk(tacet, Peer(serve), "100").stdout


def test_keepalive_finds_a_peer_that_is_gone(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        while True:  # the handshake's last segment, then probes: nothing is answered
            segment = peer.segment()
            if segment.flags & RST:
                break

    result = talk(tacet, Peer(serve), "0", "keepalive")
    assert f"sent 0 got 0 errno {ETIMEDOUT}\n".encode() in result.stdout, result.explain()


def test_a_peer_that_does_not_acknowledge_in_time_is_given_up(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()

    result = talk(tacet, Peer(serve), "100", "user_timeout", "700")
    assert f"sent 100 got 0 errno {ETIMEDOUT}\n".encode() in result.stdout, result.explain()


def test_a_request_is_repeated_as_often_as_the_program_says(tacet: Run) -> None:
    requests = []

    def serve(peer: Peer) -> None:
        with contextlib.suppress(WireError):
            while True:
                requests.append(peer.segment())

    result = talk(tacet, Peer(serve), "100", "syn_count", "1")
    assert f"sent 0 got 0 errno {ETIMEDOUT}\n".encode() in result.stdout, result.explain()
    assert [request.flags for request in requests] == [SYN, SYN]


def test_bytes_out_of_order_and_twice_are_put_right(tacet: Run) -> None:
    def serve(peer: Peer) -> None:
        peer.accept()
        start = peer.sent
        for at in (3000, 1000, 3000, 0, 2000, 1000):
            peer.sent = start + at
            peer.send(ACK | PSH, data=bytes(1000))
        peer.sent = start + 4000
        peer.finish(10)

    assert b"sent 10 got 4000 errno 0\n" in talk(tacet, Peer(serve), "10").stdout
