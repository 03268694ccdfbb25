# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that boot over the network: a namespace with a bridge for them, folders of boot/make-pxe, and machines
that begin with their card's boot ROM."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import network
import pytest
from conftest import ROOT, slowness

import qemu

OVMF = ["-drive", "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE.fd"]
KERNEL = qemu.BUILD / "x86_64" / "tacet.stripped.elf"
MAC = "52:54:00:12:34:56"
STREAMS = "stdout=com2 stderr=com3"


def namespace() -> network.Namespace:
    """A network of one's own; where there is none, the test is skipped and says why."""
    try:
        return network.Namespace()
    except network.Unavailable as error:
        pytest.skip(str(error))


def tree(folder: Path, app: Path, *args: str, options: str = "", words: tuple[str, ...] = ()) -> Path:
    """A folder from which `app` boots; `words` are boot/make-pxe's options."""
    made = subprocess.run(
        ["boot/make-pxe", *words, folder, KERNEL, app, "--", *args],
        cwd=ROOT,
        env={**os.environ, "TACET_OPTIONS": f"{STREAMS} {options}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    return folder


def boot(
    space: network.Namespace, *options: str, card: str = "e1000", mac: str = MAC, uefi: bool = False, **more: Any
) -> qemu.Result:
    """A machine without a disk. What firmware and loader say is on the console, too."""
    wire = qemu.Network("bridge", card, mac, enter=space.enter)
    firmware = OVMF if uefi else ["-machine", "graphics=off"]
    limit = 120 * slowness()
    return qemu.run_machine([*firmware, *options], network=wire, **{"time_limit": limit, **more})


@contextmanager
def other_machine(space: network.Namespace, address: str) -> Iterator[list[str]]:
    """Another machine on the bridge: words before a command that start it there."""
    shell = space.popen(
        ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdin is not None and shell.stdout is not None
    try:
        assert shell.stdout.readline() == "ready\n"
        pid = str(shell.pid)
        inside = ["nsenter", "--target", pid, "--net"]
        for words in (
            f"ip link add port type veth peer name eth0 netns {pid}",
            f"ip link set port master {network.BRIDGE} up",
        ):
            space.run(words.split(), check=True)
        for words in (f"ip addr add {address} dev eth0", "ip link set eth0 up"):
            space.run([*inside, *words.split()], check=True)
        yield inside
    finally:
        shell.stdin.close()
        shell.stdout.close()
        shell.wait()
        space.run(["ip", "link", "delete", "port"], stderr=subprocess.DEVNULL)
