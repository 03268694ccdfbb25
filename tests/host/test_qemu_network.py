# SPDX-License-Identifier: BSD-2-Clause
"""The network card of a machine in QEMU: none unless it is asked for, and what is wrong is said in one
line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

import qemu
from qemu import network
from qemu.linux_network import LinuxNetwork, network_of


def test_a_machine_has_no_card_unless_it_is_asked_for() -> None:
    command = qemu.Machine().command()
    assert "-nodefaults" in command and not {"-netdev", "-nic", "-net"} & set(command)
    assert network.check("none", None, None, [], None) == (None, None)


def test_a_card_is_on_the_wire_that_was_asked_for() -> None:
    card, _ = network.check("user", "e1000e", "52:54:00:AB:00:01", ["8080:80", "udp:5353:53"], None)
    assert card is not None
    command = " ".join(qemu.Machine(network=card).command())
    assert "user,id=wire,hostfwd=tcp:127.0.0.1:8080-:80,hostfwd=udp:127.0.0.1:5353-:53" in command
    assert command.endswith("-device e1000e,netdev=wire,mac=52:54:00:ab:00:01")
    direct = qemu.Machine(network=card, boot=qemu.DirectBoot(qemu.KERNEL, "")).command()
    assert direct[-1].endswith(",romfile="), "a boot ROM is only for a boot over the network"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("wifi", None, None, []), "--network takes user, bridge or none, not wifi"),
        (("none", "e1000", None, []), "--nic needs a network"),
        (("none", None, None, ["1:2"]), "--forward needs a network"),
        (("user", "ne2k", None, []), "--nic takes e1000, e1000e, igb, not ne2k"),
        (("user", None, "01:00:5e:00:00:01", []), "--mac takes an address of one card"),
        (("user", None, "52:54:00", []), "--mac takes an address of one card"),
        (("bridge", None, None, ["1:2"]), "--forward is for --network user"),
        (("user", None, None, ["80"]), "--forward takes HOSTPORT:GUESTPORT"),
        (("user", None, None, ["1:70000"]), "--forward takes HOSTPORT:GUESTPORT"),
    ],
)
def test_what_is_wrong_with_a_network_is_said(words: tuple[object, ...], said: str) -> None:
    with pytest.raises(qemu.RunnerError) as error:
        network.check(*words, None)  # type: ignore[arg-type]
    assert str(error.value).startswith(said) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--network", "user"), "--network"),
        (("--network", "bridge"), "--network"),
        (("--network", "user", "--forward", "8080:80"), "--network"),
        (("--mount", "/data=."), "--mount"),
    ],
)
def test_a_node_without_drivers_of_cards_takes_none(options: tuple[str, ...], named: str) -> None:
    command = [ROOT / "tools/run", "--arch", "ppc64", *options, "prog"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = f"tools/run: {named}: Tacet has no driver of a network card for ppc64\n"
    assert done.returncode != 0 and (done.stdout, done.stderr) == ("", said)


def test_modules_come_after_those_that_they_need(tmp_path: Path) -> None:
    for name, needs in (("9p", "9pnet,netfs"), ("9pnet", ""), ("netfs", "base"), ("base", "")):
        (tmp_path / f"{name}.ko").write_bytes(b"\0license=GPL\0depends=" + needs.encode() + b"\0r=Y\0")
    wanted = LinuxNetwork(modules=("9p", "9pnet"))
    assert [path.stem for path in wanted.files(tmp_path)] == ["9pnet", "base", "netfs", "9p"]
    with pytest.raises(qemu.RunnerError, match=r"no module .*/igb\.ko; ports/linux/fetch\.sh"):
        LinuxNetwork(nic="igb").files(tmp_path)


def test_a_linux_node_has_the_machine_s_card_and_its_address_there() -> None:
    assert network_of(None, None, (), None) == LinuxNetwork()
    assert network_of(None, None, (), qemu.Network("user", "igb")) == LinuxNetwork(
        "igb", "10.0.2.15/24,10.0.2.2"
    )
    assert network_of(None, None, (), qemu.Network("bridge")).address == "dhcp"
    assert network_of("e1000", "10.1.0.2/16", (), None) == LinuxNetwork("e1000", "10.1.0.2/16")
