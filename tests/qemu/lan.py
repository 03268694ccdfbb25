# SPDX-License-Identifier: BSD-2-Clause
"""Neighbours on a node's network, made of single frames: hosts that answer ARP, DHCP servers that behave and
others that do not, pings. The standard ones are tried with real software elsewhere (test_pxe.py); here is
what no real software does.

    lan = Lan(Dhcp(address="10.9.0.7"))
    with Wire() as wire:
        wire.play(lan.run)          # until the machine leaves the wire
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wire import BROADCAST, Wire, WireError

MAC = bytes.fromhex("525400000001")
SERVER_MAC = bytes.fromhex("025400000001")
OTHER_MAC = bytes.fromhex("025400000099")
ARP, IPV4 = b"\x08\x06", b"\x08\x00"
DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK = 1, 2, 3, 4, 5, 6
MESSAGES = {1: "discover", 2: "offer", 3: "request", 4: "decline", 5: "ack", 6: "nak", 7: "release"}
MAGIC = bytes.fromhex("63825363")


def ip(text: str) -> bytes:
    return ipaddress.IPv4Address(text).packed


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(payload: bytes, to: bytes, kind: bytes, source: bytes = SERVER_MAC) -> bytes:
    return (to + source + kind + payload).ljust(60, b"\0")


def arp(operation: int, sender: bytes, sender_ip: bytes, target: bytes, target_ip: bytes) -> bytes:
    return struct.pack(">HHBBH", 1, 0x0800, 6, 4, operation) + sender + sender_ip + target + target_ip


def ipv4(payload: bytes, source: bytes, destination: bytes, protocol: int, identity: int = 1) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), identity, 0, 64, protocol, 0)
    head += source + destination
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def udp(payload: bytes, source_port: int, port: int) -> bytes:
    return struct.pack(">HHHH", source_port, port, 8 + len(payload), 0) + payload


def ping(number: int, data: bytes = b"x" * 32, identity: int = 7) -> bytes:
    body = struct.pack(">BBHHH", 8, 0, 0, identity, number) + data
    return body[:2] + struct.pack(">H", checksum(body)) + body[4:]


def option(number: int, value: bytes) -> bytes:
    return bytes([number, len(value)]) + value


@dataclass
class Message:
    """What a node has sent to DHCP servers."""

    kind: int
    transaction: bytes
    client: bytes
    address: bytes
    options: dict[int, bytes]


def dhcp_parse(frame: bytes) -> Message | None:
    if frame[12:14] != IPV4 or len(frame) < 14 + 20 + 8 + 240 or frame[23] != 17 or frame[36:38] != b"\0\x43":
        return None
    body = frame[42:]
    options: dict[int, bytes] = {}
    at = 240
    while at + 1 < len(body) and body[at] != 255:
        if body[at] == 0:
            at += 1
            continue
        options[body[at]] = body[at + 2 : at + 2 + body[at + 1]]
        at += 2 + body[at + 1]
    return Message(options.get(53, b"\0")[0], body[4:8], body[28:34], body[12:16], options)


@dataclass
class Dhcp:
    """A DHCP server. `hook` may change an answer's options, as bytes; None: no answer."""

    address: str = "10.9.0.7"
    server: str = "10.9.0.1"
    mac: bytes = SERVER_MAC
    lease_s: int = 0xFFFFFFFF
    router: str | None = "10.9.0.1"
    dns: Sequence[str] = ("10.9.0.53",)
    times: Sequence[str] = ()
    name: str = "node7"
    domain: str = "cluster"
    mask: str = "255.255.255.0"
    naks: int = 0
    offers_only: bool = False
    hook: Callable[[int, bytes], bytes | None] | None = None
    seen: list[str] = field(default_factory=list)

    def options(self, kind: int) -> bytes:
        result = option(53, bytes([kind])) + option(54, ip(self.server))
        if kind == NAK:
            return result
        result += option(51, struct.pack(">I", self.lease_s)) + option(1, ip(self.mask))
        if self.router:
            result += option(3, ip(self.router))
        if self.dns:
            result += option(6, b"".join(map(ip, self.dns)))
        if self.times:
            result += option(42, b"".join(map(ip, self.times)))
        return result + option(12, self.name.encode()) + option(15, self.domain.encode())

    def answer(self, message: Message) -> bytes | None:
        self.seen.append(MESSAGES.get(message.kind, "?"))
        chosen = message.options.get(54)
        if message.kind == DISCOVER:
            kind = OFFER
        elif message.kind == REQUEST and (chosen is None or chosen == ip(self.server)):
            if self.offers_only:
                return None
            kind = ACK
            if self.naks:
                self.naks -= 1
                kind = NAK
        else:
            return None
        options = self.options(kind) + b"\xff"
        if self.hook and (options := self.hook(kind, options)) is None:  # type: ignore[assignment]
            return None
        yours = ip("0.0.0.0") if kind == NAK else ip(self.address)
        head = struct.pack(">BBBB4sHH", 2, 1, 6, 0, message.transaction, 0, 0) + bytes(4) + yours + bytes(8)
        body = head + message.client.ljust(16, b"\0") + bytes(192) + MAGIC + options
        packet = ipv4(udp(body.ljust(300, b"\0"), 67, 68), ip(self.server), ip("255.255.255.255"), 17)
        return ethernet(packet, BROADCAST, IPV4, self.mac)


class Lan:
    """All neighbours: DHCP servers; addresses that others have; what is done once the node has an address."""

    def __init__(
        self,
        *servers: Dhcp,
        hosts: dict[str, bytes] | None = None,
        script: Callable[[Lan], None] | None = None,
        node: str = "10.9.0.7",
    ) -> None:
        self.servers = servers
        self.hosts = {"10.9.0.1": SERVER_MAC} if hosts is None else hosts
        self.script = script
        self.node = node
        self.wire: Wire
        self.frames: list[bytes] = []
        self.announced = False

    def run(self, wire: Wire) -> None:
        """Answer until the machine is gone. The script begins when the node announces its address."""
        self.wire = wire
        started = False
        wire.connected()
        try:
            while True:
                self.step(60.0)
                if self.announced and self.script and not started:
                    started = True
                    self.script(self)
                    self.end()
        except (WireError, OSError):
            pass

    def end(self) -> None:
        """Tell the program of tests/programs/network.c that it is over, until it is."""
        packet = ipv4(udp(b"end", 7777, 7777), ip("10.9.0.1"), ip(self.node), 17)
        while True:
            self.wire.send(ethernet(packet, MAC, IPV4))
            self.step(0.2)

    def step(self, seconds: float) -> bytes | None:
        """Receive a frame, if one comes, and answer it."""
        frame = self.wire.poll(seconds)
        if frame is None:
            return None
        self.frames.append(frame)
        for answer in self.answers(frame):
            self.wire.send(answer)
        return frame

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] == ARP and frame[20:22] == b"\0\1":
            sender, sender_ip, wanted = frame[22:28], frame[28:32], frame[38:42]
            if sender_ip == wanted == ip(self.node):
                self.announced = True
            mac = self.hosts.get(str(ipaddress.IPv4Address(wanted)))
            return [ethernet(arp(2, mac, wanted, sender, sender_ip), sender, ARP, mac)] if mac else []
        if message := dhcp_parse(frame):
            return [answer for server in self.servers if (answer := server.answer(message))]
        return []

    def ping(self, number: int, data: bytes = b"x" * 32, tries: int = 200) -> bool:
        """Whether the node answers a ping; those that a full ring has dropped are sent again."""
        packet = ipv4(ping(number, data), ip("10.9.0.1"), ip(self.node), 1)
        wanted = struct.pack(">HH", 7, number) + data
        for _ in range(tries):
            self.wire.send(ethernet(packet, MAC, IPV4))
            while frame := self.step(0.2):
                is_reply = frame[12:14] == IPV4 and frame[23] == 1 and frame[34] == 0
                if is_reply and frame[38 : 38 + len(wanted)] == wanted:
                    return True
        return False
