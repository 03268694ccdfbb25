# SPDX-License-Identifier: BSD-2-Clause
"""The cards that the node drives, frame by frame and without a stack (selftest=network): what a peer on the
wire sends arrives once, whole and in order; groups and links are followed; a masked card interrupts nobody.
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
from monitor import Client, Monitor
from wire import BROADCAST, FRAME_MAX, FRAME_MIN, Wire

import qemu
from qemu.version import qemu_binary, qemu_major

MAC = bytes.fromhex("525400000001")
TYPE = b"\x88\xb5"

#: The card, the machine, QEMU, and how it interrupts.
CARDS = {
    "82540EM": ("e1000", ["-machine", "pc"], "line"),
    "82540EM_q35": ("e1000", ["-machine", "q35"], "line"),
    "82545EM": ("e1000-82545em", ["-machine", "pc"], "line"),
    "82574L": ("e1000e", ["-machine", "q35"], "MSI-X"),
    "82576": ("igb", ["-machine", "q35"], "MSI-X"),
}


def order(what: bytes, to: bytes = MAC, source: bytes = Wire().address) -> bytes:
    """A frame of the trial."""
    return (to + source + TYPE + what).ljust(FRAME_MIN, b"\0")


def is_answer(frame: bytes) -> bool:
    return frame[12:14] == TYPE and frame[14:15] not in b"hu"


def ask(wire: Wire, what: bytes) -> bytes:
    """Send an order, and wait for its answer."""
    wire.send(order(what))
    return wire.expect(is_answer)


def run_trial(
    script: Callable[[Wire], None], card: str = "82540EM", trial: str = "network", **keywords: object
) -> qemu.Result:
    """Boot the trial with one card, and play the script at the other end of its wire."""
    model, machine, _ = CARDS[card]
    if model == "igb" and qemu_major(qemu_binary("newest")) < 8:
        pytest.skip("QEMU 10 is not there (make qemu10)")

    def whole(wire: Wire) -> None:
        wire.expect(lambda frame: frame[12:15] == TYPE + b"h")
        try:
            script(wire)
        finally:
            wire.send(order(b"q"))

    with Wire() as wire:
        wire.play(whole)
        options = [*machine, *wire.options(model), *keywords.pop("more_options", [])]  # type: ignore[misc]
        result = qemu.run_tacet(
            program("status.musl"),
            options=f"selftest={trial}",
            qemu_options=options,
            qemu="newest" if model == "igb" else None,
            memory="128M",
            time_limit=120,
            **keywords,  # type: ignore[arg-type]
        )
        wire.check()
    return expect_exit(result)


def counted(result: qemu.Result) -> dict[str, int]:
    """What the node has counted."""
    found = re.search(r"selftest: \S+ \S+ (received .*)", result.console)
    assert found, result.explain()
    words = found[1].split()
    counts = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    interrupts = re.search(r"selftest: interrupts (\d+), by (\w+)", result.console)
    assert interrupts, result.explain()
    return {**counts, "interrupts": int(interrupts[1]), "polled": interrupts[2] == "poll"}


#: Frames in flight: no more than a ring has room for, as QEMU's 82540EM drops the others.
IN_FLIGHT = 100
LENGTHS = [FRAME_MIN, FRAME_MIN + 1, FRAME_MAX - 1, FRAME_MAX, *range(61, 1514, 9)]


def echo_many(wire: Wire) -> None:
    """Frames of every length, many at a time, come back as they went, in order."""
    chance = random.Random(1)
    frames = [order(b"e%06d" % n + chance.randbytes(length - 21)) for n, length in enumerate(LENGTHS * 4)]
    assert {len(frame) for frame in frames} == set(LENGTHS)
    for n in range(len(frames) + IN_FLIGHT):
        if n < len(frames):
            wire.send(frames[n])
        if n >= IN_FLIGHT:
            assert wire.expect(is_answer) == wire.address + MAC + frames[n - IN_FLIGHT][12:]


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("trial", ["network", "network-polled"])
def test_frames_of_every_length_come_and_go_once_whole_and_in_order(card: str, trial: str) -> None:
    result = run_trial(echo_many, card, trial)
    counts = counted(result)
    assert counts["received"] == counts["sent"] == 4 * len(LENGTHS) + 1, result.explain()
    assert counts["errors"] == counts["missed"] == 0, result.explain()
    assert counts["polled"] == (trial == "network-polled"), result.explain()
    assert (counts["interrupts"] > 0) == (trial == "network"), result.explain()
    assert f"interrupts: {CARDS[card][2]}\r\n" in result.console, result.explain()


#: The card is masked for a time, in which a busy host may not let this process send: then once more.
FLOODS_MAX = 5


def flood_masked(wire: Wire) -> None:
    """While the card is masked it is flooded, and interrupts nobody; what the ring has room for is there."""
    for _ in range(FLOODS_MAX):
        wire.send(order(b"m"))
        assert wire.expect(is_answer)[14:20] == b"masked"
        for _ in range(200):
            wire.send(order(b"x"))
        answer = wire.expect(is_answer)
        assert answer[14:15] == b"m"
        assert answer[15] == 0, f"{answer[15]} interrupts while masked"
        if answer[16] >= 64:
            break
    assert answer[16] >= 64, f"only {answer[16]} frames in the ring"


@pytest.mark.parametrize("card", CARDS)
def test_a_masked_card_interrupts_nobody_however_it_is_flooded(card: str) -> None:
    run_trial(flood_masked, card)


def groups(wire: Wire) -> None:
    """Frames to a group arrive while it is joined, and not before and after."""
    group, other = bytes.fromhex("01005e010203"), bytes.fromhex("3333000000fb")

    def arrives(to: bytes) -> bool:
        """Whether an echo to that address comes before the next one to the card's own."""
        wire.send(order(b"e1", to))
        wire.send(order(b"e2"))
        first = wire.expect(is_answer)
        if first[14:16] == b"e1":
            wire.expect(is_answer)
        return first[14:16] == b"e1"

    assert arrives(BROADCAST)
    assert not arrives(bytes.fromhex("525400000099"))
    assert not arrives(group)
    ask(wire, b"j" + group)
    assert arrives(group)
    assert not arrives(other)
    ask(wire, b"j" + other)
    assert arrives(group) and arrives(other)
    ask(wire, b"l" + group)
    assert not arrives(group)
    assert arrives(other)
    for number in range(40):
        ask(wire, b"j" + bytes.fromhex("01005e0a00") + bytes([number]))
    assert arrives(bytes.fromhex("01005e0a0027")), "more groups than there is room for"


@pytest.mark.parametrize("card", CARDS)
def test_groups_are_received_while_they_are_joined(card: str) -> None:
    run_trial(groups, card)


@pytest.mark.parametrize("card", CARDS)
def test_an_idle_cpu_hears_of_a_link_that_goes_down_and_up(card: str, tmp_path: Path) -> None:
    """The card's interrupt says it: nobody polls."""
    is_down = threading.Event()

    def pull(client: Client) -> None:
        client.human("set_link wire off")
        assert is_down.wait(60)
        client.human("set_link wire on")

    seen = bytearray()

    def on_console(chunk: bytes) -> None:
        seen.extend(chunk)
        if b"link down" in seen:
            is_down.set()

    with Monitor(tmp_path, pull) as monitor:

        def script(wire: Wire) -> None:
            ask(wire, b"e")
            monitor.go()
            wire.expect(lambda frame: frame[12:15] == TYPE + b"u")
            ask(wire, b"e")

        result = run_trial(script, card, more_options=monitor.options, on_console=on_console)
        monitor.check()
    assert re.search(r"link down\s.*link up\s", result.console, re.S), result.explain()
    assert counted(result)["link_changes"] >= 2, result.explain()
    assert counted(result)["mbit"] == 1000, result.explain()


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
    assert any(int(place[:2], 16) > 64 for _, place in found), "the one behind the second host bridge"


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
        frame = (BROADCAST + wire.address + TYPE).ljust(FRAME_MIN, b"\0")
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
