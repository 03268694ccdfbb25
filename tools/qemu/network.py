# SPDX-License-Identifier: BSD-2-Clause
"""A machine's network card and the network to which it is attached. By default a machine has no card.

user     QEMU's own network: a DHCP server at 10.0.2.2 gives 10.0.2.15; the node reaches this host's services
at
         10.0.2.2; only forwarded ports of the node can be reached; needs no privilege
bridge   the bridge of the network namespace that tools/with-network makes; QEMU makes a tap for the run and
         attaches it (tools/network/join)

QEMU, "Network emulation": https://www.qemu.org/docs/master/system/devices/net.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import paths
from .errors import RunnerError
from .version import qemu_binary, qemu_major

KINDS = ("user", "bridge")
#: QEMU's names of the cards that Tacet supports, and the oldest QEMU that has them.
CARDS = {"e1000": 1, "e1000e": 3, "igb": 8}
CARD_DEFAULT = "e1000"
#: The addresses of the node and the gateway in QEMU's own network.
USER_ADDRESS = "10.0.2.15/24,10.0.2.2"
JOIN = paths.ROOT / "tools" / "network" / "join"

_FORWARD = re.compile(r"(?:(tcp|udp):)?(\d{1,5}):(\d{1,5})")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


@dataclass(frozen=True)
class Network:
    """One card and its cable.

    kind      `user` or `bridge`
    card      QEMU's model: e1000, e1000e, igb
    mac       its address; None: QEMU's 52:54:00:12:34:56
    forward   with `user`: ports of 127.0.0.1 forwarded to the node, as "[tcp:|udp:]HOSTPORT:GUESTPORT"
    enter     with `bridge`: words that start QEMU in the bridge's namespace, if this process is not in it
    """

    kind: str
    card: str = CARD_DEFAULT
    mac: str | None = None
    forward: Sequence[str] = ()
    enter: Sequence[str] = ()

    def options(self, direct: bool) -> list[str]:
        """QEMU's options. A machine whose kernel QEMU loads itself (`direct`) does not need the card's boot
        ROM."""
        if self.kind == "user":
            netdev = "user,id=wire" + "".join(map(_forwarded, self.forward))
        else:
            netdev = f"tap,id=wire,script={str(JOIN).replace(',', ',,')},downscript=no"
        card = f"{self.card},netdev=wire"
        if self.mac is not None:
            card += f",mac={self.mac}"
        return ["-netdev", netdev, "-device", card + (",romfile=" if direct else "")]


def check(
    kind: str, card: str | None, mac: str | None, forward: Sequence[str], qemu: str | None
) -> tuple[Network | None, str | None]:
    """The network that the options ask for, and the QEMU that it needs. Raises RunnerError."""
    if kind not in (*KINDS, "none"):
        raise RunnerError(f"--network takes user, bridge or none, not {kind or 'nothing'}")
    if kind == "none":
        for option, value in (("--nic", card), ("--mac", mac), ("--forward", forward)):
            if value:
                raise RunnerError(f"{option} needs a network: add --network user or bridge")
        return None, qemu
    card = card or CARD_DEFAULT
    if card not in CARDS:
        raise RunnerError(f"--nic takes {', '.join(CARDS)}, not {card}")
    if qemu is None and qemu_major(qemu_binary()) < CARDS[card]:
        qemu = "newest"
    if qemu_major(qemu_binary(qemu or "system")) < CARDS[card]:
        raise RunnerError(f"--nic {card} needs QEMU {CARDS[card]} or newer: ports/qemu/fetch.sh build")
    if mac is not None and (not _MAC.fullmatch(mac.lower()) or int(mac[:2], 16) & 1):
        raise RunnerError(f"--mac takes an address of one card, such as 52:54:00:12:34:56, not {mac}")
    if forward and kind != "user":
        raise RunnerError("--forward is for --network user: a bridge needs no ports forwarded")
    for text in forward:
        _forwarded(text)
    return Network(kind, card, mac and mac.lower(), tuple(forward)), qemu


def _forwarded(text: str) -> str:
    """QEMU's option that forwards a port of 127.0.0.1 to the node. Raises RunnerError."""
    found = _FORWARD.fullmatch(text)
    if not found or not all(0 < int(port) < 65536 for port in found.groups()[1:]):
        raise RunnerError(f"--forward takes HOSTPORT:GUESTPORT, or udp:HOSTPORT:GUESTPORT, not {text}")
    return f",hostfwd={found[1] or 'tcp'}:127.0.0.1:{found[2]}-:{found[3]}"
