# SPDX-License-Identifier: BSD-2-Clause
"""The node on a network whose neighbours misbehave: addresses by DHCP and by option, damaged frames, floods.
The neighbours are lan.py's; a card of QEMU's is at the other end of the wire."""

from __future__ import annotations

import random
import re
from pathlib import Path

import network
import nodes
import pytest
from conftest import APPS, Run, expect_exit
from lan import ARP, IPV4, MAC, OTHER_MAC, Dhcp, Lan, arp, ethernet, ip, ipv4, option, ping, udp
from wire import BROADCAST, Wire

import qemu

STATIC = "ip=10.9.0.7/24,10.9.0.1"


def boot(
    tacet: Run, lan: Lan, app: Path | str, *words: str, options: str = "", card: str = "e1000", **more: object
) -> qemu.Result:
    """A node with a card, among these neighbours."""
    with Wire() as wire:
        wire.play(lan.run)
        result = tacet(
            app, *words, options=options, qemu_options=wire.options(card), **{"time_limit": 120, **more}
        )
        wire.close()
        wire.check()
    return result


def numbers(text: str) -> dict[str, int]:
    """Lines "name number"."""
    return {name: int(number) for name, number in re.findall(r"^(\w+) (\d+)\r?$", text, re.M)}


# ---- Addresses ----


@pytest.mark.parametrize("card", ["e1000", "e1000e"])
def test_an_address_by_dhcp_comes_with_its_router_servers_and_names(
    card: str, tacet: Run, busybox: Path
) -> None:
    lan = Lan(Dhcp())
    files = ["/etc/hostname", "/etc/resolv.conf", "/etc/hosts", "/proc/net/route"]
    result = expect_exit(boot(tacet, lan, busybox, "cat", *files, card=card))
    said = "eth0 has 10.9.0.7/24, router 10.9.0.1, name server 10.9.0.53, name node7, from 10.9.0.1 for ever"
    assert said in result.console, result.explain()
    lines = result.stdout.decode().splitlines()
    assert lines[:5] == [
        "node7",
        "nameserver 10.9.0.53",
        "search cluster",
        "127.0.0.1 localhost",
        "10.9.0.7 node7",
    ]
    assert any(line.startswith("eth0\t00000000\t0100090A\t0003") for line in lines), lines


ROUTES = option(
    121, bytes([16]) + ip("10.50.0.0")[:2] + ip("10.9.0.2") + bytes([32]) + ip("10.60.0.7") + bytes(4)
)
CUT_ROUTES = option(121, bytes([16]) + ip("10.50.0.0")[:2] + ip("10.9.0.2") + bytes([24]))
SEARCH = option(119, b"\7cluster\7example\0\3sub\xc0\0")
CIRCLE = option(119, b"\1a\xc0\0")


@pytest.mark.parametrize(
    ("more", "servers", "lines", "mtu"),
    ids=["whole", "malformed"],
    argvalues=[
        (
            option(26, b"\x05\x78") + ROUTES + SEARCH,
            3,
            [
                "search cluster.example sub.cluster.example",
                "eth0\t0000090A\t00000000\t0001",
                "eth0\t0000320A\t0200090A\t0003",
                "eth0\t07003C0A\t00000000\t0005",
            ],
            1400,
        ),
        (
            option(26, b"\x00\x40") + CUT_ROUTES + CIRCLE,
            0,
            ["search cluster", "eth0\t00000000\t0100090A\t0003", "eth0\t0000090A\t00000000\t0001"],
            1500,
        ),
    ],
)
def test_dhcp_s_routes_servers_names_and_mtu_are_the_node_s_if_they_make_sense(
    more: bytes, servers: int, lines: list[str], mtu: int, tacet: Run, busybox: Path
) -> None:
    def hook(kind: int, options: bytes) -> bytes:
        return options[:-1] + more + b"\xff"

    lan = Lan(Dhcp(dns=[f"10.9.0.{50 + i}" for i in range(servers)], hook=hook))
    result = expect_exit(boot(tacet, lan, busybox, "cat", "/etc/resolv.conf", "/proc/net/route"))
    said = result.stdout.decode().splitlines()
    found = [line for line in said if line.startswith("nameserver")]
    assert found == [f"nameserver 10.9.0.{50 + i}" for i in range(servers)], said
    shown = [line for line in said if line.startswith(("search", "eth0\t"))]
    assert [line[: len(wanted)] for line, wanted in zip(shown, lines, strict=True)] == lines, said
    assert (", MTU 1400, from 10.9.0.1" in result.console) == (mtu == 1400), result.explain()


def test_dnsmasq_s_routes_servers_names_and_mtu_are_the_node_s(tacet: Run, busybox: Path) -> None:
    with nodes.namespace() as space:
        more = [
            "26,1400",
            "121,10.50.0.0/16,10.99.0.9,0.0.0.0/0,10.99.0.1",
            "119,cluster.example,sub.cluster.example",
        ]
        servers = ",".join(f"10.99.0.{number}" for number in (1, 2, 3))
        options = [f"--dhcp-option-force={text}" for text in [*more, f"6,{servers}"]]
        with space.dnsmasq(*network.addresses_of(network.ADDRESS), *options):
            card = qemu.Network("bridge", "e1000", nodes.MAC, enter=space.enter)
            files = ["/etc/resolv.conf", "/proc/net/route"]
            result = expect_exit(tacet(busybox, "cat", *files, network=card, time_limit=120))
    said = result.stdout.decode()
    assert [line.split()[-1] for line in said.splitlines()[:3]] == servers.split(","), said
    assert "search cluster.example sub.cluster.example\n" in said
    assert re.search(r"^eth0\t0000320A\t0900630A\t0003\t.*\t0000FFFF\t", said, re.M), said
    assert ", router 10.99.0.1, name server 10.99.0.1" in result.console, result.explain()
    assert ", MTU 1400, from " in result.console, result.explain()


@pytest.mark.parametrize("words", ["nc 10.50.0.1 7", "ping -c 1 10.50.0.1"])
def test_without_a_way_to_an_address_calls_say_so_at_once(words: str, tacet: Run, busybox: Path) -> None:
    result = boot(tacet, Lan(), busybox, *words.split(), options="ip=10.9.0.7/24 raw_sockets=on")
    assert b"Network is unreachable" in result.stderr, result.explain()


def test_a_static_address_asks_nobody(tacet: Run, busybox: Path) -> None:
    server = Dhcp()
    lan = Lan(server)
    option_text = "ip=10.9.0.7/24,10.9.0.1,10.9.0.53,fixed"
    result = expect_exit(boot(tacet, lan, busybox, "hostname", options=option_text))
    assert "eth0 has 10.9.0.7/24, router 10.9.0.1, name server 10.9.0.53, name fixed" in result.console
    assert result.stdout == b"fixed\n" and not server.seen
    assert lan.announced


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ip=10.9.0.7", "does not begin with ADDRESS/BITS"),
        ("ip=10.9.0.7/33", "does not begin with ADDRESS/BITS"),
        ("ip=10.9.0.0/24", "no node can have this address"),
        ("ip=127.0.0.1/8", "no node can have this address"),
        ("ip=10.9.0.7/24,router", "the gateway is not an address"),
        ("ip=10.9.0.7/24,,,two words", "the name is not a valid host name"),
        ("netdev=00:1f.7", "no such network device"),
        ("ip_wait=soon", "ip_wait"),
        ("raw_sockets=yes", "raw_sockets=yes: it can be on or off"),
    ],
)
def test_a_mistake_in_the_networks_options_stops_the_node(
    text: str, complaint: str, tacet: Run, busybox: Path
) -> None:
    result = tacet(busybox, "true", options=f'"{text}"', time_limit=60)
    assert result.outcome == "stop" and complaint in result.console, result.explain()


def test_without_a_server_the_node_says_so_and_goes_on(tacet: Run, busybox: Path) -> None:
    result = expect_exit(boot(tacet, Lan(), busybox, "echo", "on", options="ip_wait=1"))
    assert "no DHCP server has given eth0 an address within 1 s" in result.console, result.explain()
    assert result.stdout == b"on\n"


def test_a_refused_request_begins_again(tacet: Run, busybox: Path) -> None:
    server = Dhcp(naks=2)
    result = expect_exit(boot(tacet, Lan(server), busybox, "true", options="ip_wait=60"))
    assert "eth0 has 10.9.0.7/24" in result.console, result.explain()
    assert server.seen == ["discover", "request"] * 3


def test_of_two_servers_one_is_chosen_and_the_others_facts_are_not_mixed_in(
    tacet: Run, busybox: Path
) -> None:
    first = Dhcp()
    second = Dhcp(address="10.9.0.9", server="10.9.0.2", mac=OTHER_MAC, name="wrong", dns=["10.9.0.54"])
    lan = Lan(first, second)
    result = expect_exit(boot(tacet, lan, busybox, "cat", "/etc/resolv.conf", options="ip_wait=60"))
    assert "eth0 has 10.9.0.7/24" in result.console and "name node7" in result.console, result.explain()
    assert result.stdout == b"nameserver 10.9.0.53\nsearch cluster\n"


def test_an_address_that_another_node_has_is_declined(tacet: Run, busybox: Path) -> None:
    server = Dhcp(address="10.9.0.8")
    lan = Lan(server, hosts={"10.9.0.1": server.mac, "10.9.0.8": OTHER_MAC})
    result = expect_exit(boot(tacet, lan, busybox, "true", options="ip_wait=5"))
    assert "decline" in server.seen, result.explain()
    assert "no DHCP server has given eth0 an address" in result.console


@pytest.mark.parametrize(
    ("address", "mask"),
    [
        ("0.0.0.0", "255.255.255.0"),
        ("127.0.0.1", "255.0.0.0"),
        ("224.0.0.1", "255.0.0.0"),
        ("10.9.0.255", "255.255.255.0"),
    ],
)
def test_an_address_that_no_node_can_have_is_refused(
    address: str, mask: str, tacet: Run, busybox: Path
) -> None:
    lan = Lan(Dhcp(address=address, mask=mask))
    result = expect_exit(boot(tacet, lan, busybox, "true", options="ip_wait=3"))
    assert "no DHCP server has given eth0 an address" in result.console, result.explain()


def test_hostile_dhcp_options_change_nothing_but_what_they_say(tacet: Run, busybox: Path) -> None:
    """Answers cut at every length, lengths that lie, names that are none: then a proper server comes."""
    generator = random.Random(5)
    tries = iter(range(40))

    def damage(kind: int, options: bytes) -> bytes | None:
        number = next(tries, None)
        if number is None:
            return options
        at = generator.randrange(len(options))
        return [
            options[:at],
            options[:at] + bytes([generator.randrange(256)]) + options[at + 1 :],
            options[:-1] + option(12, b"a/../b\n\0") + option(6, b"\1\2\3") + b"\xff",
            options[:-1] + bytes([12, 255]),
            option(52, b"\3") + options,
        ][number % 5]

    hostile = Dhcp(address="10.9.0.66", server="10.9.0.6", mac=OTHER_MAC, hook=damage, name="hostile")
    lan = Lan(hostile, Dhcp(), hosts={})
    result = expect_exit(boot(tacet, lan, busybox, "hostname", options="ip_wait=60"))
    assert re.search(r"eth0 has 10\.9\.0\.(7|66)/", result.console), result.explain()
    assert result.stdout in (b"node7\n", b"hostile\n", b"tacet\n")


@pytest.mark.parametrize("library", ["musl", "glibc"])
def test_programs_learn_the_interfaces_by_netlink_and_ioctl(library: str, tacet: Run) -> None:
    result = expect_exit(boot(tacet, Lan(), f"interfaces.{library}", options=STATIC))
    assert result.stdout.decode().splitlines() == [
        "address lo 127.0.0.1",
        "mask lo 255.0.0.0",
        "address eth0 10.9.0.7",
        "mask eth0 255.255.255.0",
        "index lo 1 1",
        "SIOCGIFADDR lo 127.0.0.1",
        "SIOCGIFNETMASK lo 255.0.0.0",
        "SIOCGIFBRDADDR lo 0.0.0.0",
        "SIOCGIFMTU lo 1500",
        "index eth0 2 2",
        "SIOCGIFADDR eth0 10.9.0.7",
        "SIOCGIFNETMASK eth0 255.255.255.0",
        "SIOCGIFBRDADDR eth0 10.9.0.255",
        "SIOCGIFMTU eth0 1500",
    ]


def test_an_expired_address_is_probed_before_it_is_used_again(tacet: Run) -> None:
    """A lease of a second: then another node has the address, and the next packet leaves from none."""
    server = Dhcp(lease_s=1)

    def script(lan: Lan) -> None:
        server.offers_only = True
        lan.hosts["10.9.0.7"] = OTHER_MAC

    lan = Lan(server, script=script)
    result = expect_exit(boot(tacet, lan, "lease.musl", options="ip_wait=60"))
    assert "the lease of 10.9.0.7 has expired, and another node has the address" in result.console
    assert "eth0 has lost its address 10.9.0.7" in result.console, result.explain()


# ---- Frames ----


def test_an_idle_node_answers_pings_of_every_length(tacet: Run) -> None:
    answered: list[int] = []

    def script(lan: Lan) -> None:
        for bytes_ in (0, 1, 2, 17, 18, 19, 100, 1000, 1471, 1472):
            assert lan.ping(bytes_ + 1, b"p" * bytes_)
            answered.append(bytes_)

    expect_exit(boot(tacet, Lan(script=script), "network.musl", options=STATIC))
    assert len(answered) == 10


def test_truncated_and_lying_frames_of_every_length_harm_nobody(tacet: Run) -> None:
    generator = random.Random(7)
    alive: list[bool] = []
    segment = b"\0\x50\0\x51" + bytes(8) + b"\x50\x02" + bytes(46)
    whole = [
        ethernet(ipv4(ping(3), ip("10.9.0.1"), ip("10.9.0.7"), 1), MAC, IPV4),
        ethernet(ipv4(udp(b"d" * 40, 68, 67), ip("10.9.0.1"), ip("10.9.0.7"), 17), MAC, IPV4),
        ethernet(ipv4(segment, ip("10.9.0.1"), ip("10.9.0.7"), 6), MAC, IPV4),
        ethernet(arp(1, OTHER_MAC, ip("10.9.0.3"), bytes(6), ip("10.9.0.7")), BROADCAST, ARP),
        ethernet(ipv4(b"\x11\x64\xee\x9b" + bytes(20), ip("10.9.0.1"), ip("224.0.0.1"), 2), BROADCAST, IPV4),
    ]

    def script(lan: Lan) -> None:
        for frame in whole:
            for length in range(14, len(frame) + 1):
                lan.wire.send(frame[:length])
            for _ in range(60):
                at = generator.randrange(14, len(frame))
                lan.wire.send(frame[:at] + bytes([generator.randrange(256)]) + frame[at + 1 :])
            for field in (16, 17, 20, 21, 14, 38, 39, 46):
                for value in (0, 1, 0x0F, 0x4F, 0x7F, 0xFF):
                    lan.wire.send(frame[:field] + bytes([value]) + frame[field + 1 :])
        alive.append(lan.ping(999))

    expect_exit(boot(tacet, Lan(script=script), "network.musl", options=STATIC))
    assert alive == [True]


def test_fragments_that_never_end_are_given_up(tacet: Run) -> None:
    """First parts of 600 packets: memory for them is bounded, and the node answers still."""
    alive: list[bool] = []

    def script(lan: Lan) -> None:
        for number in range(600):
            packet = bytearray(ipv4(bytes(1400), ip("10.9.0.1"), ip("10.9.0.7"), 17, number))
            packet[6] |= 0x20
            packet[10:12] = b"\0\0"
            total = sum(int.from_bytes(packet[i : i + 2], "big") for i in range(0, 20, 2))
            total = (total & 0xFFFF) + (total >> 16)
            packet[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
            lan.wire.send(ethernet(bytes(packet), MAC, IPV4))
        alive.append(lan.ping(1))

    result = expect_exit(boot(tacet, Lan(script=script), "network.musl", options=STATIC))
    assert alive == [True]
    assert numbers(result.stdout.decode())["kernel_bytes"] < 240 * 1024


# ---- Silence ----


def test_a_computing_core_takes_no_interrupt_beside_a_flood(tacet: Run) -> None:
    """FTQ with broadcasts, pings and ARP requests on the wire: the kernel is not entered once."""
    sent: list[int] = []
    question = arp(1, OTHER_MAC, ip("10.9.0.3"), bytes(6), ip("10.9.0.7"))

    def script(lan: Lan) -> None:
        for number in range(3000):
            lan.wire.send(ethernet(b"\x00" * 46, BROADCAST, b"\x88\xb5"))
            lan.wire.send(ethernet(question, BROADCAST, ARP))
            sent.append(number)

    result = expect_exit(
        boot(tacet, Lan(script=script), APPS / "ftq", "-n", "2000", "-s", options=STATIC, icount=0)
    )
    assert b"kernel_entries: 0" in result.stderr, result.explain()
    assert sent


def test_a_node_that_idles_takes_a_flood_and_goes_on(tacet: Run) -> None:
    alive: list[bool] = []

    def script(lan: Lan) -> None:
        for number in range(3000):
            lan.wire.send(ethernet(ipv4(ping(number), ip("10.9.0.1"), ip("10.9.0.7"), 1), MAC, IPV4))
        alive.append(lan.ping(60000))

    result = expect_exit(boot(tacet, Lan(script=script), "network.musl", options=f"{STATIC} ranks=1", cpus=2))
    assert alive == [True]
    counts = numbers(result.stdout.decode())
    assert counts["received_frames"] > 100
    assert counts["received_frames"] + counts["receive_missed"] > 3000
