# SPDX-License-Identifier: BSD-2-Clause
"""Whose job a Tacet node runs (docs/jobs.md): what programs are told, whom their files belong to, and for
whom a file server is asked. The node has no key, and believes what it is told."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting_nodes import PORT, WAITS, Node

import qemu
from tests.keys import node_lines, ticket
from tests.launch_client import Control, Ended, Job
from tests.making import ROOT, made

USERS = ROOT / "build/x86_64/tests/users.musl"
ALICE = {"uid": 4711, "gid": 4712, "groups": [4713, 4714]}
#: A user and groups with the largest numbers, and a user in no group but his own.
LARGE = {"uid": 2**32 - 2, "gid": 2**32 - 2, "groups": [2**32 - 2] * 256}
BOB = {"uid": 4715, "gid": 4715, "groups": []}
ROOT_USER = {"uid": 0, "gid": 0, "groups": []}


class Waiting:
    """A node that waits for jobs, with a folder of this machine as /mnt, and further kernel options."""

    def __init__(self, folder: Path, more: str = "") -> None:
        made("service", str(USERS.relative_to(ROOT)))
        self.folder = Path(tempfile.mkdtemp())  # pytest's own are closed to other users
        self.folder.chmod(0o755)
        self.share = self.folder / "share"
        self.share.mkdir()
        shutil.copy(USERS, self.share / "users")
        self.server = qemu.FileServer([self.share])
        self.server.start()
        self.port = qemu.free_port()
        line = f"stdout=com2 stderr=com3 launch {self.server.option(self.share)} {more}"
        network = qemu.Network("user", "e1000", "52:54:00:12:34:56", [f"{self.port}:{PORT}"])
        monitor = f"unix:{folder}/monitor1,server=on,wait=off"
        options = ["-kernel", str(qemu.KERNEL), "-append", line, "-qmp", monitor]
        self.node = Node(folder, 1, [], "", network=network, qemu_options=options)
        self.node.wait(WAITS)

    def job(self, user: dict[str, Any], *args: object, path: str = "/mnt/users", **more: Any) -> Ended:
        words = ["users", *map(str, args)]
        return Job(("127.0.0.1", self.port), path, words, user=user, **more).finish()

    def run(self, user: dict[str, Any], **more: Any) -> Ended:
        return self.job(user, user["uid"], user["gid"], *user["groups"], **more)

    def close(self) -> None:
        self.node.off()
        self.server.__exit__(None, None, None)
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    started = Waiting(tmp_path_factory.mktemp("users"))
    yield started
    started.close()


def test_programs_are_told_the_job_s_user_and_groups(waiting: Waiting) -> None:
    waiting.share.chmod(0o777)
    for user in (ALICE, LARGE, ROOT_USER, BOB):
        (waiting.share / "made").unlink(missing_ok=True)
        ended = waiting.run(user)
        assert ended.status == 0, ended
    sent = waiting.run(ALICE, path="users", program=USERS.read_bytes())
    assert sent.status == 0, sent


def test_files_on_a_mount_are_the_user_s_and_checked_by_the_server(waiting: Waiting) -> None:
    if os.geteuid() != 0:
        pytest.skip("a file server that serves several users needs root")
    made_by = waiting.share / "made"
    waiting.share.chmod(0o777)
    made_by.unlink(missing_ok=True)
    assert b"/mnt/made: made" in waiting.run(ALICE).out[0]
    assert (made_by.stat().st_uid, made_by.stat().st_gid) == (ALICE["uid"], ALICE["gid"])
    # Another user cannot open it, nor a folder's owner be passed by.
    assert b"/mnt/made: Permission denied" in waiting.run(BOB).out[0]
    made_by.unlink()
    waiting.share.chmod(0o755)
    assert b"/mnt/made: Permission denied" in waiting.run(BOB).out[0]
    # The program itself is looked for as the user, too.
    (waiting.share / "users").chmod(0o700)
    try:
        assert waiting.run(BOB).refused == "path=/mnt/users: its server refuses it to user 4715"
    finally:
        (waiting.share / "users").chmod(0o755)
    assert b"/mnt/made: made" in waiting.run(ROOT_USER).out[0]


def test_a_node_with_a_key_refuses_other_tickets_by_name(tmp_path: Path) -> None:
    """Of another node, user, job, connection and day; the node's id is its card's address."""
    node_id = "525400123456"
    keyed = Waiting(tmp_path, f"ticket_key={node_lines(node_id).split()[-1]}")
    address = ("127.0.0.1", keyed.port)

    def refused(make: Callable[[str], str]) -> str:
        """Why a line is refused; `make` gets the connection's nonce."""
        control = Control(address)
        assert control.greeting[3] == "ticket" and control.fields["id"] == node_id
        control.send(f"launch 9 {make(control.nonce)}\n".encode())
        (said,) = control.lines()
        control.close()
        return said.removeprefix("refused ")

    def as_root(nonce: str) -> str:
        words = ticket(nonce, node_id, uid=4711).split()
        return " ".join([words[0], "0", *words[2:]])

    try:
        earlier = Control(address)
        own = ticket(earlier.nonce, node_id)
        earlier.close()
        wrong = "the ticket is wrong: it was made with another key, or for another node, nonce, job or user"
        assert refused(lambda _: "1 0 0 - 0 -").startswith("this node has a key: it needs a ticket")
        assert refused(lambda _: own) == wrong
        assert refused(lambda nonce: ticket(nonce, node_id, master=bytes(16))) == wrong
        assert refused(lambda nonce: ticket(nonce, "525400123457")) == wrong
        assert refused(as_root) == wrong
        yesterday = {**ALICE, "expires": int(time.time()) - 86400}
        assert re.fullmatch(r"the ticket expired 86\d\d\d s ago by .*", keyed.run(yesterday).refused)
        job = Job(address, "/mnt/users", ["users"], number=7, user={"job": 8}).finish()
        assert job.refused == "request: job=7, but its ticket is for job 8"
        assert keyed.run(ALICE).status == 0
    finally:
        keyed.close()
