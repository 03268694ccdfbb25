# SPDX-License-Identifier: BSD-2-Clause
"""`netconsole=`: the console's lines as datagrams, received through QEMU's user network. QEMU has handed
on each frame before it ends, so nothing is waited for."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from planted import planted

import qemu
from qemu.symbols import Symbols

CARD = ["-netdev", "user,id=n", "-device", "e1000,netdev=n,romfile="]
STATIC = "ip=10.0.2.15/24,10.0.2.2"


class Receiver:
    """As `nc -u -l`: datagrams, one after the other."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    @property
    def option(self) -> str:
        return f"netconsole=10.0.2.2:{self.socket.getsockname()[1]}"

    def datagrams(self) -> list[str]:
        """Those that have come."""
        self.socket.setblocking(False)
        result = []
        try:
            while True:
                result.append(self.socket.recv(65536).decode())
        except BlockingIOError:
            return result


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.socket.close()


def expect_all(result: qemu.Result, datagrams: list[str]) -> None:
    """The serial console's lines, from the kernel's first one on, one a datagram."""
    console = result.console.replace("\r", "")
    assert "".join(datagrams) == console[console.index("tacet: Tacet ") :], result.explain()
    assert all(text.endswith("\n") and text.count("\n") == 1 for text in datagrams), datagrams


@pytest.mark.parametrize(("card", "address"), [("e1000", STATIC), ("e1000e", "ip=dhcp")])
def test_the_consoles_lines_arrive_whole_and_in_order(
    card: str, address: str, receiver: Receiver, tacet: Run, busybox: Path
) -> None:
    result = tacet(
        busybox,
        "seq",
        "100000",
        "100400",
        options=f"{address} {receiver.option} stdout=com1",
        qemu_options=[*CARD[:3], f"{card},netdev=n,romfile="],
    )
    expect_exit(result)
    datagrams = receiver.datagrams()
    expect_all(result, datagrams)
    numbers = [f"{number}\n" for number in range(100000, 100401)]
    assert [text for text in datagrams if not text.startswith("tacet: ")] == numbers
    assert datagrams[-1] == "tacet: exit status=0\n"


def test_a_panics_lines_arrive(receiver: Receiver, tacet: Run, tmp_path: Path) -> None:
    kernel = planted(tmp_path, "sys_exit_group")
    result = tacet("status.musl", options=f"{STATIC} {receiver.option}", qemu_options=CARD, kernel=kernel)
    assert result.outcome == "stop" and result.status == 70, result.explain()
    datagrams = receiver.datagrams()
    expect_all(result, datagrams)
    assert any(" faulted: " in text for text in datagrams), datagrams


def test_a_panic_of_the_networks_locks_holder_is_sent_too(
    receiver: Receiver, tacet: Run, busybox: Path, tmp_path: Path
) -> None:
    result = tacet(
        busybox,
        *["ping", "-c", "1", "127.0.0.1"],
        options=f"{STATIC} {receiver.option} raw_sockets=on",
        qemu_options=CARD,
        kernel=planted(tmp_path, "loopback_receive"),
    )
    assert result.outcome == "stop" and result.status == 70, result.explain()
    datagrams = receiver.datagrams()
    expect_all(result, datagrams)
    address = Symbols(qemu.KERNEL).find("loopback_receive").address
    assert result.reason.endswith(f" at {address:x}"), result.explain()


def test_without_a_receiver_the_node_is_unharmed(tacet: Run, busybox: Path) -> None:
    """No host has the address, or there is no card; the ring fills, and what is dropped is counted."""
    options = f"{STATIC} netconsole=10.0.2.77 stdout=com1"
    many = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i + 1)); done"
    script = f"{many}; while read line; do echo $line; done < /proc/tacet/network"
    result = expect_exit(tacet(busybox, "sh", "-c", script, options=options, qemu_options=CARD))
    assert "no answer to ARP for netconsole=: nothing is sent" in result.console, result.explain()
    assert re.search(r"^netconsole_dropped [1-9]", result.console, re.M), result.explain()
    expect_exit(tacet(busybox, "true", options="netconsole=10.0.2.77"))


@pytest.mark.parametrize("value", ["", "10.0.2", "10.0.2.2:", "10.0.2.2:0", "10.0.2.2:65536", "host:1"])
def test_a_mistake_in_the_option_stops_the_node(value: str, tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "true", options=f'"netconsole={value}"')
    assert result.outcome == "stop" and "netconsole" in result.console, result.explain()
