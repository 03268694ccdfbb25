# SPDX-License-Identifier: BSD-2-Clause
"""Speak to a running QEMU: a machine protocol (QMP) client for tests that do something to the machine from
outside.

    with Monitor(folder, script) as monitor:
        result = run_tacet(..., qemu_options=monitor.options, on_console=monitor.at(b"exit status"))
    monitor.check()

`script(monitor)` runs in a thread of its own once `monitor.go` was called, or the watched output has come;
what it raises, check() raises again. Every wait is bounded.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connection import WAIT_SECONDS, connect


class Monitor:
    """One QEMU's monitor, on a socket in `folder`."""

    def __init__(self, folder: Path, script: Callable[[Monitor], None]) -> None:
        self._path = folder / "qmp"
        self._script = script
        self._go = threading.Event()
        self._error: BaseException | None = None
        self._lines: Any = None
        self._socket: socket.socket | None = None
        self._ended = False
        self.events: list[str] = []
        self.options = ["-qmp", f"unix:{self._path},server=on,wait=off"]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Monitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._go.set()
        self._thread.join(WAIT_SECONDS)
        if self._socket:
            self._socket.close()

    def go(self) -> None:
        self._go.set()

    def at(self, words: bytes) -> Callable[[bytes], None]:
        """A sink of output that starts the script when these bytes have come."""
        seen = bytearray()

        def sink(chunk: bytes) -> None:
            seen.extend(chunk)
            if words in seen:
                self.go()

        return sink

    def check(self) -> None:
        """Raise what the script raised."""
        if self._error:
            raise self._error

    def command(self, name: str, **arguments: Any) -> Any:
        """One command's answer."""
        assert self._socket
        self._socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self._next()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise AssertionError(f"{name}: {answer['error']}")

    def human(self, line: str) -> str:
        """A command of the monitor for people."""
        return str(self.command("human-monitor-command", **{"command-line": line}))

    def wait_event(self, name: str) -> None:
        while name not in self.events:
            self._next()

    def quit(self) -> None:
        """End QEMU, which may have ended before it answers."""
        try:
            self.command("quit")
        except (OSError, EOFError):
            pass

    def _next(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise EOFError("QEMU has ended")
        answer: dict[str, Any] = json.loads(line)
        if "event" in answer:
            self.events.append(answer["event"])
        return answer

    def _run(self) -> None:
        try:
            self._go.wait()
            if self._ended:
                raise AssertionError("the machine ended before its time had come")
            self._socket = connect(self._path)
            self._lines = self._socket.makefile("r", encoding="utf-8")
            self._next()
            self.command("qmp_capabilities")
            self._script(self)
        except BaseException as error:  # check() raises it again in the test
            self._error = error
