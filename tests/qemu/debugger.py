# SPDX-License-Identifier: BSD-2-Clause
"""Hold one CPU of a machine still while the others go on, by way of QEMU's port for debuggers (GDB's remote
protocol).

    with Debugger(folder, stop_at=address, keep_running=[0]) as debugger:
        result = run_tacet(..., qemu_options=debugger.options)
    debugger.check()

The machine starts stopped, runs until the first CPU comes to `stop_at`, and goes on with the named CPUs only.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from pathlib import Path

from qemu.monitor import connect

#: More than a busy host needs to start it.
WAIT_SECONDS = 300.0


class Debugger:
    """One QEMU's debugger port, on a socket in `folder`."""

    def __init__(self, folder: Path, stop_at: int, keep_running: Sequence[int]) -> None:
        self._path = folder / "gdb"
        self._stop_at = stop_at
        self._keep_running = keep_running
        self._error: BaseException | None = None
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.options = [
            "-S",
            "-chardev",
            f"socket,path={self._path},server=on,wait=off,id=gdb",
            "-gdb",
            "chardev:gdb",
        ]

    def __enter__(self) -> Debugger:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(WAIT_SECONDS)
        if self._socket:
            self._socket.close()

    def check(self) -> None:
        """Raise what went wrong while the machine ran."""
        if self._error:
            raise self._error

    def _send(self, text: str) -> None:
        assert self._socket
        self._socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())

    def _answer(self) -> str:
        """The next packet, acknowledged."""
        assert self._socket
        received = b""
        while b"#" not in received or len(received.split(b"#", 1)[1]) < 2:
            chunk = self._socket.recv(4096)
            if not chunk:
                raise EOFError("QEMU has ended")
            received += chunk
        self._socket.sendall(b"+")
        return received.split(b"$", 1)[1].split(b"#", 1)[0].decode()

    def _ask(self, text: str, expected: str = "") -> str:
        self._send(text)
        answer = self._answer()
        if not answer.startswith(expected):
            raise AssertionError(f"{text}: {answer}")
        return answer

    def _run(self) -> None:
        try:
            self._socket = connect(self._path, WAIT_SECONDS)
            self._ask("vCont?", "vCont;c")
            self._ask(f"Z1,{self._stop_at:x},1", "OK")
            self._ask("vCont;c", "T05")
            self._ask(f"z1,{self._stop_at:x},1", "OK")
            self._send("vCont;" + ";".join(f"c:{cpu + 1:x}" for cpu in self._keep_running))
        except BaseException as error:  # check() raises it again in the test
            self._error = error
