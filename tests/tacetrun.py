# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun with nodes in this process (launch_node.py), for the tests of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests import waiting
from tests.keys import ticket
from tests.launch_node import PATIENCE_S, Job, Node
from tests.making import ROOT

TACETRUN = ROOT / "build/service/tacetrun"
#: How a node that runs Tacet greets.
TACET = {"system": "Tacet-0.1"}
Run = Callable[[Job], None]


@contextmanager
def nodes_of(*runs: Run) -> Iterator[list[Node]]:
    """A node for each."""
    with ExitStack() as stack:
        yield [stack.enter_context(Node(run)) for run in runs]


def names_of(nodes: list[Node]) -> str:
    return ",".join(node.address for node in nodes)


def environment(**more: str) -> dict[str, str]:
    """The environment without what would lead to a real cluster."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TACET_")}
    return {**kept, "TACET_CONDUCTOR": "/nonexistent/conductor", **more}


def hears_all() -> None:
    """Before a program begins: `nohup make test` ignores SIGHUP, and what it starts would, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def started(nodes: list[Node] | None, *words: object, env: dict | None = None, **popen) -> subprocess.Popen:
    chosen = ["-w", names_of(nodes)] if nodes is not None else []
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    popen = {**pipes, "preexec_fn": hears_all, **popen}
    return subprocess.Popen([TACETRUN, *chosen, *map(str, words)], env=environment(**(env or {})), **popen)


def ran(
    nodes: list[Node] | None, *words: object, data: bytes | None = None, **more
) -> subprocess.CompletedProcess:
    """Runs tacetrun to its end; its output as text."""
    if data is not None:
        more["stdin"] = subprocess.PIPE
    process = started(nodes, *words, **more)
    out, err = process.communicate(data, timeout=PATIENCE_S)
    return subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())


def wait_for_start(nodes: list[Node]) -> None:
    """Waits until tacetrun knows that the job runs on all of them."""
    wait_until(lambda: all(node.jobs and node.jobs[0].is_heard() for node in nodes))


def shell(text: str) -> tuple[str, str, str]:
    return ("/bin/sh", "-c", text)


def wait_until(condition: Callable[[], object]) -> None:
    waiting.until(condition, "what the job was to do", PATIENCE_S)


def streams_then(*lines: str) -> Run:
    """Ranks with streams that end at once, and then these lines."""

    def run(job: Job) -> None:
        for rank in job.ranks:
            job.stream(rank, "out").close()
            job.stream(rank, "err").close()
        job.say(*lines)

    return run


def until_killed(job: Job) -> None:
    """Ranks that go on until they are killed, through this node's network."""
    streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
    job.say("started")
    assert job.wait_for_kill()
    for stream in streams:
        stream.close()
    job.end(137)


def deaf(job: Job) -> None:
    """Ranks that only compute: the node hears nothing but the end of the connection."""
    job.say("started")
    while job.wait_for_kill():
        job.bytes = b""
        try:
            job.receive()
        except (EOFError, OSError):
            return


class PmiClient:
    """A rank's connection to PMI."""

    def __init__(self, job: Job, rank: int) -> None:
        environment = job.environment(rank)
        assert environment["PMI_RANK"] == str(rank)
        self.connection = job.stream(rank, "pmi")
        self.lines = self.connection.makefile("rb")
        self.size = int(environment["PMI_SIZE"])
        said = self.exchange("cmd=init pmi_version=1 pmi_subversion=1")
        assert said == {"cmd": "response_to_init", "pmi_version": "1", "pmi_subversion": "1", "rc": "0"}
        self.store = self.exchange("cmd=get_my_kvsname")["kvsname"]

    def send(self, text: str) -> None:
        self.connection.sendall(text.encode())

    def answer(self) -> dict[str, str]:
        line = self.lines.readline().decode()
        if not line:
            raise EOFError
        return dict(word.split("=", 1) for word in line.split())

    def exchange(self, text: str) -> dict[str, str]:
        self.send(text + "\n")
        return self.answer()

    def put(self, key: str, value: str) -> dict[str, str]:
        return self.exchange(f"cmd=put kvsname={self.store} key={key} value={value}")

    def get(self, key: str) -> dict[str, str]:
        return self.exchange(f"cmd=get kvsname={self.store} key={key}")

    def finalize(self) -> None:
        assert self.exchange("cmd=finalize")["cmd"] == "finalize_ack"

    def __enter__(self) -> PmiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.connection.close()


class Conductor:
    """One that answers what it is told to, and keeps what it was asked. It serves connections side by
    side."""

    def __init__(self, path: Path, answer: Callable[[str], dict | None]) -> None:
        self.path, self.answer = path, answer
        self.requests: list[str] = []
        self.connections: list[socket.socket] = []
        self.leases: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(str(self.path))
        self.server.listen()
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Its connections end, as if it were killed."""
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join(PATIENCE_S)
        self.path.unlink()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()
        self.leases.clear()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # tacetrun may end before it is answered
            while request := connection.recv(65536).decode():
                if request.startswith(("job begin", "job resume")):
                    self.leases.append(connection)
                self.requests.append(request)
                answer = self.answer(request)
                if answer is not None:
                    connection.sendall(json.dumps(answer).encode() + b"\n")

    def tell(self, event: str, node: int) -> None:
        """News for the tacetrun that has said "job begin" or "job resume"."""
        self.leases[-1].sendall(json.dumps({"event": event, "node": node}).encode() + b"\n")

    def __enter__(self) -> Conductor:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


#: Of the conductor's tickets; these nodes do not look.
EXPIRES = 4102444800


def conducting(request: str) -> dict | None:
    if request.startswith("job begin"):
        return {"job": 4711}
    if request.startswith("ticket "):
        _, nonce, node, job = request.split()
        return {"ticket": ticket(nonce, node, job=int(job), expires=EXPIRES)}
    return {}
