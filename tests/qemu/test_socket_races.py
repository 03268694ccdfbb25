# SPDX-License-Identifier: BSD-2-Clause
"""Threads that collide on one new socket of AF_INET, and packets of all sizes (socket_races.c): a program
that is not polite gets an answer that Linux could give, and the node lives on."""

from __future__ import annotations

import re
import struct

import pytest
from conftest import Run, expect_exit
from lan import IPV4, Lan
from wire import Wire

import qemu

ICMP, UDP = 1, 17  #: protocols
RACES = (
    *("datagrams", "datagram-connects", "binds", "datagram-binds"),
    *("listens", "connects", "refusals", "listener-ends"),
)
SIZES = ("sizes", "raw-sizes", "ping-sizes", "raw-fans")


def expect_kept(result: qemu.Result, more_than: int = 40) -> None:
    said = re.search(rb"promises: (\d+), broken: 0\n", expect_exit(result).stdout)
    assert said and int(said[1]) > more_than and result.stderr == b"", result.explain()


@pytest.mark.parametrize(
    ("rounds", "cpus"), [(40, 3), pytest.param(20_000, 3, marks=pytest.mark.long), (40, 1)]
)
@pytest.mark.parametrize("case", RACES)
def test_threads_that_collide_on_a_socket_get_answers(case: str, rounds: int, cpus: int, tacet: Run) -> None:
    """On one CPU, too, where turns are what makes them collide."""
    expect_kept(tacet("socket_races.musl", case, str(rounds), cpus=cpus, options="ranks=1 rotation=100us"))


@pytest.mark.parametrize("case", SIZES)
def test_packets_of_all_sizes_arrive_or_are_refused(case: str, tacet: Run) -> None:
    result = tacet("socket_races.musl", case, options="ranks=1 raw_sockets=on")
    expect_kept(result, more_than=20 if case == "raw-fans" else 40)


class Echo(Lan):
    """A peer that sends every packet of IP back as it came, fragments one by one; a ping as its answer."""

    def answers(self, frame: bytes) -> list[bytes]:
        if frame[12:14] != IPV4:
            return super().answers(frame)
        packet = bytearray(frame[14:])
        packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
        is_first = not int.from_bytes(packet[6:8], "big") & 0x1FFF
        if is_first and packet[9] == UDP:
            packet[20:22], packet[22:24] = packet[22:24], packet[20:22]
        if is_first and packet[9] == ICMP:
            total = int.from_bytes(packet[22:24], "big") + (packet[20] << 8)  # what type 0 has less
            packet[20:24] = struct.pack(">BBH", 0, packet[21], (total & 0xFFFF) + (total >> 16))
        return [frame[6:12] + frame[:6] + frame[12:14] + bytes(packet)]


def test_packets_of_all_sizes_cross_the_wire_and_come_back(tacet: Run) -> None:
    with Wire() as wire:
        wire.play(Echo(node="10.9.0.7").run)
        result = tacet(
            *("socket_races.musl", "wire-sizes"),
            options="ranks=1 raw_sockets=on ip=10.9.0.7/24",
            qemu_options=wire.options(),
        )
        wire.close()
    expect_kept(result)


def test_who_sends_to_many_sockets_keeps_no_other_rank_waiting(tacet: Run) -> None:
    """A datagram of 60,000 bytes for a hundred sockets is copied for one of them at a time, and a thread that
    waits for the network's lock has it in between: in guest time, two CPUs in turns of 1 µs. With one hold of
    the lock for all of them a round trip took 3 ms."""
    result = tacet(
        "multicast.musl", cpus=2, memory="512M", icount=0, turns_ns=1000, qemu="newest", time_limit=300
    )
    said = expect_exit(result).stdout.decode()
    sent, received, whole = map(int, re.search(r"sent (\d+), received (\d+) of (\d+)", said).groups())
    trips, longest_ns = map(int, re.search(r"round_trips (\d+), longest_ns (\d+)", said).groups())
    assert sent >= 5 and received == whole and trips > 500, said
    assert longest_ns < 1_000_000, said
