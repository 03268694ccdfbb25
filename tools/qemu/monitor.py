# SPDX-License-Identifier: BSD-2-Clause
"""A connection to QEMU's monitor by the machine protocol (QMP), through which the human monitor's commands
work, too.

Each run has one, on a socket that QEMU inherits (process.py), to find out where a machine hangs. Tests that
act on a machine open a second one by a path. Every wait ends after `seconds`.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any


class MonitorError(Exception):
    """The monitor does not answer, has gone away, or refuses a command."""


def connect(path: Path, seconds: float) -> socket.socket:
    """Connect to the socket of a QEMU that is being started; it listens before the guest's first instruction.
    OSError if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    while True:
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            if time.monotonic() > deadline:
                connection.close()
                raise
            time.sleep(0.02)


class Monitor:
    """The client's side of one monitor."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.events: list[str] = []
        self.causes: list[str] = []  #: reasons of events: guest-shutdown, guest-reset, …
        self._socket = connection
        self._seconds = seconds
        self._received = b""
        self._greeted = False

    def greet(self) -> None:
        """Take the greeting and end the protocol's negotiation; does nothing the second time."""
        if not self._greeted:
            self._next()
            self.command("qmp_capabilities")
            self._greeted = True

    def wait_at_most(self, seconds: float) -> None:
        """Set the time limit for each further answer."""
        self._seconds = seconds

    def command(self, name: str, **arguments: Any) -> Any:
        """Send a command and return its answer. Raises MonitorError."""
        line = json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n"
        try:
            self._socket.settimeout(self._seconds)
            self._socket.sendall(line)
        except OSError as error:
            raise MonitorError(f"cannot send to QEMU's monitor: {error}") from None
        while True:
            answer = self._next()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise MonitorError(f"{name}: {answer['error'].get('desc', answer['error'])}")

    def human(self, line: str) -> str:
        """Send a command of the human monitor and return its output. Raises MonitorError."""
        return str(self.command("human-monitor-command", **{"command-line": line}))

    def wait_event(self, name: str) -> None:
        while name not in self.events:
            self._next()

    def quit(self) -> None:
        """End QEMU, which may end before it answers."""
        try:
            self.command("quit")
        except MonitorError:
            pass

    def close(self) -> None:
        self._socket.close()

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + self._seconds
        while b"\n" not in self._received:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                raise MonitorError(f"QEMU's monitor has not answered for {self._seconds:g} s") from None
            except OSError as error:
                raise MonitorError(f"QEMU's monitor: {error}") from None
            if not chunk:
                raise MonitorError("QEMU has ended")
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            raise MonitorError(f"QEMU's monitor answers {line[:80]!r}") from None
        if "event" in answer:
            self.events.append(answer["event"])
            self.causes += [str(value) for key, value in answer.get("data", {}).items() if key == "reason"]
        return dict(answer)
