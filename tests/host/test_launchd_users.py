# SPDX-License-Identifier: BSD-2-Clause
"""Whose jobs tacet-launchd runs (docs/jobs.md): tickets, keys, and what a job's processes may do."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.keys import MASTER, derive, key_write, node_lines, ticket
from tests.launch_client import LIMIT_S, Control, Job
from tests.launchd import BUSYBOX, LAUNCHD, Daemon
from tests.making import made


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    made("service")


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    started = Daemon()
    yield started
    started.close()


# ---- Tickets and keys ----


def refused(daemon: Daemon, line: str) -> str:
    control = Control(daemon.node)
    control.send(line.encode())
    (said,) = control.lines()
    assert said.startswith("refused ")
    return said.removeprefix("refused ")


def test_who_has_the_key_may_start_jobs_and_nobody_else(daemon: Daemon) -> None:
    control = Control(daemon.node)
    assert control.greeting[3] == "ticket"
    assert refused(daemon, "launch 9 1 0 0 - 0 -\n").startswith("this node has a key")
    wrong = "the ticket is wrong: it was made with another key, or for another node, nonce, job or user"
    assert refused(daemon, f"launch 9 1 0 0 - {2**40} {'0' * 32}\n") == wrong
    assert Job(daemon.node, BUSYBOX, ["true"], key=bytes(16)).finish().refused == wrong
    beats = derive(MASTER, "tacet beats")
    assert Job(daemon.node, BUSYBOX, ["true"], key=beats).finish().refused == wrong
    # Its own, for another connection.
    assert refused(daemon, f"launch 9 {ticket(control.nonce, 'n1')}\n") == wrong
    assert Job(daemon.node, BUSYBOX, ["true"]).finish().status == 0


def test_a_ticket_is_for_one_node_job_and_user_and_not_for_long(daemon: Daemon) -> None:
    """Each part of it is changed after it was made."""
    for part, other in ((0, "2"), (1, "4711"), (2, "4711"), (3, "4711"), (3, "-"), (4, str(2**40))):
        control = Control(daemon.node)
        words = ticket(control.nonce, "n1", groups=[8, 9]).split()
        words[part] = other
        control.send(f"launch 9 {' '.join(words)}\n".encode())
        (said,) = control.lines()
        assert said.startswith("refused the ticket is wrong"), (part, said)
    control = Control(daemon.node)
    assert refused(daemon, f"launch 9 {ticket(control.nonce, 'n2')}\n").startswith("the ticket is wrong")
    old = Job(daemon.node, BUSYBOX, ["true"], user={"expires": int(time.time()) - 86400}).finish().refused
    assert re.fullmatch(
        r"the ticket expired 8640\d s ago by this node's clock; a ticket is valid for 60 s", old
    )
    job = Job(daemon.node, BUSYBOX, ["true"], number=7, user={"job": 8}).finish()
    assert job.refused == "request: job=7, but its ticket is for job 8"
    assert Job(daemon.node, BUSYBOX, ["true"], user={"groups": [1] * 256}).finish().status == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (node_lines("n1")[:-1], ""),
        (node_lines("n1")[:-2], "it must hold two lines, `beats` and `ticket`"),
        (node_lines("n1")[:40], "it must hold two lines"),
        (MASTER.hex(), "it must hold two lines"),
        (node_lines("n1") + "x\n", "it must hold two lines"),
        ("".join(reversed(node_lines("n1").splitlines(True))), "it must hold two lines"),
        (" " * 1000, "it must hold two lines"),
        ("", "it is empty"),
    ],
)
def test_a_file_of_keys_that_is_not_whole_is_refused(tmp_path: Path, content: str, why: str) -> None:
    keys = key_write(tmp_path / "k", content)
    if not why:
        Daemon("--key", keys).close()
        return
    done = subprocess.run([LAUNCHD, "--key", keys], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2 and why in done.stderr and str(tmp_path / "k") in done.stderr, done
