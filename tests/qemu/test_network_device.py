# SPDX-License-Identifier: BSD-2-Clause
"""The cards that the node drives, frame by frame (tests/programs/frames.c takes orders from the wire): what a
peer sends arrives once, whole and in order; groups and links are followed; a CPU that computes is not
interrupted.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import APPS, expect_exit, program
from lan import ARP, IPV4, MAC, arp, ethernet, ip, ipv4, udp
from monitor import Client, Monitor
from wire import BROADCAST, FRAME_MAX, FRAME_MIN, Wire

import qemu
from qemu.version import qemu_binary, qemu_major
from tests.waiting import until

NODE, PEER, PORT = ip("10.0.0.2"), ip("10.0.0.1"), 5000
HEADERS = 14 + 20 + 8  # Ethernet's, IP's, UDP's

#: The card, the machine, QEMU, and how it interrupts.
CARDS = {
    "82540EM": ("e1000", ["-machine", "pc"], "line"),
    "82540EM_q35": ("e1000", ["-machine", "q35"], "line"),
    "82545EM": ("e1000-82545em", ["-machine", "pc"], "line"),
    "82574L": ("e1000e", ["-machine", "q35"], "MSI-X"),
    "82576": ("igb", ["-machine", "q35"], "MSI-X"),
}


def order(what: bytes, to: bytes = MAC) -> bytes:
    """A frame with an order, to the node's address whatever the card's is."""
    what = what.ljust(FRAME_MIN - HEADERS, b"\0")
    return ethernet(ipv4(udp(what, PORT, PORT), PEER, NODE, 17), to, IPV4)


def said(frame: bytes) -> bytes:
    """What a datagram of the node's to the peer says; b"" of other frames."""
    is_datagram = frame[12:14] == IPV4 and frame[23] == 17 and frame[26:34] == NODE + PEER
    return frame[HEADERS:] if is_datagram else b""


def answer_of(wire: Wire) -> bytes:
    return said(wire.expect(lambda frame: said(frame) != b""))


def ask(wire: Wire, what: bytes) -> bytes:
    """Send an order, and wait for its answer."""
    wire.send(order(what))
    return answer_of(wire)


def meet(wire: Wire) -> None:
    """The node asks for the peer's address, and then says that it is there."""
    wire.expect(lambda frame: frame[12:14] == ARP and frame[38:42] == PEER)
    wire.send(ethernet(arp(2, wire.address, PEER, MAC, NODE), MAC, ARP))
    assert answer_of(wire)[:1] == b"h"
    wire.send(order(b"e"))
    wire.expect(lambda frame: said(frame)[:1] == b"e")


def run_orders(
    script: Callable[[Wire], None], card: str = "82540EM", *words: str, **keywords: object
) -> qemu.Result:
    """Boot a node with one card, and play the script at the other end of its wire."""
    model, machine, _ = CARDS[card]
    if model == "igb" and qemu_major(qemu_binary("newest")) < 8:
        pytest.skip("QEMU 10 is not there (make qemu10)")

    def whole(wire: Wire) -> None:
        meet(wire)
        try:
            script(wire)
        finally:
            wire.send(order(b"q"))

    with Wire() as wire:
        wire.play(whole)
        options = [*machine, *wire.options(model), *keywords.pop("more_options", [])]  # type: ignore[misc]
        result = qemu.run_tacet(
            program("frames.musl"),
            words,
            options="ip=10.0.0.2/24",
            qemu_options=options,
            qemu="newest" if model == "igb" else None,
            memory="128M",
            time_limit=120,
            **keywords,  # type: ignore[arg-type]
        )
        wire.check()
    return expect_exit(result)


def counted(result: qemu.Result) -> dict[str, int]:
    """What /proc/net/dev says of the card, and how many interrupts of it the program saw."""
    names = ("received", "errors", "dropped")
    found = re.search(rb"^ *eth0: +\d+ +(\d+) +(\d+) +(\d+) ", result.stdout, re.MULTILINE)
    interrupts = re.search(rb"^interrupts (\d+)$", result.stdout, re.MULTILINE)
    assert found and interrupts, result.explain()
    return {**dict(zip(names, map(int, found.groups()))), "interrupts": int(interrupts[1])}


#: Frames in flight: no more than a ring has room for, as QEMU's 82540EM drops the others.
IN_FLIGHT = 100
LENGTHS = [FRAME_MIN, FRAME_MIN + 1, FRAME_MAX - 1, FRAME_MAX, *range(61, 1514, 9)]
#: Frames that the peer sends one at a time, so that the node waits for them, however fast the peer is.
ALONE = 200


def echo_many(wire: Wire) -> None:
    """Frames of every length, many at a time, come back as they went, in order."""
    chance = random.Random(1)
    orders = [b"e%06d" % n + chance.randbytes(length - HEADERS - 7) for n, length in enumerate(LENGTHS * 4)]
    assert {len(order(what)) for what in orders} == set(LENGTHS)
    for n in range(len(orders) + IN_FLIGHT):
        if n < len(orders):
            wire.send(order(orders[n]))
        if n >= IN_FLIGHT:
            frame = wire.expect(lambda frame: said(frame) != b"")
            assert frame[:12] == wire.address + MAC and said(frame) == orders[n - IN_FLIGHT]
    for _ in range(ALONE):
        ask(wire, b"e")


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("how", ["wait", "poll"])
def test_frames_of_every_length_come_and_go_once_whole_and_in_order(card: str, how: str) -> None:
    result = run_orders(echo_many, card, how)
    counts = counted(result)
    # The others: the peer's address, begin, end.
    assert counts["received"] == 4 * len(LENGTHS) + ALONE + 3, result.explain()
    assert counts["errors"] == counts["dropped"] == 0, result.explain()
    assert (counts["interrupts"] > 0) == (how == "wait"), result.explain()
    assert f"interrupts: {CARDS[card][2]}\r\n" in result.console, result.explain()


#: The node computes for a time, in which a busy host may not let this process send: then once more.
FLOODS_MAX = 5


def flood_masked(wire: Wire) -> None:
    """While the node computes it is flooded, and not interrupted; what the ring has room for is there."""
    for _ in range(FLOODS_MAX):
        assert ask(wire, b"m")[:6] == b"masked"
        for _ in range(200):
            wire.send(order(b"x"))
        answer = answer_of(wire)
        assert answer[:1] == b"m"
        assert answer[1] == 0, f"{answer[1]} interrupts while masked"
        if answer[2] >= 64:
            break
    assert answer[2] >= 64, f"only {answer[2]} frames in the ring"


@pytest.mark.parametrize("card", CARDS)
def test_a_masked_card_interrupts_nobody_however_it_is_flooded(card: str) -> None:
    run_orders(flood_masked, card)


def group_of(address: str) -> bytes:
    """The Ethernet address of an IP group."""
    return b"\x01\x00\x5e" + bytes([ip(address)[1] & 0x7F]) + ip(address)[2:]


def groups(wire: Wire) -> None:
    """Frames to a group arrive while it is joined, and not before and after. What they carry is to the node
    itself: only the card drops them."""
    group, other = "225.1.2.3", "224.0.0.251"

    def arrives(to: bytes) -> bool:
        """Whether an echo to that address comes before the next one to the card's own."""
        wire.send(order(b"e1", to))
        wire.send(order(b"e2"))
        first = answer_of(wire)
        if first[:2] == b"e1":
            answer_of(wire)
        return first[:2] == b"e1"

    assert arrives(BROADCAST)
    assert not arrives(bytes.fromhex("525400000099"))
    assert not arrives(group_of(group))
    ask(wire, b"j" + ip(group))
    assert arrives(group_of(group))
    assert not arrives(group_of(other))
    ask(wire, b"j" + ip(other))
    assert arrives(group_of(group)) and arrives(group_of(other))
    ask(wire, b"l" + ip(group))
    assert not arrives(group_of(group))
    assert arrives(group_of(other))
    for number in range(40):
        ask(wire, b"j" + ip(f"239.10.0.{number}"))
    assert arrives(group_of("239.10.0.39")), "more groups than there is room for"


@pytest.mark.parametrize("card", CARDS)
def test_groups_are_received_while_they_are_joined(card: str) -> None:
    run_orders(groups, card)


@pytest.mark.parametrize("card", CARDS)
def test_an_idle_cpu_hears_of_a_link_that_goes_down_and_up(card: str, tmp_path: Path) -> None:
    """The card's interrupt says it: no CPU polls."""
    is_down, is_up = threading.Event(), threading.Event()

    def pull(client: Client) -> None:
        client.human("set_link wire off")
        until(is_down.is_set, "the link is down")
        client.human("set_link wire on")

    seen = bytearray()

    def on_console(chunk: bytes) -> None:
        seen.extend(chunk)
        _, down, after = seen.partition(b"the link is down")
        if down:
            is_down.set()
        if b"the link is up" in after:
            is_up.set()

    with Monitor(tmp_path, pull) as monitor:

        def script(wire: Wire) -> None:
            ask(wire, b"e")
            monitor.go()
            until(is_up.is_set, "the link is up again")
            ask(wire, b"e")

        result = run_orders(script, card, more_options=monitor.options, on_console=on_console)
        monitor.check()
    assert re.search(r"the link is down\s.*the link is up, 1000 Mbit/s\s", result.console, re.S), (
        result.explain()
    )


def test_a_card_that_nobody_knows_is_named_and_others_are_used() -> None:
    options = ["-device", "rtl8139", "-device", "e1000,mac=52:54:00:00:00:02"]
    result = expect_exit(
        qemu.run_tacet(program("status.musl"), options="ip=off", qemu_options=options, memory="128M")
    )
    assert "PCI id 10ec:8139, is not supported" in result.console, result.explain()
    assert "82540EM at 00:03.0, 52:54:00:00:00:02" in result.console, result.explain()


def test_several_cards_are_found_in_their_places_behind_bridges_too() -> None:
    options = ["-machine", "q35", "-device", "pcie-root-port,id=near,slot=1", "-device", "e1000e,bus=near"]
    options += ["-device", "pcie-pci-bridge,id=bridge", "-device", "e1000,bus=bridge,addr=2"]
    options += ["-device", "pxb-pcie,id=host,bus_nr=64", "-device", "pcie-root-port,id=far,bus=host,slot=2"]
    options += ["-device", "e1000e,bus=far"]
    result = expect_exit(
        qemu.run_tacet(program("status.musl"), options="ip=off", qemu_options=options, memory="128M")
    )
    found = re.findall(r"network: (\w+) at (\S+),", result.console)
    assert sorted(model for model, _ in found) == ["82540EM", "82574L", "82574L"], result.explain()
    assert len({place for _, place in found}) == 3, result.explain()
    assert any(int(place[:2], 16) > 64 for _, place in found), "the card on the second host bridge"


def test_a_boot_with_a_card_costs_little() -> None:
    """No more than 0.6 million instructions more than one without, the walk over all buses included."""

    def boot_ticks(*options: str) -> int:
        result = expect_exit(
            qemu.run_tacet(
                APPS / "cost", options="ip=off", qemu_options=options, icount=0, memory="256M", time_limit=120
            )
        )
        found = re.search(rb"boot_to_main_ticks (\d+)", result.stdout)
        assert found, result.explain()
        return int(found[1])

    for card in ("e1000", "e1000e"):
        assert boot_ticks("-device", card) - boot_ticks("-nic", "none") <= 600_000


@pytest.mark.parametrize("card", ["82540EM", "82574L", "82576"])
def test_a_flood_interrupts_no_program_that_computes_between_its_pauses(card: str) -> None:
    """The whole policy, stack included: only a CPU that idles takes the card's interrupts."""
    model, machine, _ = CARDS[card]
    if model == "igb" and qemu_major(qemu_binary("newest")) < 8:
        pytest.skip("QEMU 10 is not there (make qemu10)")
    is_over = threading.Event()

    def flood(wire: Wire) -> None:
        wire.connected()
        frame = (BROADCAST + wire.address + b"\x88\xb5").ljust(FRAME_MIN, b"\0")
        while not is_over.is_set():
            try:
                wire.send(frame)
            except OSError:  # the machine has ended
                return
            time.sleep(0.0002)

    with Wire() as wire:
        wire.play(flood)
        result = qemu.run_tacet(
            program("network_alternate.musl"),
            options="ip=10.0.0.2/24",
            qemu_options=[*machine, *wire.options(model)],
            qemu="newest" if model == "igb" else None,
            memory="128M",
            time_limit=120,
        )
        is_over.set()
        wire.check()
    expect_exit(result)
