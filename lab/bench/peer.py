# SPDX-License-Identifier: BSD-2-Clause
"""The other side of the network's benchmarks, on this machine: `Peer` is what apps/cost -u measures with
(apps/cost/wire.h), `Iperf` an iperf3 that serves one client after the other. Both listen on 127.0.0.1 only;
a machine in QEMU's own network reaches them at HOST."""

from __future__ import annotations

import socket
import subprocess
import threading
from pathlib import Path

from lab.common.errors import LabError

#: This machine's address for a machine in QEMU's own network.
HOST = "10.0.2.2"
PIECE_BYTES = 1 << 16
WAIT_S = 60.0


class Peer:
    """Echoes datagrams; sends and discards streams. Threads serve within a `with` block."""

    def __enter__(self) -> Peer:
        self._stream = socket.create_server(("127.0.0.1", 0))
        self.port = self._stream.getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self._threads = [
            threading.Thread(target=one, daemon=True) for one in (self._echo, self._serve_streams)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._stream, self._datagrams):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the socket is not connected; its reader returns nevertheless
            one.close()
        for thread in self._threads:
            thread.join()

    @property
    def address(self) -> str:
        """The peer's address for a machine in QEMU's own network."""
        return f"{HOST}:{self.port}"

    def _echo(self) -> None:
        while True:
            try:
                datagram, sender = self._datagrams.recvfrom(PIECE_BYTES)
                if not sender:
                    return
                self._datagrams.sendto(datagram, sender)
            except OSError:
                return

    def _serve_streams(self) -> None:
        while True:
            try:
                connection, _ = self._stream.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(WAIT_S)
                try:
                    self._serve(connection)
                except OSError:
                    pass  # the machine has closed the connection

    @staticmethod
    def _serve(connection: socket.socket) -> None:
        wanted = b""
        while len(wanted) < 8:
            if not (chunk := connection.recv(8 - len(wanted))):
                return
            wanted += chunk
        left = int.from_bytes(wanted, "little")
        while left:
            left -= connection.send(bytes(min(left, PIECE_BYTES)))
        while connection.recv(PIECE_BYTES):
            pass


class Iperf:
    """Runs an iperf3 server within a `with` block."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def __enter__(self) -> Iperf:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        words = [str(self._program), "-s", "-B", "127.0.0.1", "-p", str(self.port), "--forceflush"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self._process.stdout
        while b"listening" not in (line := self._process.stdout.readline()):
            if not line:
                raise LabError(f"{self._program} did not start to serve: status {self._process.wait()}")
        self._reader = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()
