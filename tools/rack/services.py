# SPDX-License-Identifier: BSD-2-Clause
"""A cluster's services: the bridges, the folder that nodes boot from, dnsmasq, diod, and the conductor. Runs
in the house."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grub
import network
import pxe

import qemu

from . import layout, linux
from .arguments import Plan

#: The kernel's option for Tacet nodes without a program: they wait for jobs.
WAITS = "launch"


def key_new(path: Path, length: int = 16) -> None:
    """Write a new key to a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(os.urandom(length).hex() + "\n")


def node_keys(space: network.Space, control: Path, number: int) -> str:
    """The file of a node's keys, from the conductor. network.Unavailable if it does not answer."""
    words = [layout.SERVICE / "conductorctl", "--socket", control, "key"]
    words.append(layout.beats_mac(number).replace(":", ""))
    done = space.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise network.Unavailable(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def conductor_key(space: network.Space, control: Path) -> str:
    """The conductor's public key. network.Unavailable if it does not answer."""
    words = [layout.SERVICE / "conductorctl", "--socket", control, "--json", "keys"]
    done = space.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise network.Unavailable(done.stderr.strip() or done.stdout.strip())
    return str(json.loads(done.stdout)["conductor_key"])


def run_own() -> None:
    """Mount an empty /run, which disappears with the house. network.Unavailable if that fails."""
    # -n: without it mount(8) first makes the folder /run/mount in the /run that is then hidden.
    words = ["mount", "-n", "-t", "tmpfs", "-o", "mode=755", "tacet", str(layout.RUN)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise network.Unavailable(f"no {layout.RUN} of its own: {done.stderr.strip()}")


def processes_own() -> str:
    """Mount a /proc with the house's processes, under their numbers in the house; QEMU's own time is also
    read from it. Returns "", or why it failed: containers may refuse it."""
    words = ["mount", "-n", "-t", "proc", "-o", "nosuid,nodev,noexec", "proc", "/proc"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def beats_bridge(space: network.Space, taps: Sequence[str]) -> None:
    """Make a bridge with these taps, only for heartbeats: without addresses and without IPv6's automatic
    frames. network.Unavailable if that fails."""
    lines = [
        f"link add {layout.BEATS} address {layout.BEATS_MAC} type bridge forward_delay 0 mcast_snooping 0"
    ]
    lines += [f"tuntap add dev {tap} mode tap" for tap in taps]
    lines += [f"link set {tap} addrgenmode none master {layout.BEATS} up" for tap in taps]
    lines += [f"link set {layout.BEATS} addrgenmode none up"]
    done = space.run(
        ["ip", "-batch", "-"], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise network.Unavailable(f"no bridge for heartbeats: {done.stderr.strip()}")


def beats_card(tap: str, mac: str) -> list[str]:
    """QEMU's options for a card on such a tap."""
    return [
        *("-netdev", f"tap,id=beats,ifname={tap},script=no,downscript=no"),
        *("-device", f"e1000,netdev=beats,mac={mac},romfile="),
    ]


def beats_options(mac: str, keys: str) -> list[str]:
    """The kernel's options for heartbeats on this card, with a node's keys."""
    of = dict(line.split() for line in keys.splitlines())
    return ["nettick=irq", f"nettick_dev={mac}", f"nettick_key={of['beats']}", f"ticket_key={of['ticket']}"]


def asking(number: int, public: str) -> list[str]:
    """The kernel's options for heartbeats on a node's card for them, and for keys from the conductor."""
    return [f"nettick_dev={layout.beats_mac(number)}", f"conductor_key={public}"]


def conductor_words(
    key: Path,
    control: Path,
    rate: str,
    bridge: str = layout.BEATS,
    nodes: int = 0,
    identity: Path | None = None,
) -> list[str]:
    """The command that starts the conductor; `nodes`: the expected number, 0: not given. With an identity
    it gives keys to nodes at first sight."""
    words = ["conductor", "--interface", bridge, "--key", str(key), "--rate", rate, "--socket", str(control)]
    words += ["--identity", str(identity), "--trust-first"] if identity else []
    return [*words, *(["--nodes", str(nodes)] if nodes else [])]


def conductor(
    space: network.Space,
    key: Path,
    control: Path,
    rate: str,
    bridge: str = layout.BEATS,
    nodes: int = 0,
    identity: Path | None = None,
) -> network.Server:
    """Start the conductor for this number of nodes (0: for those that answer), and wait until it is ready.
    network.Unavailable if it does not start."""
    words = conductor_words(key, control, rate, bridge, nodes, identity)
    words[0] = str(layout.SERVICE / words[0])
    server = space.server(["sh", "-c", 'exec "$@" >&2', "sh", *words])
    try:
        server.wait(f"beats on {bridge}")
    except network.Unavailable as error:
        server.__exit__()
        raise network.Unavailable(f"the conductor does not start: {error}") from None
    return server


def rate_set(space: network.Space, control: Path, rate: str) -> None:
    """Change the conductor's rate. network.Unavailable if it does not answer."""
    done = space.run(
        [layout.SERVICE / "conductorctl", "--socket", control, "rate", rate], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise network.Unavailable(done.stderr.strip() or done.stdout.strip())


def tree(plan: Plan, public: str, mount: str) -> pxe.Tree:
    """The boot files of all Tacet nodes, each with its own card for heartbeats; their keys come from the
    conductor of this public key."""
    common = ["stdout=com2", "stderr=com3", mount, *(f"env={pair}" for pair in plan.env)]
    if plan.app is None:
        common.append(WAITS)
    nodes = {
        layout.data_mac(number): pxe.Node(
            plan.app,
            [*common, "nettick=irq", *asking(number, public), *plan.options],
            plan.args,
            layout.address_of(number),
            layout.name_of(number),
        )
        for number in range(1, plan.nodes + 1)
    }
    return pxe.Tree(layout.KERNEL, pxe.Node(plan.app, [], plan.args), nodes)


def names_known(plan: Plan) -> None:
    """Make the nodes' names known to programs of this machine in the house, in /etc/hosts."""
    lines = ["127.0.0.1 localhost"]
    lines += [f"{layout.address_of(number)} {layout.name_of(number)}" for number in plan.numbers]
    layout.HOSTS.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run(["mount", "--bind", str(layout.HOSTS), "/etc/hosts"], capture_output=True)


@dataclass(frozen=True)
class Started:
    """A server that runs for the whole life of a cluster."""

    name: str
    process: subprocess.Popen[Any]
    without: str  #: what no longer works after its end

    def end(self) -> str:
        """Wait for its end. Returns how it ended and what that means."""
        status = self.process.wait()
        how = f"has been killed by signal {-status}" if status < 0 else f"has ended with status {status}"
        return f"{self.name} {how}: {self.without}"


def start(plan: Plan, space: network.Space, on_line: Callable[[str], None]) -> list[Started]:
    """Start all servers; they end with the house. `on_line` gets dnsmasq's log. network.Unavailable or
    RunnerError if something does not start."""
    started = []
    names_known(plan)
    key_new(layout.KEY)
    key_new(layout.IDENTITY, 32)
    beats_bridge(space, [layout.tap_of(number) for number in plan.numbers])
    count = len(plan.numbers)
    server = conductor(space, layout.KEY, layout.SOCKET, plan.rate, nodes=count, identity=layout.IDENTITY)
    words = conductor_words(layout.KEY, layout.SOCKET, plan.rate, nodes=count, identity=layout.IDENTITY)
    again = [*words, "&"]
    lost = f"jobs go on, without beats or tickets for new jobs; to restart it: {' '.join(again)}"
    started.append(Started("conductor", server.process, lost))

    public = conductor_key(space, layout.SOCKET)
    share = plan.share or layout.SHARE
    layout.SHARE.mkdir()
    files = qemu.FileServer([share], layout.SERVER, layout.SERVER, mapped=True)
    files.start()
    if files.process is not None:
        started.append(Started("diod", files.process, f"nodes can no longer use {layout.PLACE}"))
    if plan.nodes:
        grub.check_tools(pxe.TOOLS)
        pxe.make(tree(plan, public, files.option(share, layout.PLACE)), layout.TREE)
        server = space.dnsmasq(layout.TREE / "dnsmasq.conf", on_line=on_line)
        started.append(Started("dnsmasq", server.process, "running nodes go on, but no node can boot"))
    if plan.linux:
        mount = linux.Mount(files.host, files.port, share)
        layout.LINUX_FILES.write_bytes(linux.initramfs(public, mount, layout.HOSTS.read_text()))
    return started
