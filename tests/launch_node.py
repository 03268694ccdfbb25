# SPDX-License-Identifier: BSD-2-Clause
"""Nodes for tests of tacetrun, on this machine's loopback: they speak the node's part of the launch protocol
(docs/jobs.md), and their ranks are what a test gives them: a function, or the program itself as processes."""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable

NONCE = 0x0123456789ABCDEF
ID = "525400000001"
#: No part of a test takes this long; it ends the threads of a test that has failed.
PATIENCE_S = 120
#: The connections of each rank.
STREAMS = ("out", "err", "pmi")


class Job:
    """One launch on a node, as the node sees it."""

    def __init__(self, node: Node, connection: socket.socket) -> None:
        self.node = node
        self.connection = connection
        self.bytes = b""
        self.has_said = False
        #: Whether wait_for_kill has seen the kill, or tacetrun's end.
        self.is_killed = False
        self.launch = self.line().split()
        self.words: list[str] = []
        if self.launch[:1] == ["launch"]:
            text = self.take(int(self.launch[1])).decode()
            assert text.endswith("\0")
            self.words = text[:-1].split("\0")
            self.program = self.take(int(self.value("program", "0")))

    def line(self) -> str:
        while b"\n" not in self.bytes:
            self.receive()
        line, self.bytes = self.bytes.split(b"\n", 1)
        return line.decode()

    def take(self, count: int) -> bytes:
        while len(self.bytes) < count:
            self.receive()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def receive(self) -> None:
        came = self.connection.recv(1 << 20)
        if not came:
            raise EOFError
        self.bytes += came

    def say(self, *lines: str) -> None:
        self.connection.sendall("".join(f"{line}\n" for line in lines).encode())
        self.has_said = self.has_said or bool(lines)

    def is_heard(self) -> bool:
        """Waits until tacetrun has read what the node has said (at least one line)."""
        ends = [self.connection.getpeername(), self.connection.getsockname()]
        words = [f"{socket.inet_aton(host)[::-1].hex().upper()}:{port:04X}" for host, port in ends]
        with open("/proc/net/tcp", encoding="ascii") as table:
            rows = [row for line in table if (row := line.split())[1:3] == words]
        return self.has_said and bool(rows) and rows[0][4].endswith(":00000000")

    def values(self, name: str) -> list[str]:
        return [word.split("=", 1)[1] for word in self.words if word.split("=", 1)[0] == name]

    def value(self, name: str, default: str = "") -> str:
        return (self.values(name) or [default])[0]

    def number(self, name: str, default: int = 0) -> int:
        return int(self.value(name, str(default)))

    @property
    def ranks(self) -> range:
        first = self.number("first")
        return range(first, first + self.number("ranks"))

    def connect(self, first_line: str) -> socket.socket:
        """To tacetrun, at the address that the request came from."""
        connection = socket.create_connection(
            (self.connection.getpeername()[0], self.number("port")), PATIENCE_S
        )
        connection.sendall(first_line.encode())
        return connection

    def stream(self, rank: int, which: str) -> socket.socket:
        return self.connect(f"stream {self.value('secret')} {rank} {which}\n")

    def environment(self, rank: int) -> dict[str, str]:
        found = dict(text.split("=", 1) for text in self.values("env"))
        found.update({name: str(rank) for name in self.values("number")})
        local = str(rank - self.ranks[0])
        return {**found, "TACET_RANK": str(rank), "TACET_SIZE": self.value("size"), "TACET_LOCAL_RANK": local}

    def wait_for_kill(self, seconds: float = PATIENCE_S) -> bool:
        """Waits until tacetrun has said kill, or is gone."""
        if b"kill\n" in self.bytes:
            self.is_killed = True
            return True
        if not select.select([self.connection], [], [], seconds)[0]:
            return False
        try:
            self.receive()
        except (EOFError, OSError):
            self.is_killed = True
            return True
        return self.wait_for_kill(seconds)

    def end(self, status: int = 0) -> None:
        """All ranks end with this status."""
        self.say(*(f"rank {rank} {status}" for rank in self.ranks), f"end {status}")


class Node:
    """A node that waits for jobs; `run` is what it does with one. Used with `with`.

    `listener` is bound already. `greets_after`: seconds from the node's start to the first greeting.
    `gives_up`: the seconds that a visitor has to ask for a job, the node's last words for one that does not,
    and what is set then. `outrun`: with these words it refuses the first launch line, because it is busy with
    job 9 by then."""

    def __init__(
        self,
        run: Callable[[Job], None],
        name: str = "",
        greeting: str | None = None,
        listener: socket.socket | None = None,
        greets_after: float = 0,
        gives_up: tuple[float, str, threading.Event] | None = None,
        outrun: str = "",
        **words: str,
    ):
        self.run = run
        self.listener = listener or socket.socket()
        if not listener:
            self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.greets_at, self.gives_up = time.monotonic() + greets_after, gives_up
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        words = {"cpus": "4", "state": "idle", "name": name or "-", "id": ID, "system": "Linux-6.1", **words}
        need = words.pop("need", "open")
        said = " ".join(f"{word}={value}" for word, value in words.items())
        self.greeting = f"tacet-launch 2 {NONCE:016x} {need} {said}\n" if greeting is None else greeting
        self.outrun = outrun
        self.jobs: list[Job] = []
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(PATIENCE_S)
                try:
                    time.sleep(max(0.0, self.greets_at - time.monotonic()))
                    connection.sendall(self.greeting.encode())
                    if self.gives_up and not select.select([connection], [], [], self.gives_up[0])[0]:
                        self.gives_up[2].set()
                        connection.sendall(self.gives_up[1].encode())
                        continue
                    if self.outrun:
                        self.refuse(connection)
                        continue
                    job = Job(self, connection)
                    self.jobs.append(job)
                    self.run(job)
                except (EOFError, ConnectionError):
                    pass  # it was not chosen, or tacetrun has ended
                except BaseException as failure:
                    self.failure = failure
                    raise

    def refuse(self, connection: socket.socket) -> None:
        if not connection.makefile("rb").readline().startswith(b"launch "):
            return
        self.set_busy(True)
        connection.sendall(f"refused {self.outrun}\n".encode())
        connection.shutdown(socket.SHUT_WR)
        self.outrun = ""
        while connection.recv(1 << 16):
            pass

    def set_busy(self, is_busy: bool) -> None:
        states = ["state=idle", "state=busy job=9 uid=0"]
        self.greeting = self.greeting.replace(*(states if is_busy else states[::-1]))

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        assert self.failure is None


def processes(job: Job) -> None:
    """Ranks are processes of this machine, as tacet-launchd's are."""
    started = {}
    for rank in job.ranks:
        out, err, pmi = (job.stream(rank, which) for which in STREAMS)
        for stream in (out, err, pmi):
            stream.settimeout(None)  # the program's descriptors block
        started[rank] = subprocess.Popen(
            job.values("arg"),
            executable=job.value("path"),
            stdin=out if job.value("stdin") == str(rank) else subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**job.environment(rank), "PMI_FD": str(pmi.fileno())},
            pass_fds=[pmi.fileno()],
            cwd=job.value("cwd") or None,
        )
        for stream in (out, err, pmi):
            stream.close()
    job.say("started")

    def watch() -> None:
        if job.wait_for_kill():
            for process in started.values():
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    worst = 0
    for rank, process in started.items():
        status = process.wait()
        status = 128 - status if status < 0 else status
        worst = max(worst, status)
        job.say(f"rank {rank} {status}")
    job.say(f"end {worst}")
    job.connection.shutdown(socket.SHUT_RDWR)
    watcher.join()
