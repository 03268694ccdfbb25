# SPDX-License-Identifier: BSD-2-Clause
"""The other end of a virtual machine's network cable: frames of Ethernet as bytes, one by one.

    with Wire() as wire:
        ... run a machine with wire.options("e1000") in a thread, or have the test in one: ...
        wire.connected(60)
        wire.send(frame)
        frame = wire.receive(10)

QEMU connects to a port of 127.0.0.1 (`-netdev socket,connect=…`) and sends each frame after four bytes with
its length, both ways. Nothing is lost on the way: where the node's ring is full, QEMU stops reading. Every
wait is bounded by the seconds given. `play(script)` runs a script against the wire in a thread of its own and
`check()` raises again what that has raised, so that the test's own thread can wait for the machine.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable

#: More than a busy host needs to start the machine.
WAIT_SECONDS = 300.0
BROADCAST = b"\xff" * 6
ADDRESS = bytes.fromhex("025400000001")
#: Frames without their checksum.
FRAME_MIN, FRAME_MAX = 60, 1514


class WireError(AssertionError):
    """The wire has not brought what was waited for."""


class Wire:
    """A cable whose one end is the test; the machine's card is in the other."""

    def __init__(self, address: bytes = ADDRESS) -> None:
        self.address = address
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stream: socket.socket | None = None
        self._pending = bytearray()
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self._thread:
            self._thread.join(WAIT_SECONDS)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def netdev(self, name: str = "wire") -> list[str]:
        """QEMU's options for its end, without a card."""
        return ["-netdev", f"socket,id={name},connect=127.0.0.1:{self.port}"]

    def options(self, model: str = "e1000", mac: str = "52:54:00:00:00:01", name: str = "wire") -> list[str]:
        """QEMU's options for a card at the other end."""
        return [*self.netdev(name), "-device", f"{model},netdev={name},mac={mac},romfile="]

    def connected(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the machine is there."""
        if self._stream:
            return
        self._listener.settimeout(seconds)
        try:
            self._stream, _ = self._listener.accept()
        except TimeoutError as error:
            raise WireError(f"no machine has come to the wire within {seconds} s") from error
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, frame: bytes, seconds: float = WAIT_SECONDS) -> None:
        """Send one frame, as it is."""
        self.connected()
        assert self._stream
        self._stream.settimeout(seconds)
        self._stream.sendall(struct.pack(">I", len(frame)) + frame)

    def receive(self, seconds: float = 60.0) -> bytes:
        """The next frame; WireError where none comes in that time, or the machine has gone."""
        frame = self.poll(seconds)
        if frame is None:
            raise WireError(f"no frame has come within {seconds} s")
        return frame

    def poll(self, seconds: float = 0.0) -> bytes | None:
        """The next frame, or None where none comes in that time."""
        self.connected()
        assert self._stream
        end = time.monotonic() + seconds
        while (frame := self._frame()) is None:
            self._stream.settimeout(max(end - time.monotonic(), 0.001))
            try:
                chunk = self._stream.recv(65536)
            except TimeoutError:
                if time.monotonic() >= end:
                    return None
                continue
            if not chunk:
                raise WireError("the machine has left the wire")
            self._pending += chunk
        return frame

    def expect(self, wanted: Callable[[bytes], bool], seconds: float = 60.0) -> bytes:
        """The next frame for which that holds; others are dropped."""
        end = time.monotonic() + seconds
        while not wanted(frame := self.receive(max(end - time.monotonic(), 0.001))):
            pass
        return frame

    def play(self, script: Callable[[Wire], None]) -> None:
        """Run the script in a thread of its own; check() raises what it raises."""

        def run() -> None:
            try:
                script(self)
            except BaseException as error:  # check() raises it again in the test
                self.error = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Wait for the script's end; raise what it raised."""
        if self._thread:
            self._thread.join(WAIT_SECONDS)
            assert not self._thread.is_alive(), "the script at the wire has not ended"
        if self.error:
            raise self.error

    def close(self) -> None:
        for end in (self._stream, self._listener):
            if end:
                end.close()

    def _frame(self) -> bytes | None:
        if len(self._pending) < 4:
            return None
        (count,) = struct.unpack_from(">I", self._pending)
        if len(self._pending) < 4 + count:
            return None
        frame = bytes(self._pending[4 : 4 + count])
        del self._pending[: 4 + count]
        return frame
