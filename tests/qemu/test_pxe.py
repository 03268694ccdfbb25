# SPDX-License-Identifier: BSD-2-Clause
"""Boot over the network, from the DHCP request of the card's boot ROM to the program's output: the folder
that boot/make-pxe makes, served by dnsmasq on a bridge in a namespace, for BIOS and UEFI."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import network
import nodes
import pytest
from conftest import ROOT, expect_exit, program

import qemu


@pytest.fixture(scope="module")
def space() -> Iterator[network.Namespace]:
    with nodes.namespace() as made:
        yield made


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("firmware", "card"),
    [
        ("bios", "e1000e"),
        ("uefi", "e1000"),
        pytest.param("bios", "e1000", marks=LONG),
        pytest.param("uefi", "e1000e", marks=LONG),
    ],
)
def test_a_node_boots_from_dhcp_to_the_program_s_output(
    firmware: str, card: str, space: network.Namespace, tmp_path: Path
) -> None:
    folder = nodes.tree(tmp_path / "pxe", qemu.BUSYBOX, "echo", "two  words", "it's $node")
    with space.dnsmasq(folder / "dnsmasq.conf") as server:
        result = expect_exit(nodes.boot(space, card=card, uefi=firmware == "uefi"))
    # OVMF shows its screen on all serial ports before.
    assert result.stdout.endswith(b"two  words it's $node\n"), result.explain()
    assert "started by multiboot2" in result.console, result.explain()
    assert server.said("DHCPACK") and server.said("lease-time  infinite"), server.lines
    wanted = {"bios": "bios.0", "uefi": "uefi.efi"}[firmware]
    assert any(re.search(rf"sent .*/{wanted} to ", line) for line in server.lines), server.lines


def test_a_node_has_options_arguments_and_name_by_its_mac(space: network.Namespace, tmp_path: Path) -> None:
    kept = tmp_path / "nodes"
    kept.write_text(
        "# MAC              what it has\n"
        f"{nodes.MAC}  address=10.99.0.7 name=node7 env=OWN=yes program={program('arguments.musl')}"
        " -- 'of  its' own\n"
        "52:54:00:12:34:57  -- another\n"
    )
    words = ("--nodes", str(kept))
    folder = nodes.tree(tmp_path / "pxe", program("status.musl"), "9", words=words)
    with space.dnsmasq(folder / "dnsmasq.conf") as server:
        result = expect_exit(nodes.boot(space))
    assert b"of  its" in result.stdout and b"another" not in result.stdout, result.explain()
    line = r"^tacet: network: eth0 has (\S+), .*name (\w+), .* for ever"
    has = re.search(line, result.console, re.MULTILINE)
    assert has and has.groups() == ("10.99.0.7/24", "node7"), result.explain()
    assert any(re.search(r"DHCPACK\S* 10\.99\.0\.7 .* node7$", line) for line in server.lines), server.lines


def test_beside_another_dhcp_server_dnsmasq_only_says_what_to_boot(
    space: network.Namespace, tmp_path: Path
) -> None:
    words = ("--proxy", "--server", "10.99.0.1")
    folder = nodes.tree(tmp_path / "pxe", qemu.BUSYBOX, "echo", "by proxy", words=words)
    with nodes.other_machine(space, "10.99.0.2/24") as inside:
        other = space.server(
            [
                *(*inside, "/usr/sbin/dnsmasq", "--conf-file=/dev/null", "--port=0", "--interface=eth0"),
                *("--dhcp-range=10.99.0.100,10.99.0.110,infinite", "--leasefile-ro", "--pid-file="),
                *("--keep-in-foreground", "--log-facility=-", "--user=root", "--group="),
            ]
        )
        with other, space.dnsmasq(folder / "dnsmasq.conf") as server:
            other.wait("started")
            result = expect_exit(nodes.boot(space))
    assert result.stdout == b"by proxy\n", result.explain()
    assert other.said("DHCPACK") and not server.said("DHCPACK"), (other.lines, server.lines)
    assert server.said("sent "), server.lines


def test_a_node_that_stopped_boots_over_the_network_again(space: network.Namespace, tmp_path: Path) -> None:
    """A mistake on the server stops the node, which says so and boots again until it is corrected."""
    folder = nodes.tree(tmp_path / "pxe", program("status.musl"), "5", options="end=reboot nonsense=1")
    seen = bytearray()

    def correct(chunk: bytes) -> None:
        seen.extend(chunk)
        if b"stop status=64" in seen and "nonsense" in (folder / "tacet/nodes/default.cfg").read_text():
            nodes.tree(folder, program("status.musl"), "5")

    with space.dnsmasq(folder / "dnsmasq.conf"):
        result = nodes.boot(space, "-action", "reboot=reset", on_console=correct)
    expect_exit(result, 5)
    stop = re.search(r'^tacet: stop status=64 reason="(.*)"', result.console, re.MULTILINE)
    assert stop and "nonsense" in stop[1], result.console
    # iPXE shows how far it is if that takes some time.
    loaded = re.findall(r"tftp://10\.99\.0\.1/tacet/bios\.0\.\.\.[ \d%\b]* ok", result.console)
    assert len(loaded) >= 2, result.console


def test_large_files_come_by_http_under_a_bios(space: network.Namespace, tmp_path: Path) -> None:
    folder = nodes.tree(tmp_path / "pxe", qemu.BUSYBOX, "sha256sum", "/init", words=("--http",))
    web = [sys.executable, "-u", "-m", "http.server", "--directory", str(folder), "80"]
    with space.server(web) as http, space.dnsmasq(folder / "dnsmasq.conf") as server:
        result = expect_exit(nodes.boot(space))
    digest = subprocess.run(["sha256sum", qemu.BUSYBOX], capture_output=True, text=True).stdout.split()[0]
    assert result.stdout.decode().split()[0] == digest, result.explain()
    assert http.said("GET /tacet/tacet.elf ") and http.said("GET /tacet/program "), http.lines
    assert not server.said("/tacet/program"), server.lines


def test_a_run_has_an_address_in_the_network_of_one_s_own(space: network.Namespace) -> None:
    """As tools/with-network starts it: a Linux node, for what it has got is seen there."""
    command = ["tools/with-network", "--dhcp", "tools/run", "--linux", "--network", "bridge", "/bin/busybox"]
    ran = subprocess.run(
        [*command, "ip", "-o", "-4", "addr"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0 and re.search(r"eth0 +inet 10\.99\.0\.\d+/24", ran.stdout), (
        ran.stdout + ran.stderr
    )
