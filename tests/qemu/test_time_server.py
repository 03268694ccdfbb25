# SPDX-License-Identifier: BSD-2-Clause
"""The wall clock by a server of SNTP, made here of single frames, and by others that are none: that of
`ntp=`, or one that DHCP names."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import network
import nodes
import pytest
from conftest import Run, expect_exit
from lan import IPV4, MAC, Dhcp, Lan, ethernet, ip, ipv4, udp
from lan import option as dhcp_option
from wire import Wire

import qemu

SINCE_1900 = 2208988800
WRONG = 1_600_000_000
#: What the servers say that DHCP names; the machine's own clock is earlier.
TOLD = 2_000_000_000
HOUR = 3600
STATIC = "ip=10.9.0.7/24,10.9.0.1 ntp=10.9.0.1"


def answer(request: bytes, seconds: int) -> bytes:
    """A proper answer: the time is `seconds` since 1970, and was 0.25 s less when the request came."""
    came, sent = ((seconds + SINCE_1900) % 2**32 << 32) - 2**30, (seconds + SINCE_1900) % 2**32 << 32
    return struct.pack(">BBBbII4s", 0x24, 2, 6, -20, 0, 0, b"test") + struct.pack(
        ">Q8sQQ", sent, request[40:48], came, sent
    )


def changed(at: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda good: good[:at] + value + good[at + len(value) :]


#: What makes an answer wrong.
WRONGS = {
    "truncated": lambda good: good[:47],
    "empty": lambda good: b"",
    "a client's": changed(0, b"\x23"),
    "broadcast": changed(0, b"\x25"),
    "of version 3": changed(0, b"\x1c"),
    "of a clock never set": changed(0, b"\xe4"),
    "a kiss of death": changed(1, b"\0"),
    "of stratum 16": changed(1, b"\x10"),
    "another's": changed(24, bytes(8)),
    "late by a bit": lambda good: good[:31] + bytes([good[31] ^ 1]) + good[32:],
    "without a time": changed(40, bytes(8)),
    "sent before the request came": changed(32, b"\xff" * 8),
}


class TimeServer(Lan):
    """A neighbour with the time, or the wrong ones before it."""

    def __init__(self, *servers: Dhcp, seconds: int | None, wrongs: bool = False) -> None:
        super().__init__(*servers)
        self.seconds = seconds
        self.wrongs = wrongs
        self.requests: list[bytes] = []
        self.asked: set[str] = set()

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] != IPV4 or frame[23] != 17 or frame[36:38] != b"\0\x7b":
            return super().answers(frame)
        request, asked = frame[42:90], socket.inet_ntoa(frame[30:34])
        port = int.from_bytes(frame[34:36], "big")
        self.requests.append(request)
        self.asked.add(asked)

        def packet(body: bytes, source: str = asked, source_port: int = 123) -> bytes:
            return ethernet(ipv4(udp(body, source_port, port), ip(source), ip(self.node), 17), MAC, IPV4)

        result = []
        if self.wrongs:
            bad = answer(request, WRONG)
            result = [packet(spoil(bad)) for spoil in WRONGS.values()]
            result += [packet(bad, source="10.9.0.2"), packet(bad, source_port=124)]
        if self.seconds is not None:
            result.append(packet(answer(request, self.seconds)))
        return result


def date(
    tacet: Run, busybox: Path, lan: TimeServer, icount: int | None, options: str = STATIC
) -> tuple[int, qemu.Result]:
    """What `date` says on the node, whose seconds are instructions where an answer is to be in time."""
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            *[busybox, "date", "-u", "+%s"],
            options=options,
            qemu_options=wire.options(),
            icount=icount,
            time_limit=120,
        )
        wire.close()
        wire.check()
    return int(expect_exit(result).stdout), result


@pytest.mark.parametrize("seconds", [2_000_000_000, 2_300_000_000], ids=["2033", "2042"])
def test_a_servers_time_is_the_nodes(seconds: int, tacet: Run, busybox: Path) -> None:
    lan = TimeServer(seconds=seconds)
    said, result = date(tacet, busybox, lan, 1)
    assert seconds - 1 <= said < seconds + HOUR, result.explain()
    assert "network: ntp= has moved the clock by " in result.console, result.explain()
    assert 1 <= len(lan.requests) <= 3
    assert all(request[:40] == b"\x23" + bytes(39) for request in lan.requests)


def test_wrong_answers_before_the_right_one_are_ignored(tacet: Run, busybox: Path) -> None:
    lan = TimeServer(seconds=2_000_000_000, wrongs=True)
    said, result = date(tacet, busybox, lan, 1)
    assert 2_000_000_000 - 1 <= said < 2_000_000_000 + HOUR, result.explain()


@pytest.mark.parametrize("wrongs", [False, True], ids=["silence", "nonsense"])
def test_without_an_answer_the_clock_stays_as_it_is(wrongs: bool, tacet: Run, busybox: Path) -> None:
    lan = TimeServer(seconds=None, wrongs=wrongs)
    said, result = date(tacet, busybox, lan, None)
    assert abs(said - time.time()) < HOUR, result.explain()
    assert "network: ntp= has sent no valid time within 3 s" in result.console, result.explain()
    assert 1 <= len(lan.requests) <= 3
    assert len({request[40:48] for request in lan.requests}) == len(lan.requests)


@pytest.mark.parametrize(
    ("option", "asked"),
    [("", "10.9.0.1"), ("ntp=10.9.0.2", "10.9.0.2"), ("ntp=off", None)],
    ids=["none", "another", "off"],
)
def test_the_first_time_server_of_dhcp_is_asked_unless_the_option_says_otherwise(
    option: str, asked: str | None, tacet: Run, busybox: Path
) -> None:
    lan = TimeServer(Dhcp(times=("10.9.0.1", "10.9.0.3")), seconds=TOLD)
    lan.hosts["10.9.0.2"] = lan.hosts["10.9.0.1"]
    said, result = date(tacet, busybox, lan, 1, options=option)
    assert lan.asked == ({asked} if asked else set()), result.explain()
    if asked:
        source = "ntp=" if option else "DHCP's time server"
        assert f"network: {source} has moved the clock by " in result.console, result.explain()
        assert TOLD - 1 <= said < TOLD + HOUR, result.explain()
    else:
        assert said < TOLD - HOUR and "moved the clock" not in result.console, result.explain()


@pytest.mark.parametrize("times", [b"", b"\x0a\x09\x00", b"\0\0\0\0"], ids=["empty", "cut", "no address"])
def test_a_time_server_of_dhcp_that_is_none_is_not_asked(times: bytes, tacet: Run, busybox: Path) -> None:
    def named(kind: int, options: bytes) -> bytes:
        return options[:-1] + dhcp_option(42, times) + b"\xff"

    lan = TimeServer(Dhcp(hook=named), seconds=TOLD)
    said, result = date(tacet, busybox, lan, 1, options="")
    assert not lan.requests and said < TOLD - HOUR, result.explain()


#: A server of SNTP for a namespace: answers all requests with the same seconds since 1970.
SERVER = """
import socket, sys
sys.path[:0] = sys.argv[2:]
from test_time_server import answer
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("", 123))
    print("serves", file=sys.stderr, flush=True)
    while True:
        request, node = server.recvfrom(100)
        server.sendto(answer(request, int(sys.argv[1])), node)
"""


def test_dnsmasq_names_the_server_that_sets_the_clock(tacet: Run, busybox: Path) -> None:
    with nodes.namespace() as space:
        words = [sys.executable, "-c", SERVER, str(TOLD), *sys.path]
        named = f"--dhcp-option=option:ntp-server,{network.ADDRESS.partition('/')[0]}"
        dhcp = [*network.addresses_of(network.ADDRESS), named]
        with space.dnsmasq(*dhcp), space.server(words) as server:
            server.wait("serves")
            card = qemu.Network("bridge", "e1000", nodes.MAC, enter=space.enter)
            result = expect_exit(tacet(busybox, "date", "-u", "+%s", network=card, icount=1, time_limit=120))
    assert TOLD - 1 <= int(result.stdout) < TOLD + HOUR, result.explain()
    assert "network: DHCP's time server has moved the clock by " in result.console, result.explain()


@pytest.mark.parametrize("value", ["", "10.9.0", "10.9.0.1:123", "pool"])
def test_a_mistake_in_the_option_stops_the_node(value: str, tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "true", options=f'"ntp={value}"')
    assert result.outcome == "stop" and "this is not an address" in result.console, result.explain()
