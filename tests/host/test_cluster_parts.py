# SPDX-License-Identifier: BSD-2-Clause
"""tools/cluster's pure parts: lines of many nodes on one stream, what is asked for, what nodes boot."""

from __future__ import annotations

import io
import re
import stat
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

import network
import pxe
from rack import arguments, layout, linux, nodes, services
from rack.lines import LINE_MAX, Splitter, Stream

import cpio
import qemu


@pytest.fixture(autouse=True)
def all_is_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is built or installed on this machine."""
    for name in ("tacet.stripped.elf", "conductor", "conductorctl", "tacet-launchd"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(layout, "KERNEL", tmp_path / "tacet.stripped.elf")
    monkeypatch.setattr(layout, "SERVICE", tmp_path)
    monkeypatch.setattr(network, "check", lambda tools: None)
    monkeypatch.setattr(arguments, "SERVERS", ())
    monkeypatch.setattr(linux, "check", lambda: None)
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


PUBLIC = "12" * 32


def test_without_a_program_nodes_wait_for_jobs() -> None:
    plan = arguments.parse([])
    assert (plan.nodes, plan.rate, plan.command) == (4, "10", [])
    assert plan.app is None and not plan.args
    tree = services.tree(plan, PUBLIC, "mount=/mnt:10.99.0.1:20000:/run/share")
    file = pxe.node_cfg(tree.nodes[layout.data_mac(1)], "", "node1", [])
    assert "'launch'" in file and "argv0" not in file and "module2" not in file and " -- " not in file


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
    tree = services.tree(plan, PUBLIC, "mount=/mnt:10.99.0.1:20000:/run/share")
    assert len(tree.nodes) == 64 and len({node.address for node in tree.nodes.values()}) == 64
    for number, (mac, node) in enumerate(tree.nodes.items(), 1):
        assert (mac, node.name) == (layout.data_mac(number), f"node{number}")
        assert f"nettick_dev={layout.beats_mac(number)}" in node.options
        assert f"conductor_key={PUBLIC}" in node.options
        assert not any(f"{key}_key=" in option for option in node.options for key in ("nettick", "ticket"))
        assert layout.beats_mac(number) not in tree.nodes
        assert "env=A=b c" in node.options and node.options[-1] == "ranks=1"
    conf = pxe.dnsmasq_conf(tree, layout.TREE)
    assert "dhcp-host=52:54:00:01:00:40,10.99.0.74,node64,infinite\n" in conf


def test_linux_nodes_come_after_the_others_and_share_nothing_with_them() -> None:
    plan = arguments.parse(["--nodes", "64", "--linux", "64", "--memory", "96M"])
    assert [layout.name_of(number) for number in plan.numbers[63:66]] == ["node64", "linux1", "linux2"]
    for of in (layout.address_of, layout.data_mac, layout.beats_mac, layout.tap_of, layout.name_of):
        assert len({of(number) for number in plan.numbers}) == 128
    assert all(re.fullmatch(r"(..)(:..){5}", layout.beats_mac(number)) for number in plan.numbers)
    assert len(services.tree(plan, PUBLIC, "").nodes) == 64, "they boot by themselves"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nodes", "0"], "a cluster needs at least one node"),
        (["--linux", "65"], "--linux takes 0 to 64, not 65"),
        (["--linux", "1", "--memory", "64M"], "--memory takes 96M or more, which Linux needs"),
    ],
)
def test_clusters_that_cannot_be_are_refused(words: list[str], why: str) -> None:
    with pytest.raises(qemu.RunnerError, match=why):
        arguments.parse(words)


def test_a_linux_node_is_told_who_it_is_and_where_its_files_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("e1000", "9p", "9pnet", "9pnet_fd"):
        (tmp_path / f"{name}.ko").write_bytes(b"\0depends=" + (b"9pnet" if name == "9p" else b"") + b"\0")
    monkeypatch.setattr(linux.LinuxNode, "module_folder", lambda self, *_: tmp_path)
    monkeypatch.setattr(linux.LinuxNode, "kernel_file", lambda self, *_: tmp_path / "vmlinux")
    monkeypatch.setattr(qemu, "BUSYBOX", tmp_path / "e1000.ko")
    mount = linux.Mount("10.99.0.1", 20000, Path("/a share"))
    archive = linux.initramfs(PUBLIC, mount, "10.99.0.11 node1\n")
    files = {entry.name: entry for entry in cpio.unpack(archive)}
    assert files["etc/hosts"].data == b"10.99.0.11 node1\n"
    init = files["init"].data.decode()
    assert re.findall(r"insmod /modules/(\S+)", init) == ["e1000.ko", "9pnet.ko", "9p.ko", "9pnet_fd.ko"]
    assert (
        f"--conductor-key {PUBLIC}" in init
        and "mount -t 9p -o 'trans=tcp,port=20000," in init
        and "aname=/a share' 10.99.0.1 /mnt" in init
    )
    boot = linux.boot(102)
    assert boot.module == layout.LINUX_FILES
    assert set(boot.command_line.split()) >= {
        *("NODE=linux2", "ADDRESS=10.99.0.112"),
        *(f"DATA={layout.data_mac(102)}", f"BEATS={layout.beats_mac(102)}"),
    }


def test_a_linux_node_s_steps_are_read_from_its_console(tmp_path: Path) -> None:
    plan = arguments.parse(["--nodes", "1", "--linux", "1", "--logs", str(tmp_path)])
    node = nodes.Node(101, plan, Stream(io.BytesIO()), Stream(io.BytesIO()), lambda: None)
    steps = []
    for text in (b"linux: linux1, Linux 6.1\r\n", b"tacet-launchd: linux1 takes jobs at port 35019, on 1"):
        node._console(text + b"\r\n")
        steps.append(node.state)
    assert steps == [nodes.BOOTS, nodes.RUNS]


def test_keys_are_fresh_and_nobody_else_reads_them(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        services.key_new(path)
    keys = {path.read_text() for path in paths}
    assert len(keys) == 2 and all(len(key) == 33 and int(key, 16) >= 0 for key in keys)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in paths)
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
    assert steps == [nodes.ASKED, nodes.LOADS, nodes.BOOTS]
    node._console(b"tacet: launch: the node waits for jobs at port 35019\r\n")
    assert steps == [nodes.ASKED, nodes.LOADS, nodes.BOOTS, nodes.RUNS]
    programmed = arguments.parse(["--logs", str(tmp_path), "--app", "/bin/busybox"])
    other = nodes.Node(1, programmed, Stream(io.BytesIO()), Stream(err), lambda: None)
    other._console(b"tacet: network: eth0 has 10.99.0.11/24, name node1\r\n")
    assert other.state == nodes.RUNS
    assert node.tail()[0] == "GRUB" and not err.getvalue()
    assert (tmp_path / "node2.console").read_bytes().startswith(b"\x1b[0;30;47mGRUB")


def test_a_node_that_could_not_be_started_has_a_status_and_a_reason(tmp_path: Path) -> None:
    plan = arguments.parse(["--logs", str(tmp_path)])
    node = nodes.Node(1, plan, Stream(io.BytesIO()), Stream(io.BytesIO()), lambda: None)
    node.problem = "no such QEMU"
    assert node.status == nodes.NO_STATUS and node.failure() == ["could not be started: no such QEMU"]
