# SPDX-License-Identifier: BSD-2-Clause
"""tools/cluster's pure parts: lines of many nodes on one stream, what is asked for, what nodes boot."""

from __future__ import annotations

import io
import stat
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

import network
import pxe
from rack import arguments, layout, nodes, services
from rack.lines import LINE_MAX, Splitter, Stream

import qemu


@pytest.fixture(autouse=True)
def all_is_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is built or installed on this machine."""
    for name in ("tacet.stripped.elf", "conductor", "conductorctl"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(layout, "KERNEL", tmp_path / "tacet.stripped.elf")
    monkeypatch.setattr(layout, "SERVICE", tmp_path)
    monkeypatch.setattr(network, "check", lambda tools: None)
    monkeypatch.setattr(arguments, "SERVERS", ())
    monkeypatch.setattr(qemu, "qemu_binary", lambda: "qemu")


def test_lines_come_whole_whatever_the_chunks() -> None:
    text = b"one\r\ntwo\n\nthree"
    for size in range(1, len(text) + 1):
        lines: list[bytes] = []
        splitter = Splitter(lines.append)
        for at in range(0, len(text), size):
            splitter.feed(text[at : at + size])
        assert lines == [b"one", b"two", b""]
        splitter.finish()
        splitter.finish()
        assert lines == [b"one", b"two", b"", b"three"]


def test_a_line_without_an_end_comes_out_in_parts() -> None:
    lines: list[bytes] = []
    splitter = Splitter(lines.append)
    splitter.feed(b"x" * (2 * LINE_MAX + 1))
    splitter.finish()
    assert list(map(len, lines)) == [LINE_MAX, LINE_MAX, 1]


def test_nodes_share_a_stream_by_lines() -> None:
    kept = io.BytesIO()
    stream = Stream(kept)

    def talk(name: str) -> None:
        splitter = stream.of_node(name)
        for i in range(500):
            for part in (b"line ", b"%d" % i, b"\n"):
                splitter.feed(part)

    threads = [threading.Thread(target=talk, args=(f"node{number}",)) for number in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    lines = kept.getvalue().decode().splitlines()
    for number in range(1, 5):
        mine = [line for line in lines if line.startswith(f"node{number}: ")]
        assert mine == [f"node{number}: line {i}" for i in range(500)]
    assert len(lines) == 2000


def test_without_a_program_nodes_rest() -> None:
    plan = arguments.parse([])
    assert (plan.nodes, plan.rate, plan.command) == (4, "10", [])
    assert [plan.app, *plan.args] == [qemu.BUSYBOX.resolve(), "sleep", "2147483647"]


def test_what_follows_the_dashes_is_the_command() -> None:
    plan = arguments.parse(["--nodes", "2", "--", "sh", "-c", "echo --nodes 3", "--"])
    assert plan.nodes == 2 and plan.command == ["sh", "-c", "echo --nodes 3", "--"]


@pytest.mark.parametrize("rate", ["0", "0.02", "10", "59.94", "1000"])
def test_rates_of_the_conductor_are_taken(rate: str) -> None:
    assert arguments.parse(["--rate", rate]).rate == rate


@pytest.mark.parametrize("rate", ["", "-1", "0.001", "1000.1", "1e2", "many"])
def test_other_rates_are_refused(rate: str) -> None:
    with pytest.raises(qemu.RunnerError, match="^--rate takes 1/60 to 1000 beats a second, or 0, not "):
        arguments.parse([f"--rate={rate}"])


def test_each_node_has_cards_an_address_and_a_name_of_its_own() -> None:
    plan = arguments.parse(
        [
            "--nodes",
            "64",
            "--memory",
            "20M",
            "--app",
            "/bin/busybox",
            "--env",
            "A=b c",
            "--options",
            "ranks=1",
        ]
    )
    tree = services.tree(plan, "00" * 16, "mount=/mnt:10.99.0.1:20000:/run/share")
    assert len(tree.nodes) == 64 and len({node.address for node in tree.nodes.values()}) == 64
    for number, (mac, node) in enumerate(tree.nodes.items(), 1):
        assert (mac, node.name) == (layout.data_mac(number), f"node{number}")
        assert f"nettick_dev={layout.beats_mac(number)}" in node.options
        assert layout.beats_mac(number) not in tree.nodes
        assert "env=A=b c" in node.options and node.options[-1] == "ranks=1"
    conf = pxe.dnsmasq_conf(tree, layout.TREE)
    assert "dhcp-host=52:54:00:01:00:40,10.99.0.74,node64,infinite\n" in conf


def test_keys_are_fresh_and_nobody_else_reads_them(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    keys = [services.key_new(path) for path in paths]
    assert len(set(keys)) == 2 and all(len(key) == 32 and int(key, 16) >= 0 for key in keys)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in paths)
    assert paths[0].read_text() == keys[0] + "\n"
    with pytest.raises(FileExistsError):
        services.key_new(paths[0])


def test_a_node_s_steps_are_read_from_the_server_and_the_console(tmp_path: Path) -> None:
    plan = arguments.parse(["--logs", str(tmp_path)])
    err = io.BytesIO()
    steps: list[int] = []
    node = nodes.Node(2, plan, Stream(io.BytesIO()), Stream(err), lambda: steps.append(node.state))
    node.served("dnsmasq-dhcp: 1 DHCPACK(tacet) 10.99.0.11 52:54:00:01:00:01 node1")
    assert steps == []
    node.served("dnsmasq-dhcp: 1 DHCPACK(tacet) 10.99.0.12 52:54:00:01:00:02 node2")
    node.served("dnsmasq-tftp: sent /run/pxe/tacet/tacet.elf to 10.99.0.12")
    node.served("dnsmasq-dhcp: 2 DHCPACK(tacet) 10.99.0.12 52:54:00:01:00:02 node2")
    node._console(b"\x1b[0;30;47mGRUB\x1b[25;02H\r\ntacet: Tac")
    node._console(b"et 0.1\r\ntacet: network: eth0 has 10.99.0.12/24, name node2\r\n")
    assert steps == [nodes.ASKED, nodes.LOADS, nodes.BOOTS, nodes.RUNS]
    assert node.tail()[0] == "GRUB" and not err.getvalue()
    assert (tmp_path / "node2.console").read_bytes().startswith(b"\x1b[0;30;47mGRUB")


def test_a_node_that_could_not_be_started_has_a_status_and_a_reason(tmp_path: Path) -> None:
    plan = arguments.parse(["--logs", str(tmp_path)])
    node = nodes.Node(1, plan, Stream(io.BytesIO()), Stream(io.BytesIO()), lambda: None)
    node.problem = "no such QEMU"
    assert node.status == nodes.NO_STATUS and node.failure() == ["could not be started: no such QEMU"]
