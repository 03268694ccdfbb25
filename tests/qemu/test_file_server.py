# SPDX-License-Identifier: BSD-2-Clause
"""Files of a server: Debian's diod, reached through QEMU's user network, mounted by `mount=`."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run, expect_exit

BAD_INPUT = 64
DIOD = shutil.which("diod", path="/usr/sbin:/sbin:/usr/bin")
NETWORK = ["-netdev", "user,id=n0", "-device", "e1000,netdev=n0"]
HOST = "10.0.2.2"  # this machine, for a node in QEMU's user network


class Server:
    """diod on 127.0.0.1 and a port of its own, exporting one folder."""

    def __init__(self, export: Path) -> None:
        self.export = export
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert DIOD, "diod is not installed (ports/deps.sh test)"
        whom = ["-u", str(os.getuid())] if os.getuid() else []
        command = [DIOD, "-f", "-n", "-N", *whom, "-c", "/dev/null", "-L", "/dev/null"]
        self.process = subprocess.Popen(
            [*command, "-l", f"127.0.0.1:{self.port}", "-e", str(self.export)]
        )
        while True:
            assert self.process.poll() is None, "diod has ended"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.01)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    @property
    def mount(self) -> str:
        return f"mount=/home:{HOST}:{self.port}:{self.export}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    export = tmp_path / "export"
    export.mkdir()
    made = Server(export)
    made.start()
    yield made
    made.kill()


def settings(server: Server, options: str = "") -> dict[str, object]:
    return {
        "options": f"{server.mount} ip=10.0.2.15/24 {options}",
        "qemu_options": NETWORK,
        "time_limit": 60,
    }


def test_a_program_reads_what_the_server_has(server: Server, busybox: Path, tacet: Run) -> None:
    (server.export / "folder").mkdir()
    content = random.Random(9).randbytes(300_000)
    (server.export / "folder" / "file").write_bytes(content)
    (server.export / "link").symlink_to("folder/file")
    result = expect_exit(tacet(busybox, "md5sum", "/home/link", "/home/folder/file", **settings(server)))
    sums = subprocess.run(["md5sum", server.export / "link"], capture_output=True, text=True, check=True)
    assert result.stdout.decode().split()[::2] == [sums.stdout.split()[0]] * 2, result.explain()


def test_what_a_program_writes_is_on_the_server(server: Server, busybox: Path, tacet: Run) -> None:
    content = random.Random(9).randbytes(1_000_000)
    (server.export / "from").write_bytes(content)
    expect_exit(tacet(busybox, "cp", "/home/from", "/home/to", **settings(server)))
    assert (server.export / "to").read_bytes() == content
