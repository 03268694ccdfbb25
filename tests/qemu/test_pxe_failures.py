# SPDX-License-Identifier: BSD-2-Clause
"""Each row of docs/pxe.md's table "it stops at … because …", provoked: what stands in the row's first column
appears on the console. A row that nothing provokes here fails, and so does one that is provoked and not in
the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import network
import nodes
import pytest
from conftest import ROOT, program
from monitor import Client, Monitor

PAGE = ROOT / "docs" / "pxe.md"
LONG = pytest.mark.long
NO_NODE = "10.99.0.77"


@dataclass(frozen=True)
class Failure:
    """What is wrong with a folder that boots: something is done to it, dnsmasq gets other options, or is not
    there."""

    spoil: Callable[[Path], object] = lambda folder: None
    server: bool = True
    uefi: bool = False
    options: str = ""


def replaced(name: str, old: str, new: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return spoil


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


#: By the row's first words.
FAILURES = {
    "No configuration methods": Failure(server=False),
    "Nothing to boot": Failure(replaced("dnsmasq.conf", "dhcp-boot=", "# dhcp-boot=")),
    "Connection timed out": Failure(replaced("dnsmasq.conf", "bios.0", f"bios.0,,{NO_NODE}")),
    "No such file or directory": Failure(without("tacet/bios.0")),
    "Permission denied": Failure(lambda folder: (folder / "tacet/bios.0").chmod(0o600)),
    "Exec format error": Failure(replaced("dnsmasq.conf", "uefi.efi", "bios.0"), uefi=True),
    "Tacet: no tftp://10.99.0.1/tacet/grub.cfg; again in 10 s": Failure(without("tacet/grub.cfg")),
    "Tacet: cannot load tacet.elf": Failure(without("tacet/tacet.elf")),
    "Tacet: cannot load program": Failure(without("tacet/program")),
    "Tacet: cannot load nodes/default.cfg": Failure(without("tacet/nodes/default.cfg")),
    "tacet: stop status=64": Failure(options="nonsense=1"),
    "tacet: stop status=65": Failure(options="service=/init service_memory=1G"),
}
#: Left to `make test-long`: firmware that waits computes for half a minute in an emulator, as does UEFI; and
#: what differs little from others.
LEFT = {
    *("No configuration methods", "Connection timed out", "Exec format error"),
    *("Tacet: cannot load nodes/default.cfg", "tacet: stop status=64", "tacet: stop status=65"),
}


@pytest.fixture(scope="module")
def space() -> Iterator[network.Namespace]:
    with nodes.namespace() as made:
        yield made


def rows() -> list[str]:
    """What the table's first column has in code."""
    text = PAGE.read_text()
    table = text[text.index("| it stops at |") :].split("\n\n")[0].splitlines()[2:]
    return [found[2] for row in table if (found := re.match(r"\| (`{1,2}) ?(.+?) ?\1", row))]


def test_the_table_has_what_is_provoked_here_and_nothing_else() -> None:
    assert sorted(rows()) == sorted(FAILURES)


@pytest.mark.parametrize("words", [pytest.param(one, marks=LONG) if one in LEFT else one for one in FAILURES])
def test_a_node_says_where_it_stops(words: str, space: network.Namespace, tmp_path: Path) -> None:
    failure = FAILURES[words]
    folder = nodes.tree(tmp_path / "pxe", program("status.musl"), options=failure.options)
    failure.spoil(folder)
    conf = folder / "dnsmasq.conf"
    server = space.dnsmasq(conf) if failure.server else None
    try:
        with Monitor(tmp_path, Client.quit) as monitor:
            result = nodes.boot(
                space, *monitor.options, uefi=failure.uefi, on_console=monitor.at(words.encode())
            )
    finally:
        if server is not None:
            server.__exit__()
    assert words in result.console, result.explain()
    assert "exit status=0" not in result.console, result.explain()
