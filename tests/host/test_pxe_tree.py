# SPDX-License-Identifier: BSD-2-Clause
"""The folder of boot/make-pxe: what is in it, what is wrong with the input in one line, and that DHCP servers
take their configurations."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUSYBOX = "/bin/busybox"
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def found(name: str) -> str | None:
    return shutil.which(name, path=PATH)


DNSMASQ = found("dnsmasq")


def make_pxe(folder: Path, *words: str | Path, options: str = "") -> subprocess.CompletedProcess[str]:
    end = words.index("--") if "--" in words else len(words)
    kernel = folder.parent / "tacet.elf"
    kernel.write_bytes(b"a kernel")
    command = ["boot/make-pxe", *words[:end], folder, kernel, BUSYBOX, *words[end:]]
    environment = {**os.environ, "TACET_OPTIONS": options}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def made(folder: Path, *words: str | Path, options: str = "") -> Path:
    done = make_pxe(folder, *words, options=options)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_folder_has_what_nodes_of_both_firmwares_ask_for(tmp_path: Path) -> None:
    folder = made(tmp_path / "pxe", "--", "echo", "two  words", "it's")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "dnsmasq.conf",
        *(f"tacet/{name}" for name in ("bios.0", "uefi.efi", "grub.cfg", "tacet.elf", "program")),
        "tacet/nodes/default.cfg",
    }
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.rglob("*")), "dnsmasq is not root"
    default = (folder / "tacet/nodes/default.cfg").read_text()
    assert "bootif=$node 'argv0=busybox' -- 'echo' 'two  words' 'it'\\''s'; then\n" in default


def test_a_node_s_line_adds_to_what_all_have(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copy(BUSYBOX, other)
    (tmp_path / "nodes").write_text(
        "# MAC\n\n"
        "52-54-00-AB-00-01 address=10.99.0.7 name=node7 'env=A=two  words'\n"
        f"52:54:00:ab:00:02 program={other} ranks=2 -- -n 5 # the second\n"
    )
    folder = made(tmp_path / "pxe", "--nodes", tmp_path / "nodes", "--", "all", options="end=reboot")
    first, second = ((folder / f"tacet/nodes/01-52-54-00-ab-00-0{n}.cfg").read_text() for n in (1, 2))
    assert "'argv0=busybox' 'end=reboot' 'env=A=two  words' -- 'all'; then\n" in first
    assert "'argv0=other' 'end=reboot' 'ranks=2' -- '-n' '5'; then\n" in second
    assert "$files/program;" in first and "$files/program2;" in second
    assert (folder / "tacet/program2").read_bytes() == other.read_bytes()
    conf = (folder / "dnsmasq.conf").read_text()
    assert "dhcp-host=52:54:00:ab:00:01,10.99.0.7,node7,infinite\n" in conf and "ab:00:02" not in conf


def test_a_second_tree_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("52:54:00:12:34:56 end=halt\n")
    folder = made(tmp_path / "pxe", "--nodes", tmp_path / "nodes")
    made(folder)
    assert [path.name for path in (folder / "tacet/nodes").iterdir()] == ["default.cfg"]


@pytest.mark.parametrize(
    ("words", "line", "said"),
    [
        (["--network", "10.1.0.1/24"], "", "--network takes a network such as 10.1.0.0/16: "),
        (["--network", "10.1.0.0/30"], "", "--network 10.1.0.0/30 has no room for nodes"),
        (["--server", "host"], "", "--server takes an address such as 10.1.0.7, not host"),
        (["--interface", "a b"], "", "--interface takes a name such as eth1, not a b"),
        (["--proxy"], "", "with another DHCP server, nodes need this server's address: --server ADDRESS"),
        (["--port", "com9"], "", "no such serial port: com9"),
        (["--speed", "1"], "", "not a serial port's speed: 1"),
        (["--wrong"], "", "unrecognized arguments: --wrong"),
        ([], "node7 end=halt", "nodes:1: node7 is no MAC address such as 52:54:00:12:34:56"),
        ([], "52:54:00:12:34:56 'open", "nodes:1: No closing quotation"),
        ([], "52:54:00:12:34:56 address=7", "nodes:1: address= takes an address"),
        ([], "52:54:00:12:34:56 address=10.1.0.7", "nodes:1: address=10.1.0.7 is not in the network"),
        ([], "52:54:00:12:34:56 name=a_b", "nodes:1: name=a_b is no name of a host"),
        ([], "52:54:00:12:34:56 program=/nowhere", "nodes:1: no such program: /nowhere"),
        ([], "52:54:00:12:34:56\n52-54-00-12-34-56", "nodes:2: 52:54:00:12:34:56 has a line already"),
        (["--", "a", ""], "", "GRUB cannot pass an empty argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: list[str | Path], line: str, said: str, tmp_path: Path
) -> None:
    if line:
        (tmp_path / "nodes").write_text(line + "\n")
        words = ["--nodes", tmp_path / "nodes", *words]
    done = make_pxe(tmp_path / "pxe", *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("boot/make-pxe: ") and said in done.stderr, done.stderr
    assert not (tmp_path / "pxe").exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter").write_text("dear")
    done = make_pxe(tmp_path / "home")
    assert done.returncode == 2 and "has other contents" in done.stderr
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter"]


@pytest.mark.skipif(DNSMASQ is None, reason="dnsmasq-base is not installed (ports/deps.sh network)")
@pytest.mark.parametrize("words", [[], ["--proxy", "--server", "10.1.0.1"], ["--server", "10.1.0.1"]])
def test_dnsmasq_takes_the_configuration(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("52:54:00:12:34:56 address=10.1.0.9 name=node9\n")
    network = ("--network", "10.1.0.0/16", "--interface", "eth1")
    folder = made(tmp_path / "pxe", *network, "--nodes", tmp_path / "nodes", *words)
    command = [str(DNSMASQ), "--test", f"--conf-file={folder / 'dnsmasq.conf'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "syntax check OK" in done.stderr, done.stderr


def shown(kind: str, begin: str) -> str:
    """The block of docs/pxe.md that begins so."""
    blocks = re.findall(rf"```{kind}\n(.*?)```", (ROOT / "docs/pxe.md").read_text(), re.DOTALL)
    return next(block for block in blocks if block.startswith(begin))


@pytest.mark.skipif(found("dhcpd") is None, reason="ISC's dhcpd is not installed")
def test_dhcpd_takes_the_page_s_configuration(tmp_path: Path) -> None:
    conf = tmp_path / "dhcpd.conf"
    conf.write_text(shown("text", "option client-architecture"))
    done = subprocess.run([found("dhcpd"), "-t", "-cf", conf], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(found("kea-dhcp4") is None, reason="Kea is not installed")
def test_kea_takes_the_page_s_configuration(tmp_path: Path) -> None:
    conf = tmp_path / "kea.json"
    conf.write_text(shown("json", "{").replace('"eth1"', '"lo"'))
    done = subprocess.run([found("kea-dhcp4"), "-t", conf], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
