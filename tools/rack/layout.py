# SPDX-License-Identifier: BSD-2-Clause
"""Names and addresses of a cluster's nodes, and the files in its own /run."""

from __future__ import annotations

from pathlib import Path

from qemu import ROOT

NODES_MAX = 64
#: Linux nodes have numbers from 101 on, so that their addresses differ from those of Tacet nodes.
LINUX_BEGIN = 100
BEATS = "beats"
#: The conductor's address.
BEATS_MAC = "52:54:00:ff:00:02"
SERVER = "10.99.0.1"
RUN = Path("/run")
KEY = RUN / "beats.key"
IDENTITY = RUN / "identity.key"
#: The conductor's socket; programs get it in TACET_CONDUCTOR (service/lib/control.h).
SOCKET = RUN / "tacet-conductor.sock"
TREE = RUN / "pxe"
SHARE = RUN / "share"
HOSTS = RUN / "hosts"
#: All files of Linux nodes.
LINUX_FILES = RUN / "linux.cpio"
#: Where nodes have the shared folder.
PLACE = "/mnt"
SERVICE = ROOT / "build" / "service"
LAUNCHD = "tacet-launchd"
KERNEL = ROOT / "build" / "x86_64" / "tacet.stripped.elf"


def is_linux(number: int) -> bool:
    return number > LINUX_BEGIN


def name_of(number: int) -> str:
    """Nodes have numbers from 1 on."""
    return f"linux{number - LINUX_BEGIN}" if is_linux(number) else f"node{number}"


def address_of(number: int) -> str:
    return f"10.99.0.{10 + number}"


def data_mac(number: int) -> str:
    """The address of the card from which the node boots."""
    return f"52:54:00:01:00:{number:02x}"


def beats_mac(number: int) -> str:
    return f"52:54:00:02:00:{number:02x}"


def tap_of(number: int) -> str:
    """The tap that connects the node to the bridge of heartbeats."""
    return f"beats{number}"
