# SPDX-License-Identifier: BSD-2-Clause
"""The network of a Linux node: the modules of its card, and the commands with which its first process sets it
up.

Debian's kernel has the cards' drivers as modules, which ports/linux/fetch.sh unpacks next to the kernel. Each
module names the modules that it needs in its section .modinfo, as `depends=a,b`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cpio

from .errors import RunnerError
from .network import USER_ADDRESS, Network

_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")

_LOOPBACK = "$b ip link set lo up\n"

# A card has a link some milliseconds after it is enabled.
_LINK = """$b ip link set eth0 up || echo "linux: no network card"
tries=500
until [ "$($b cat /sys/class/net/eth0/carrier)" = 1 ] || [ $tries = 0 ]; do
    tries=$((tries - 1))
    $b usleep 10000
done 2>/dev/null
"""

_DHCP = """$b udhcpc -i eth0 -n -q -f -s /network >/dev/null 2>&1 || echo "linux: no address by DHCP"
"""

#: The script that udhcpc calls with a lease.
_DHCP_SCRIPT = """#!/bin/busybox sh
b=/bin/busybox
[ "$1" = bound ] || exit 0
$b ip addr add "$ip/$mask" dev eth0
for gateway in $router; do $b ip route add default via "$gateway" && break; done
for server in $dns; do echo "nameserver $server" >>/etc/resolv.conf; done
"""


@dataclass(frozen=True)
class LinuxNetwork:
    """nic      the module of its card; None: no card
    address  "ADDRESS/BITS[,GATEWAY]", or `dhcp`; "" gives the card none
    modules  further modules, such as 9p and 9pnet_fd"""

    nic: str | None = None
    address: str = ""
    modules: Sequence[str] = ()

    def commands(self, folder: Path) -> str:
        """Shell commands for the first process; `folder` has the modules' files."""
        names = [path.stem for path in self.files(folder)]
        lines = [f"$b insmod /modules/{name}.ko\n" for name in names] + [_LOOPBACK]
        if self.nic is not None:
            lines.append(_LINK)
            if self.address == "dhcp":
                lines.append(_DHCP)
            elif self.address:
                address, _, gateway = self.address.partition(",")
                lines.append(f"$b ip addr add {shlex.quote(address)} dev eth0\n")
                lines += [f"$b ip route add default via {shlex.quote(gateway)}\n"] if gateway else []
        return "".join(lines)

    def files(self, folder: Path) -> list[Path]:
        """The modules' files, each after those that it needs. RunnerError if one is missing."""
        ordered: list[Path] = []

        def add(name: str) -> None:
            path = folder / f"{name}.ko"
            if path in ordered:
                return
            if not path.is_file():
                raise RunnerError(f"there is no module {path}; ports/linux/fetch.sh build gets it")
            found = _DEPENDS.search(path.read_bytes())
            for needed in filter(None, (found[1].decode() if found else "").split(",")):
                add(needed)
            ordered.append(path)

        for name in [*([self.nic] if self.nic else []), *self.modules]:
            add(name)
        return ordered

    def entries(self, folder: Path) -> list[cpio.Entry]:
        """The entries for the initramfs."""
        found = [cpio.Entry.folder("modules"), cpio.Entry.folder("etc")]
        found += [cpio.Entry.file(f"modules/{path.name}", path.read_bytes()) for path in self.files(folder)]
        if self.address == "dhcp":
            found.append(cpio.Entry.file("network", _DHCP_SCRIPT.encode(), executable=True))
        return found


def network_of(
    nic: str | None, address: str | None, modules: Sequence[str], card: Network | None
) -> LinuxNetwork:
    """A node's network. The defaults are the machine's card, and the address for the card's network."""
    if nic is None and card is not None:
        nic = card.card
    if address is None:
        address = "" if card is None else USER_ADDRESS if card.kind == "user" else "dhcp"
    return LinuxNetwork(nic, address, modules)
