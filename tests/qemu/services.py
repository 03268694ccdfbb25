# SPDX-License-Identifier: BSD-2-Clause
"""Services of this machine that programs on a node use, and the node's cable to them: QEMU's own network, in
which this machine is HOST. All listen on 127.0.0.1, on ports that the system gives.

    with Services() as services:
        … QEMU with options(card) … a program that fetches services.url("/file")
"""

from __future__ import annotations

import hashlib
import http.server
import socket
import socketserver
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOST = "10.0.2.2"
NODE = "10.0.2.15/24,10.0.2.2"
#: The one name that the name server knows.
NAME, NAME_ADDRESS = "node7.example", "192.0.2.77"


def content(number: int, length: int) -> bytes:
    """Bytes of a file or a body, another for each number."""
    return (hashlib.sha256(b"%d" % number).digest() * (length // 32 + 1))[:length]


def options(
    card: str = "e1000", forward: Sequence[tuple[int, int]] = (), tftp: Path | None = None
) -> list[str]:
    """QEMU's options. `forward`: ports of this machine and of the node; `tftp`: a folder that it serves."""
    netdev = "user,id=wire" + "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in forward)
    if tftp is not None:
        netdev += f",tftp={tftp}"
    return ["-netdev", netdev, "-device", f"{card},netdev=wire,romfile="]


class _Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """/bytes/NUMBER/LENGTH; /moved leads to /bytes/1/10."""
        words = self.path.strip("/").split("/")
        if words == ["moved"]:
            self.answer(302, b"", Location="/bytes/1/10")
        elif words[0] == "bytes" and len(words) == 3:
            self.answer(200, content(int(words[1]), int(words[2])))
        else:
            self.answer(404, b"no such file\n")

    def do_PUT(self) -> None:
        """The sum of what was sent."""
        if self.headers.get("Expect") == "100-continue":
            pass  # BaseHTTPRequestHandler has said so
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, hashlib.sha256(body).hexdigest().encode())

    do_POST = do_PUT


class _Upper(socketserver.BaseRequestHandler):
    """Sends back in capitals what has come, at the end of it."""

    def handle(self) -> None:
        said = bytearray()
        while chunk := self.request.recv(1 << 16):
            said += chunk
        self.request.sendall(bytes(said).upper())


class _Names(socketserver.BaseRequestHandler):
    """A name server that knows one address (RFC 1035, 4)."""

    def handle(self) -> None:
        query, answer_to = self.request
        end = query.index(b"\0", 12) + 5
        name = b"".join(bytes([len(word)]) + word.encode() for word in NAME.split(".")) + b"\0"
        known = query[12 : end - 4].lower() == name
        kind = struct.unpack(">H", query[end - 4 : end - 2])[0]
        answers = (
            b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(NAME_ADDRESS)
            if known and kind == 1
            else b""
        )
        flags = 0x8580 if known else 0x8583
        header = query[:2] + struct.pack(">HHHHH", flags, 1, bool(answers), 0, 0)
        answer_to.sendto(header + query[12:end] + answers, self.client_address)


class _Streams(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


class Services:
    """HTTP, a stream in capitals, a name server; from `with` on."""

    def __enter__(self) -> Services:
        address = ("127.0.0.1", 0)
        self._http: Any = http.server.ThreadingHTTPServer(address, _Http)
        self._upper: Any = _Streams(address, _Upper)
        self._names: Any = socketserver.ThreadingUDPServer(address, _Names)
        self._servers = (self._http, self._upper, self._names)
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self._http.server_address[1]}{path}"

    @property
    def upper_port(self) -> int:
        return int(self._upper.server_address[1])

    @property
    def names_port(self) -> int:
        return int(self._names.server_address[1])
