# SPDX-License-Identifier: BSD-2-Clause
"""A segment that a peer misses is sent again when the peer's selective acknowledgement says so, though it
says it only once, as Linux does of many segments that it takes in one go; the node does not wait for its
timer, after which it would begin again with one segment. The peer is made of single frames."""

from __future__ import annotations

import struct
import time

from conftest import Run
from lan import IPV4, MAC, Lan, checksum, ethernet, ip, ipv4
from wire import Wire

NODE, PEER, PORT = "10.9.0.7", "10.9.0.1", 7000
FIN, SYN, RST, ACK = 1, 2, 4, 16
#: Segments that are acknowledged one by one before the loss, that come after the lost one, and of the first
#: window after its repair: more than a node sends that begins again.
GROWTH, BEYOND, BURST = 40, 20, 5
#: How late the first acknowledgement is: the node's timer waits for some times as long from then on.
FIRST_S = 2.0
SACK_PERMITTED = b"\x02\x04\x05\xb4\x01\x01\x04\x02"


class Peer(Lan):
    """Takes a stream, misses one segment of it, and counts what comes once that has come again."""

    def __init__(self) -> None:
        super().__init__(node=NODE)
        self.next = 0  #: the first byte that has not come in order
        self.came = 0  #: segments in order
        self.lost: int | None = None  #: the missed one
        self.end = 0  #: of what has come beyond it
        self.said = False
        self.burst: int | None = None  #: segments since the repair
        self.repeated = False

    def segment(self, port: int, flags: int, options: bytes = b"", sequence: int = 101) -> bytes:
        words = 5 + len(options) // 4
        header = struct.pack(">HHIIBBHHH", PORT, port, sequence, self.next, words << 4, flags, 65535, 0, 0)
        header += options
        pseudo = ip(PEER) + ip(NODE) + struct.pack(">HH", 6, len(header))
        header = header[:16] + struct.pack(">H", checksum(pseudo + header)) + header[18:]
        return ethernet(ipv4(header, ip(PEER), ip(NODE), 6), MAC, IPV4)

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] != IPV4 or frame[23] != 6 or frame[36:38] != struct.pack(">H", PORT):
            return super().answers(frame)
        port, sequence = struct.unpack_from(">H2xI", frame, 34)
        length = struct.unpack_from(">H", frame, 16)[0] - 20 - (frame[46] >> 4) * 4
        if frame[47] & SYN:
            self.next = sequence + 1
            return [self.segment(port, SYN | ACK, SACK_PERMITTED, 100)]
        if not length:
            return []
        if self.came < GROWTH:
            return self.grow(port, sequence, length)
        if self.burst is not None:
            return self.count(port, sequence, length)
        return self.miss(port, sequence, length)

    def grow(self, port: int, sequence: int, length: int) -> list[bytes]:
        if sequence != self.next:
            return []  # repeated before the first acknowledgement came
        if not self.came:
            time.sleep(FIRST_S)
        self.came += 1
        self.next += length
        return [self.segment(port, ACK)]

    def miss(self, port: int, sequence: int, length: int) -> list[bytes]:
        if self.lost is None:
            self.lost, self.end = self.next, self.next + length
            return []
        if sequence == self.lost:
            self.next, self.burst = self.end, 0
            return [self.segment(port, ACK)]
        self.end = sequence + length
        if self.said or self.end - self.lost < BEYOND * length:
            return []
        self.said = True
        blocks = struct.pack(">BBBBII", 1, 1, 5, 10, self.lost + length, self.end)
        return [self.segment(port, ACK, blocks)]

    def count(self, port: int, sequence: int, length: int) -> list[bytes]:
        assert self.burst is not None
        if self.repeated or self.burst == BURST:
            return []
        self.repeated |= sequence < self.end
        self.burst += not self.repeated
        self.end = max(self.end, sequence + length)
        return [self.segment(port, RST)] if self.repeated or self.burst == BURST else []


def test_one_selective_acknowledgement_repairs_a_loss_without_the_timer(tacet: Run) -> None:
    peer = Peer()
    with Wire() as wire:
        wire.play(peer.run)
        result = tacet(
            *("transfer.musl", "connect", PEER, str(PORT), "1000"),
            options=f"ip={NODE}/24",
            qemu_options=wire.options(),
            time_limit=120,
        )
        wire.close()
        wire.check()
    assert peer.said and not peer.repeated, result.explain()
    assert peer.burst == BURST, (peer.burst, result.explain())
