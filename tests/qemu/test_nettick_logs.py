# SPDX-License-Identifier: BSD-2-Clause
"""A node's flight log, held at a beat and sent in pages, by frames (docs/nettick.md, "A page"): the test is
the conductor at the other end of the card's wire, and the program computes meanwhile.

Nothing here depends on how fast this machine is: each beat is answered before the next one is sent.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from conftest import ROOT, Run
from test_nettick import CARDS, MAC
from test_nettick_commands import EINVAL, Commander, conduct
from test_nettick_ftq import PLUGIN_QEMU
from witness import TRAP_STUB_BYTES

import qemu
from lab.formats import klog
from qemu.symbols import Symbols
from qemu.version import qemu_binary, qemu_major
from tests.beat_frames import (
    ETHERTYPE,
    HOLD,
    PAGE,
    PAGE_BYTES,
    PAGE_REQUEST,
    PAYLOAD_AT,
    SEND_PAGES,
    SOURCE,
    Page,
    page_of,
)
from tests.making import made

EBUSY = 16
DEVICE_VECTOR = 243
#: A log has eight pages after FILLING beats, each of which is two events at least; they are sent TIMES times.
FILLING, TIMES = 200, 60
PAGES_MIN, PAGES_COST_MAX = 10_000, 130_000
ADDRESS = bytes.fromhex(MAC.replace(":", ""))
#: Of one command, at most.
PAGES_MAX = 8


def seconds(count: int) -> bytes:
    return count.to_bytes(4, "big")


def request(commander: Commander, offset: int, count: int, address: bytes = ADDRESS) -> int:
    """A beat that asks for pages, and for no answer; the command's number."""
    command = commander.next(SEND_PAGES, PAGE_REQUEST.pack(address, offset, count))
    commander.send(command, answer_every=0)
    return command.number


def page(commander: Commander) -> Page:
    """The node's next frame, which is one."""
    frame = commander.wire.expect(lambda frame: frame[12:14] == ETHERTYPE)
    assert frame[:6] == SOURCE and frame[6:12] == ADDRESS and frame[PAYLOAD_AT + 1] == PAGE, frame.hex()
    return page_of(frame)


def whole_log(commander: Commander, count: int) -> tuple[bytes, Page]:
    """The log, fetched `count` pages at a time, and the last page."""
    data, size = b"", 1
    start = commander.beat().start
    while len(data) < size:
        number = request(commander, len(data), count)
        for _ in range(count):
            last = page(commander)
            assert (last.number, last.epoch, last.start) == (number, commander.epoch, start)
            assert last.offset == len(data) and len(last.data) == min(PAGE_BYTES, last.size - len(data))
            data, size = data + last.data, last.size
            if len(data) == size:
                break
    return data, last


def names_of(log: klog.FlightLog) -> list[str]:
    return [log.kinds[kind].name for kind in log.kind]


@pytest.mark.parametrize("card", CARDS)
def test_a_held_log_comes_in_pages_and_stands_still(card: str, tacet: Run) -> None:
    def script(commander: Commander) -> None:
        for _ in range(3):
            commander.beat()
        assert commander.command(HOLD, bytes(3)).result == EINVAL
        held = commander.command(HOLD, seconds(1000))
        first = commander.first_beat_of(held.done)
        assert held.result == 0 and commander.command(HOLD, seconds(1000)).result == EBUSY
        data, last = whole_log(commander, PAGES_MAX)
        log = klog.parse(data)
        assert len(log.cpus) == 2 and last.beat == first == log.of("beat")[-1, 0]
        # The pair of clocks is of that beat.
        beat_ns = int(log.time_ns[[name == "beat" for name in names_of(log)]][-1])
        assert beat_ns <= last.local_ns < beat_ns + 10**9
        assert last.global_ns > commander.epoch
        for _ in range(20):
            commander.beat()
        again, page_of_it = whole_log(commander, 3)
        assert (again, page_of_it.beat, page_of_it.local_ns) == (data, last.beat, last.local_ns)
        # No other node's pages, and none that is wrong.
        request(commander, 0, 1, address=bytes.fromhex("525400000077"))
        for wrong in (PAGE_REQUEST.pack(ADDRESS, 0, 0), PAGE_REQUEST.pack(ADDRESS, 0, 9), b"", bytes(17)):
            assert commander.command(SEND_PAGES, wrong).result == EINVAL
        request(commander, len(data) + 1, 2)
        assert (end := page(commander)).offset == end.size == len(data) and not end.data
        assert commander.command(HOLD, seconds(0)).result == 0
        request(commander, 0, PAGES_MAX)
        assert (none := page(commander)).size == none.beat == none.offset == 0 and not none.data
        commander.command(HOLD, seconds(1000))
        log = klog.parse(whole_log(commander, 5)[0])
        names = names_of(log)
        assert names.count("log_release") == 1
        # The log went on with the release, which is a command that it has.
        at = names.index("log_release")
        assert "beat" in names[at:] and [HOLD, 0] in log.of("command").tolist()
        commander.command(HOLD, seconds(0))

    conduct(tacet, script, "wait.musl", card=card, cpus=2)


def test_a_log_that_nobody_releases_goes_on_after_its_time(tacet: Run) -> None:
    """A second of the node's own clock after the last request to any node. No beat comes then."""

    def script(commander: Commander) -> None:
        commander.command(HOLD, seconds(1))
        for wait_s in (2, 4, 8, 16, 32, 64):
            time.sleep(wait_s)
            request(commander, 0, 1)
            if not page(commander).size:
                break
        assert commander.command(HOLD, seconds(1000)).result == 0
        assert "log_release" in names_of(klog.parse(whole_log(commander, PAGES_MAX)[0]))
        assert commander.command(HOLD, seconds(0)).result == 0

    conduct(tacet, script, "wait.musl", cpus=2)


def test_eight_pages_cost_the_cpu_that_sends_them_less_than_130000_instructions(
    tacet: Run, tmp_path: Path
) -> None:
    if qemu_major(qemu_binary("newest")) < PLUGIN_QEMU:
        pytest.skip("QEMU 10 is not there (make qemu10)")
    made("visits")
    out = tmp_path / "visits"

    def script(commander: Commander) -> None:
        for _ in range(FILLING):
            commander.beat()
        commander.command(HOLD, seconds(1000))
        for _ in range(FILLING + TIMES):
            request(commander, 0, PAGES_MAX)
            for _ in range(PAGES_MAX):
                page(commander)
        commander.command(HOLD, seconds(0))

    plugin = ("-plugin", f"{ROOT / 'build/visits.so'},out={out}")
    conduct(tacet, script, "wait.musl", cards=plugin, qemu="newest")
    first = Symbols(qemu.KERNEL).find("trap_stubs_start").address
    stub = first + DEVICE_VECTOR * TRAP_STUB_BYTES
    visits = re.findall(r"^cpu 0 entry (\w+) visits (\d+) minimum \d+ median (\d+) ", out.read_text(), re.M)
    sent = [(int(count), int(median)) for at, count, median in visits if int(at, 16) == stub]
    assert len(sent) == 1 and sent[0][0] >= FILLING + TIMES, visits
    assert PAGES_MIN < sent[0][1] < PAGES_COST_MAX, sent
