# SPDX-License-Identifier: BSD-2-Clause
"""The client of 9P2000.L on a node, with Debian's diod on this machine: large transfers, several ranks, a
server that is started again in the middle, one that speaks something else. What the calls answer:
test_mounts.py."""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu

BAD_INPUT = 64
LARGE = random.Random(9).randbytes(6_000_000)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[qemu.FileServer]:
    export = tmp_path / "export"
    export.mkdir()
    (export / "large").write_bytes(LARGE)
    (export / "link").symlink_to("large")
    with qemu.FileServer([export]) as started:
        yield started


def settings(server: qemu.FileServer, options: str = "") -> dict[str, object]:
    mount = server.option(server.folders[0])
    return {"options": f"{mount} {options}", "network": qemu.Network("user"), "time_limit": 90}


def beside(work: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """Does this while the node runs."""

    @contextlib.contextmanager
    def manage() -> Iterator[None]:
        other = threading.Thread(target=work)
        other.start()
        yield
        other.join()

    return manage()


@pytest.mark.parametrize("cpus", [1, 2])
def test_every_rank_reads_what_the_server_has(
    cpus: int, server: qemu.FileServer, busybox: Path, tacet: Run
) -> None:
    result = expect_exit(tacet(busybox, "md5sum", "/mnt/large", "/mnt/link", cpus=cpus, **settings(server)))
    sums = [line.split()[0] for line in result.stdout.decode().splitlines()]
    assert sums == [hashlib.md5(LARGE).hexdigest()] * 2 * cpus, result.explain()


def test_what_is_written_while_the_server_is_started_again_is_there(
    server: qemu.FileServer, busybox: Path, tacet: Run
) -> None:
    copy = server.folders[0] / "copy"
    kills = []

    def restart() -> None:
        while not copy.exists() or copy.stat().st_size == 0:
            time.sleep(0.002)
        server.kill()
        kills.append(copy.stat().st_size)
        server.start()

    with beside(restart):
        result = tacet(busybox, "cp", "/mnt/large", "/mnt/copy", **settings(server))
    expect_exit(result)
    assert copy.read_bytes() == LARGE
    assert 0 < kills[0] <= len(LARGE)


@pytest.mark.parametrize(
    ("said", "reason"),
    [(b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak 9P2000.L"), (b"", "the connection ended at the greeting")],
    ids=["another protocol", "dies"],
)
def test_a_server_that_does_not_greet_is_named_with_what_it_does(
    said: bytes, reason: str, server: qemu.FileServer, busybox: Path, tacet: Run
) -> None:
    server.kill()
    with socket.create_server(("127.0.0.1", server.port)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                client.recv(4096)
                client.sendall(said)
                while said and client.recv(4096):
                    pass

        with beside(answer):
            result = tacet(busybox, "true", **settings(server, "mount_timeout=5s"))
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    assert "mount=/mnt" in result.reason, result.explain()
    assert reason in result.reason, result.explain()
