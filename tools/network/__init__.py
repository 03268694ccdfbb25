# SPDX-License-Identifier: BSD-2-Clause
"""A network of its own for nodes in QEMU: a namespace with a bridge and, where wanted, a DHCP and TFTP server
on it. Nobody needs root for it, and nothing of it is seen outside.

The user who makes it is root in it (`unshare -rn`). The namespace lives as long as its first process, a shell
that waits for the end of its input, and so ends with this process, however that ends. Programs are started in
it with nsenter(1): QEMU then makes a tap for its node and joins the bridge (tools/network/join).

    with Namespace() as space, space.dnsmasq(folder / "dnsmasq.conf") as server:
        qemu.run_machine(["-boot", "n"], network=qemu.Network("bridge", enter=space.enter))
        server.wait("DHCPACK")

A process that is in such a namespace already (tools/rack) has the same by `Here`.

The bridge forwards from the first frame on (Linux would wait 15 s for a spanning tree), and a router's
advertisement is there for iPXE, which otherwise waits 13 s for one. It has an Ethernet address of its own:
without one it would take that of a tap, and another one whenever that node ends, and what other nodes send
to this machine would not arrive until they look for it anew. And it takes no address from the advertisement.
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
#: The bridge's.
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
#: What keeps a namespace alive.
_WAIT = """echo ready
read line
"""


class Unavailable(Exception):
    """There is no such network on this machine; the text says why in one line."""


class Server:
    """A program in the namespace that serves its nodes, and all that it says on its standard error."""

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
        """Until it has said that. Unavailable if it does not, or has ended."""
        deadline = time.monotonic() + seconds
        with self._news:
            while not any(text in line for line in self.lines):
                if self._over or not self._news.wait(max(deadline - time.monotonic(), 0)):
                    raise Unavailable(f"no {text!r}: {self.lines[-1] if self.lines else 'it says nothing'}")

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
    """A network namespace with a bridge, and what is started in it."""

    #: Words before a command that start it in there; it ends with the process that has started it.
    enter: Sequence[str] = ()

    def popen(self, words: Sequence[str | Path], **settings: Any) -> subprocess.Popen[Any]:
        return subprocess.Popen([*self.enter, *words], **settings)

    def run(self, words: Sequence[str | Path], **settings: Any) -> subprocess.CompletedProcess[Any]:
        return subprocess.run([*self.enter, *words], **settings)

    def server(self, words: Sequence[str | Path], on_line: Callable[[str], None] | None = None) -> Server:
        """A program, away from the terminal's signals; `on_line` is called for each line that it says."""
        process = self.popen(
            words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        return Server(process, on_line)

    def dnsmasq(self, *words: str | Path, on_line: Callable[[str], None] | None = None) -> Server:
        """dnsmasq, ready to serve; `words` are its options, or the configuration to use."""
        if (program := shutil.which("dnsmasq", path=f"{os.environ.get('PATH', '')}:/usr/sbin")) is None:
            raise Unavailable("there is no dnsmasq (ports/deps.sh network)")
        options = [f"--conf-file={word}" if isinstance(word, Path) else word for word in words]
        options += [] if any(isinstance(word, Path) for word in words) else ["--conf-file=/dev/null"]
        router = ["--enable-ra", f"--dhcp-range={_PREFIX},ra-only", f"--ra-param={BRIDGE},4"]
        # Only root is there for it to become; leases are kept in no file.
        own = ["--keep-in-foreground", "--log-facility=-", "--user=root", "--group=", "--pid-file="]
        server = self.server([program, *options, *own, "--leasefile-ro", *router], on_line)
        try:
            server.wait("started")
        except Unavailable:
            server.__exit__()
            raise
        return server


class Namespace(Space):
    """One network; `address` is this machine's on its bridge."""

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
            raise Unavailable(f"unshare -rn does not work here: {said[0] if said else 'it says nothing'}")
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
    """The namespace that this process is in; it has been made for it and is empty. What is started ends with
    it, or, at the latest, with the namespace."""

    def __init__(self, address: str = ADDRESS) -> None:
        self.enter = ["setpriv", "--pdeathsig", "KILL"]
        done = subprocess.run(["sh", "-c", _setup(address)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"no bridge here: {done.stderr.strip() or 'ip does not say why'}")


def check(tools: Sequence[str]) -> None:
    """Unavailable if one of these commands is not here, or no tap can be made."""
    if missing := [one for one in tools if shutil.which(one) is None]:
        raise Unavailable(f"missing: {', '.join(missing)} (ports/deps.sh network)")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unavailable("/dev/net/tun cannot be opened: no taps here")


def _setup(address: str) -> str:
    return _SETUP.format(bridge=BRIDGE, mac=MAC, address=address, router=_ROUTER)


def addresses_of(address: str) -> list[str]:
    """dnsmasq's options for plain DHCP on a bridge with this address: 10 … 250 of its network, for ever."""
    begin = address.partition("/")[0].rpartition(".")[0]
    return [
        *("--port=0", f"--interface={BRIDGE}", "--bind-dynamic"),
        f"--dhcp-range={begin}.10,{begin}.250,infinite",
    ]
