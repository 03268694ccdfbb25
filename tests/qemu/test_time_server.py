# SPDX-License-Identifier: BSD-2-Clause
"""`ntp=`: the wall clock by a server of SNTP, made here of single frames, and by others that are none."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from lan import IPV4, MAC, Dhcp, Lan, ethernet, ip, ipv4, udp
from wire import Wire

import qemu

SINCE_1900 = 2208988800
WRONG = 1_600_000_000
HOUR = 3600
STATIC = "ip=10.9.0.7/24,10.9.0.1 ntp=10.9.0.1"


def answer(request: bytes, seconds: int) -> bytes:
    """A proper one: the time is so many seconds since 1970, and was 0.25 s less when the request came."""
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

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] != IPV4 or frame[23] != 17 or frame[36:38] != b"\0\x7b":
            return super().answers(frame)
        request = frame[42:90]
        port = int.from_bytes(frame[34:36], "big")
        self.requests.append(request)

        def packet(body: bytes, source: str = "10.9.0.1", source_port: int = 123) -> bytes:
            return ethernet(ipv4(udp(body, source_port, port), ip(source), ip(self.node), 17), MAC, IPV4)

        result = []
        if self.wrongs:
            bad = answer(request, WRONG)
            result = [packet(spoil(bad)) for spoil in WRONGS.values()]
            result += [packet(bad, source="10.9.0.2"), packet(bad, source_port=124)]
        if self.seconds is not None:
            result.append(packet(answer(request, self.seconds)))
        return result


def date(tacet: Run, busybox: Path, lan: TimeServer, icount: int | None) -> tuple[int, qemu.Result]:
    """What `date` says on the node, whose seconds are instructions where an answer is to be in time."""
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            *[busybox, "date", "-u", "+%s"],
            options=STATIC,
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
    assert "network: ntp= has brought no time within 3 s" in result.console, result.explain()
    assert 1 <= len(lan.requests) <= 3
    assert len({request[40:48] for request in lan.requests}) == len(lan.requests)


@pytest.mark.parametrize("value", ["", "10.9.0", "10.9.0.1:123", "pool"])
def test_a_mistake_in_the_option_stops_the_node(value: str, tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "true", options=f'"ntp={value}"')
    assert result.outcome == "stop" and "this is no address" in result.console, result.explain()
