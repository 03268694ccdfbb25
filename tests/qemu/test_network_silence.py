# SPDX-License-Identifier: BSD-2-Clause
"""A CPU that computes takes no interrupt of the network, whatever is on the wire: broadcasts all the time,
and an idle connection. The node's card and its peers are on one cable: this machine across QEMU's own
network, and a socket by which the test sends frames."""

from __future__ import annotations

import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import APPS, Run, expect_exit, program
from services import HOST, NODE, Services

import qemu

#: Asks for 10.0.2.99, which is not the node's address; all hear it (RFC 826).
SENDER = bytes.fromhex("025400000001")
ARP = (
    b"\xff" * 6
    + SENDER
    + bytes.fromhex("0806 0001 0800 06 04 0001")
    + SENDER
    + bytes([10, 0, 2, 98])
    + bytes(6)
    + bytes([10, 0, 2, 99])
).ljust(60, b"\0")
PAUSE_S = 0.001
FRAMES_MIN = 20


@contextmanager
def chatter(card: str) -> Iterator[list[str]]:
    """QEMU's options for a cable on which broadcasts come all the time."""
    with tempfile.TemporaryDirectory(prefix="wire-") as folder:
        here, there = Path(folder) / "test", Path(folder) / "qemu"
        stop = threading.Event()
        end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        end.bind(str(here))
        end.setblocking(False)

        def talk() -> None:
            while not stop.wait(PAUSE_S):
                try:
                    end.sendto(ARP, str(there))
                except OSError:
                    pass  # the machine is not there yet, or does not read
                try:
                    while True:
                        end.recv(2000)
                except BlockingIOError:
                    pass

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            yield [
                *("-netdev", "user,id=net", "-netdev", "hubport,id=port0,hubid=0,netdev=net"),
                "-netdev",
                f"dgram,id=test,local.type=unix,local.path={there},remote.type=unix,remote.path={here}",
                *("-netdev", "hubport,id=port1,hubid=0,netdev=test"),
                *("-netdev", "hubport,id=wire,hubid=0", "-device", f"{card},netdev=wire,romfile="),
            ]
        finally:
            stop.set()
            thread.join()
            end.close()


@pytest.mark.parametrize("card", ["e1000", "e1000e"])
@pytest.mark.parametrize("cpus", [1, 2])
def test_a_computing_program_with_an_idle_connection_hears_no_broadcast(
    cpus: int, card: str, tacet: Run
) -> None:
    with Services() as services, chatter(card) as cable:
        result = tacet(
            program("idle_connection.musl"),
            *(HOST, str(services.upper_port), "1000"),
            cpus=cpus,
            options=f"ip={NODE} ranks=1",
            qemu_options=cable,
        )
    said = re.fullmatch(r"entries (\d+) frames (\d+) answer (.*)\n", expect_exit(result).stdout.decode())
    assert said and said[3] == "BEFORE, AFTER", result.explain()
    assert int(said[2]) >= FRAMES_MIN, result.explain()
    # A second CPU has no thread to run: it may listen.
    assert cpus > 1 or int(said[1]) == 0, result.explain()


def test_ftq_finds_no_kernel_entry_beside_broadcasts(tacet: Run) -> None:
    with chatter("e1000") as cable:
        result = tacet(APPS / "ftq", "-n", "1000", options=f"ip={NODE}", qemu_options=cable, memory="256M")
    found = re.search(rb"kernel_entries\D+(\d+)", expect_exit(result).stdout + result.stderr)
    assert found and int(found[1]) == 0, result.explain()


def test_ftq_finds_no_kernel_entry_beside_an_idle_mount(tacet: Run, tmp_path: Path) -> None:
    with qemu.FileServer([tmp_path]) as server:
        result = tacet(
            APPS / "ftq",
            *("-n", "1000", "-o", "/mnt/ftq"),
            options=server.option(tmp_path),
            network=qemu.Network("user"),
            memory="256M",
        )
    found = re.search(rb"kernel_entries\D+(\d+)", expect_exit(result).stdout + result.stderr)
    assert found and int(found[1]) == 0, result.explain()
    written = (tmp_path / "ftq_0.dat").read_text().splitlines()
    assert len([line for line in written if not line.startswith("#")]) == 1000
