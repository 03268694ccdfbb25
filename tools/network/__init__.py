# SPDX-License-Identifier: BSD-2-Clause
"""A private network for nodes in QEMU: a namespace with a bridge, and optionally a DHCP and TFTP server on
it. Needs no root, and is not visible outside.

The user is root in it (`unshare -rn`). The namespace lives as long as its first process, a shell that waits
for the end of its input; so it ends with this process, in any case. Programs are started in it with
nsenter(1): QEMU then makes a tap for its node and attaches it to the bridge (tools/network/join).

    with Namespace() as space, space.dnsmasq(folder / "dnsmasq.conf") as server:
        qemu.run_machine(["-boot", "n"], network=qemu.Network("bridge", enter=space.enter))
        server.wait("DHCPACK")

A process that is already in such a namespace (tools/rack) uses `Here`.

The bridge forwards from the first frame on (Linux would wait 15 s for a spanning tree). A router
advertisement is sent for iPXE, which otherwise waits 13 s for one; the bridge takes no address from it. The
bridge has a fixed Ethernet address: otherwise it would take a tap's address, and change it when that tap's
node ends; frames of other nodes to this machine would then be lost until they resolve its address again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BRIDGE = "tacet"
ADDRESS = "10.99.0.1/24"
#: The bridge's Ethernet address.
MAC = "52:54:00:ff:00:01"
_ROUTER = "fd99::1/64"
_PREFIX = "fd99::"

_SETUP = """set -e
ip link set lo up
ip link add {bridge} address {mac} type bridge forward_delay 0
echo 0 2>/dev/null >/proc/sys/net/ipv6/conf/{bridge}/autoconf || true
ip addr add {address} dev {bridge}
ip -6 addr add {router} dev {bridge} nodad 2>/dev/null || true
ip link set {bridge} up
"""
#: Keeps a namespace alive.
_WAIT = """echo ready
read line
"""


class Unavailable(Exception):
    """This machine cannot have such a network; the text says why in one line."""


class Server:
    """A program in the namespace that serves its nodes, and its standard error."""

    def __init__(self, process: subprocess.Popen[str], on_line: Callable[[str], None] | None = None) -> None:
        self.process = process
        self.lines: list[str] = []
        self._on_line = on_line
        self._news = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
            if self._on_line is not None:
                self._on_line(line.rstrip("\n"))
        with self._news:
            self._over = True
            self._news.notify_all()

    def said(self, text: str) -> bool:
        with self._news:
            return any(text in line for line in self.lines)

    def wait(self, text: str, seconds: float = 60.0) -> None:
        """Wait for a line with this text. Unavailable if it does not come in time or the program has
        ended."""
        deadline = time.monotonic() + seconds
        with self._news:
            while not any(text in line for line in self.lines):
                if self._over or not self._news.wait(max(deadline - time.monotonic(), 0)):
                    raise Unavailable(
                        f"no {text!r}: {self.lines[-1] if self.lines else 'it printed nothing'}"
                    )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()


class Space:
    """A network namespace with a bridge, in which programs can be started."""

    #: Words that start the command after them in the namespace; it ends with the process that has started it.
    enter: Sequence[str] = ()

    def popen(self, words: Sequence[str | Path], **settings: Any) -> subprocess.Popen[Any]:
        return subprocess.Popen([*self.enter, *words], **settings)

    def run(self, words: Sequence[str | Path], **settings: Any) -> subprocess.CompletedProcess[Any]:
        return subprocess.run([*self.enter, *words], **settings)

    def server(self, words: Sequence[str | Path], on_line: Callable[[str], None] | None = None) -> Server:
        """Start a server that gets no signals from the terminal. `on_line` is called for each line of its
        standard error."""
        process = self.popen(
            words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        return Server(process, on_line)

    def dnsmasq(self, *words: str | Path, on_line: Callable[[str], None] | None = None) -> Server:
        """Start dnsmasq and wait until it serves. `words` are its options, or the path of a configuration.
        Raises Unavailable."""
        if (program := shutil.which("dnsmasq", path=f"{os.environ.get('PATH', '')}:/usr/sbin")) is None:
            raise Unavailable("dnsmasq is not installed (ports/deps.sh network)")
        options = [f"--conf-file={word}" if isinstance(word, Path) else word for word in words]
        options += [] if any(isinstance(word, Path) for word in words) else ["--conf-file=/dev/null"]
        router = ["--enable-ra", f"--dhcp-range={_PREFIX},ra-only", f"--ra-param={BRIDGE},4"]
        # root is the only user here; leases are not stored in a file.
        own = ["--keep-in-foreground", "--log-facility=-", "--user=root", "--group=", "--pid-file="]
        server = self.server([program, *options, *own, "--leasefile-ro", *router], on_line)
        try:
            server.wait("started")
        except Unavailable:
            server.__exit__()
            raise
        return server


class Namespace(Space):
    """A new network; `address` is this machine's address on its bridge. Raises Unavailable."""

    def __init__(self, address: str = ADDRESS) -> None:
        check(("unshare", "nsenter", "setpriv", "ip"))
        setup = _setup(address) + _WAIT
        self.process = subprocess.Popen(
            ["unshare", "--map-root-user", "--net", "sh", "-c", setup],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        if self.process.stdout.readline() != "ready\n":
            said = self.process.stderr.read().strip().splitlines()
            self.close()
            raise Unavailable(f"unshare -rn does not work here: {said[0] if said else 'no message'}")
        self.enter = [
            *("nsenter", "--target", str(self.process.pid), "--user", "--net", "--preserve-credentials"),
            *("setpriv", "--pdeathsig", "KILL"),
        ]

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.process.wait()

    def __enter__(self) -> Namespace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Here(Space):
    """The namespace of this process, which was made for it and is empty. Programs started in it end with this
    process, or at the latest with the namespace."""

    def __init__(self, address: str = ADDRESS) -> None:
        self.enter = ["setpriv", "--pdeathsig", "KILL"]
        done = subprocess.run(["sh", "-c", _setup(address)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"cannot make a bridge: {done.stderr.strip() or 'no message from ip'}")


def check(tools: Sequence[str]) -> None:
    """Unavailable if one of these commands is missing, or no tap can be made."""
    if missing := [one for one in tools if shutil.which(one) is None]:
        raise Unavailable(f"missing: {', '.join(missing)} (ports/deps.sh network)")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unavailable("cannot open /dev/net/tun, which taps need")


def _setup(address: str) -> str:
    return _SETUP.format(bridge=BRIDGE, mac=MAC, address=address, router=_ROUTER)


def addresses_of(address: str) -> list[str]:
    """dnsmasq's options for plain DHCP on a bridge with this address: 10 … 250 of its network, without
    expiry."""
    begin = address.partition("/")[0].rpartition(".")[0]
    return [
        *("--port=0", f"--interface={BRIDGE}", "--bind-dynamic"),
        f"--dhcp-range={begin}.10,{begin}.250,infinite",
    ]
