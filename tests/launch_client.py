# SPDX-License-Identifier: BSD-2-Clause
"""The launch protocol (docs/jobs.md) from tacetrun's side, written from the document for the tests alone:
every field can be anything.

    with Job(("10.99.0.21", 35019), "/bin/busybox", ["busybox", "uname"], key=MASTER) as job:
        ended = job.finish()
    assert ended.status == 0 and ended.out[0] == b"Linux\\n"
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.keys import MASTER, ticket

PORT = 35019
#: Longer than this means that something hangs; the protocol's own limits are 10 s.
LIMIT_S = 120.0
SECRET = 0x0123456789ABCDEF


@dataclass
class Ended:
    """What a node has said of a job, and its ranks on their streams, by their numbers."""

    lines: list[str]
    out: dict[int, bytes] = field(default_factory=dict)
    err: dict[int, bytes] = field(default_factory=dict)

    @property
    def status(self) -> int | None:
        """Its status; None: refused, or cut off."""
        words = self.lines[-1].split() if self.lines else []
        return int(words[1]) if words[:1] == ["end"] else None

    @property
    def refused(self) -> str:
        """Why it was refused; "": it was not."""
        last = self.lines[-1] if self.lines else ""
        return last.removeprefix("refused ") if last.startswith("refused ") else ""

    @property
    def ranks(self) -> dict[int, int]:
        """The status of each."""
        words = [line.split() for line in self.lines]
        return {int(word[1]): int(word[2]) for word in words if word[0] == "rank"}


class Control:
    """The connection to a node, greeted: `greeting` has its words, `fields` those with a value."""

    def __init__(self, node: tuple[str, int]) -> None:
        self.socket = socket.create_connection(node, LIMIT_S)
        self._rest = b""
        self.greeting = self.line().split()
        self.nonce = self.greeting[2]
        self.fields = dict(word.split("=", 1) for word in self.greeting[4:])

    def line(self) -> str:
        """The next line; "" at the end."""
        while b"\n" not in self._rest:
            try:
                chunk = self.socket.recv(4096)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                assert not self._rest, self._rest
                return ""
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        assert len(line) <= 512 and line.isascii() and line.decode().isprintable(), line
        return line.decode()

    def lines(self) -> list[str]:
        """All lines that are left."""
        return list(iter(self.line, ""))

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def ask(self, content: bytes, more: bytes = b"", **user: Any) -> None:
        """Sends a request; `user` is what keys.ticket takes. The ticket is made with the tests' master key
        where the node wants one, and no other is given."""
        user = {"master": MASTER if self.greeting[3] == "ticket" else None, **user}
        shown = ticket(self.nonce, self.fields["id"], **user)
        self.send(b"launch %d %s\n" % (len(content), shown.encode()) + content + more)

    def close(self) -> None:
        self.socket.close()


class Streams:
    """Where ranks connect to."""

    def __init__(self, stdin: bytes, secret: int) -> None:
        self.secret, self.stdin = secret, stdin
        self.got: dict[tuple[int, str], bytearray] = {}
        self.ended: set[tuple[int, str]] = set()
        self.problem = ""
        self.news = threading.Condition()
        self._listener = socket.create_server(("", 0), backlog=1024)
        self._closing, self._close = socket.socketpair()
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        """Accepts streams. At the end it first takes those that still wait: their node has ended the job, and
        their bytes have arrived."""
        while self._listener in select.select([self._listener, self._closing], [], [])[0]:
            stream, _ = self._listener.accept()
            self._threads.append(threading.Thread(target=self._serve, args=(stream,), daemon=True))
            self._threads[-1].start()

    def _serve(self, stream: socket.socket) -> None:
        try:
            with stream, stream.makefile("rb") as reader:
                words = reader.readline().split()
                if not words:
                    return  # given up before it had begun
                kinds = (b"out", b"err", b"pmi")
                if words[:2] != [b"stream", b"%016x" % self.secret] or words[3] not in kinds:
                    self.problem = f"a stream began with {words}"
                    return
                name = (int(words[2]), words[3].decode())
                if name[1] == "out":
                    stream.sendall(self.stdin)
                    stream.shutdown(socket.SHUT_WR)
                kept = self.got.setdefault(name, bytearray())
                while chunk := reader.read1(65536):
                    with self.news:
                        kept += chunk
                        self.news.notify_all()
                with self.news:
                    self.ended.add(name)
                    self.news.notify_all()
        except OSError:
            pass  # the node has given it up, or the test this side

    def wait(self, rank: int, which: str, text: bytes) -> None:
        """Waits until the rank has written this."""
        with self.news:
            assert self.news.wait_for(lambda: text in self.got.get((rank, which), b""), LIMIT_S), self.got

    def wait_end(self, rank: int, which: str) -> None:
        with self.news:
            assert self.news.wait_for(lambda: (rank, which) in self.ended, LIMIT_S), self.got

    def close(self) -> None:
        self._close.close()
        for thread in self._threads:  # the first one appends to the list until it has ended
            thread.join(LIMIT_S)
        self._listener.close()
        self._closing.close()


class Job:
    """A job on one node; the request is sent when it is made. `key` is the master key, `user` what else
    keys.ticket takes, `words` are further ones of the request; `program` is sent. Streams are read until
    they end."""

    def __init__(
        self,
        node: tuple[str, int],
        path: str,
        args: Sequence[str],
        *,
        ranks: int = 1,
        number: int = 1,
        key: bytes | None = None,
        user: Mapping[str, Any] | None = None,
        stdin: bytes = b"",
        program: bytes | None = None,
        words: Sequence[str] = (),
    ) -> None:
        self.streams = Streams(stdin, SECRET)
        self.control = Control(node)
        request = [f"job={number}", f"ranks={ranks}", f"port={self.streams.port}", f"secret={SECRET:016x}"]
        request += [f"path={path}", *(f"arg={arg}" for arg in args), *words]
        request += [] if program is None else [f"program={len(program)}"]
        content = "".join(f"{word}\0" for word in request).encode()
        asks = {"job": number, **({"master": key} if key else {}), **(user or {})}
        self.control.ask(content, program or b"", **asks)
        self.lines: list[str] = []

    def line(self) -> str:
        self.lines.append(self.control.line())
        return self.lines[-1]

    def started(self) -> Job:
        assert self.line() == "started", self.lines
        return self

    def kill(self) -> None:
        self.control.send(b"kill\n")

    def finish(self) -> Ended:
        """Waits for its end and that of its streams."""
        lines = [*self.lines, *self.control.lines()]
        self.close()
        assert not self.streams.problem, self.streams.problem
        found = Ended(lines)
        for (rank, which), content in self.streams.got.items():
            if which != "pmi":
                (found.out if which == "out" else found.err)[rank] = bytes(content)
        return found

    def close(self) -> None:
        self.control.close()
        self.streams.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if self.control.socket.fileno() >= 0:
            self.close()


def reset(control: Control) -> None:
    """Ends the connection without a word, as a machine that has lost it."""
    control.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    control.close()
