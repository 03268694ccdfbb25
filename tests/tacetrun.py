# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun with nodes in this process (launch_node.py), for the tests of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests import waiting
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
