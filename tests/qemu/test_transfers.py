# SPDX-License-Identifier: BSD-2-Clause
"""TCP over a bad cable: what one program sends the other receives, byte for byte, in both directions at once,
though the relay between the machines loses frames, hands them on late and doubles them (relay.py). The peer
is Linux's own stack, or a second Tacet node."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Run, expect_exit, program
from relay import Relay

import qemu
from tests.making import made

ADDRESSES = ("10.9.0.1", "10.9.0.2")
PORT = 7000
KIB = 16 << 10
LONG_KIB = 1 << 20
#: What becomes of the frames of either direction.
BAD = {"lost": 0.01, "late": 0.02, "twice": 0.01}


def side_by_side(*runs: Callable[[], qemu.Result]) -> list[qemu.Result]:
    """Machines that run at the same time; how each has ended."""
    ended: list[Any] = [None] * len(runs)

    def one(i: int) -> None:
        try:
            ended[i] = runs[i]()
        except BaseException as error:  # raised below, in the test's own thread
            ended[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in ended:
        if isinstance(result, BaseException):
            raise result
    return ended


def node(system: str, side: int, relay: Relay, tacet: Run, *words: str, **keywords: Any) -> Callable[[], Any]:
    """A machine at one end of the cable."""
    keywords = {"memory": "256M", "qemu_options": relay.options(side), "time_limit": 200.0, **keywords}
    app = program("transfer.musl")
    address = f"{ADDRESSES[side]}/24"
    if system == "linux":
        return lambda: qemu.run_linux(app, words, nic="e1000", address=address, **keywords)
    return lambda: tacet(app, *words, options=f"ip={address}", **keywords)


def check_transfer(tacet: Run, systems: tuple[str, str], kib: int, seed: int, **keywords: Any) -> None:
    if "linux" in systems:
        made("build/linux/version")
    with Relay(seed, **BAD) as relay:
        listens = node(systems[0], 0, relay, tacet, "listen", str(PORT), str(kib), **keywords)
        connects = node(systems[1], 1, relay, tacet, "connect", ADDRESSES[0], str(PORT), str(kib), **keywords)
        results = side_by_side(listens, connects)
    for result in results:
        said = expect_exit(result).stdout.decode().splitlines()[-2:]
        assert said == [f"received {kib << 10} bytes", f"sent {kib << 10} bytes"], result.explain()
    for counts in relay.counts:
        # The cable was as bad as it was meant to be.
        assert counts.came > (kib << 10) / 1514, relay.counts
        for what, part in BAD.items():
            assert getattr(counts, what) > counts.came * part / 2, relay.counts


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("systems", [("tacet", "linux"), ("linux", "tacet")], ids="-".join)
def test_tcp_delivers_each_byte_once_over_a_cable_that_loses_reorders_and_doubles(
    systems: tuple[str, str], seed: int, tacet: Run
) -> None:
    check_transfer(tacet, systems, KIB // 2, seed)


def test_two_nodes_deliver_each_byte_to_each_other_over_a_bad_cable(tacet: Run) -> None:
    check_transfer(tacet, ("tacet", "tacet"), KIB, 3)


@pytest.mark.long
@pytest.mark.parametrize("systems", [("tacet", "linux"), ("linux", "tacet")], ids="-".join)
def test_a_gib_each_way_arrives_over_a_bad_cable(systems: tuple[str, str], tacet: Run) -> None:
    check_transfer(tacet, systems, LONG_KIB, 4, time_limit=1800.0)


#: After the last frame; and how long that waits for those before it.
END, ARRIVAL_S = b"end", 60.0


def frames_through(seed: int, frames: int) -> tuple[list[bytes], Any]:
    """What of numbered frames arrives, in which order, where the machines are sockets of this process."""
    with Relay(seed, **BAD) as relay, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sends:
        words = [relay.options(side)[1].split(",")[1:] for side in (0, 1)]
        paths = [dict(word.split("=", 1) for word in side) for side in words]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receives:
            receives.bind(paths[1]["local.path"])
            arrived: list[bytes] = []
            reader = threading.Thread(target=receive_all, args=(receives, arrived))
            reader.start()
            counts = relay.counts[0]
            for i in range(frames):
                sends.sendto(b"%06d" % i, paths[0]["remote.path"])
                # No further ahead than a socket's queue holds; what the cable delays comes later.
                until = time.monotonic() + 0.002
                while i + 1 - counts.lost + counts.twice - len(arrived) > 4 and time.monotonic() < until:
                    time.sleep(0.0001)
            # All that is to come; where that does not, it is missed below.
            until = time.monotonic() + ARRIVAL_S
            while (
                counts.came < frames or len(arrived) < frames - counts.lost + counts.twice
            ) and time.monotonic() < until:
                time.sleep(0.001)
            sends.sendto(END, paths[1]["local.path"])
            reader.join()
    return arrived, counts


def receive_all(receives: socket.socket, arrived: list[bytes]) -> None:
    while (frame := receives.recv(100)) != END:
        arrived.append(frame)


def test_the_cable_is_bad_in_the_way_that_its_seed_says() -> None:
    (first, counts), (again, counts_again) = (frames_through(1, 5000) for _ in range(2))
    assert counts == counts_again and counts.came == 5000 and counts.full == 0, (counts, counts_again)
    assert set(first) == set(again) and len(set(first)) == 5000 - counts.lost
    assert len(first) == len(again) == 5000 - counts.lost + counts.twice
    assert 0 < sum(later < earlier for earlier, later in zip(first, first[1:], strict=False)) <= counts.late
    other, _ = frames_through(2, 5000)
    assert set(other) != set(first)
