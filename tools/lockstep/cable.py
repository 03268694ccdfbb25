# SPDX-License-Identifier: BSD-2-Clause
"""The cable of one network card: a stream of frames to and from QEMU, each after four bytes with its length
(`-netdev stream`), and the buffer by which frames reach the card at an exact virtual time.

What a node sends is in the socket before the instruction that has sent it is over; what it is sent is put
there while it stands at a gate.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import termios

from qemu.errors import RunnerError

#: Of a socket: a quantum's frames must fit into it.
ROOM_BYTES = 4 << 20
#: What is carried to a node at one gate; a switch drops what is more, as it drops what overruns a port.
DELIVERY_BYTES_MAX = 256 << 10
#: Linux accounts at most so much to a frame in a socket, besides twice its bytes.
_FRAME_OVERHEAD = 2048
_LENGTH = struct.Struct(">I")


class Cable:
    """Our end of a card's cable. `name` is QEMU's for it."""

    def __init__(self, name: str, model: str, mac: str, quantum_ns: int) -> None:
        self.name, self.model, self.mac = name, model, mac
        self.interval_us = quantum_ns // 1000
        self.socket, self.of_qemu = socket.socketpair()
        for end in (self.socket, self.of_qemu):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
        self.room = self.of_qemu.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        self.socket.setblocking(False)
        self._part = b""

    def options(self) -> list[str]:
        name = self.name
        return [
            *("-netdev", f"stream,id={name},addr.type=fd,addr.str={self.of_qemu.fileno()}"),
            *("-device", f"{self.model},netdev={name},mac={self.mac},romfile="),
            "-object",
            f"filter-buffer,id={name}-gates,netdev={name},queue=tx,interval={self.interval_us}",
        ]

    def collect(self) -> list[bytes]:
        """All frames that have been sent and not been collected. RunnerError where there may have been more
        than the socket takes: these come when this machine gets to it, not when they were sent."""
        data = self._part
        try:
            while chunk := self.socket.recv(ROOM_BYTES):
                data += chunk
        except BlockingIOError:
            pass
        frames, at = [], 0
        while len(data) - at >= _LENGTH.size:
            end = at + _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
            if end > len(data):
                break
            frames.append(data[at + _LENGTH.size : end])
            at = end
        self._part = data[at:]
        if 2 * len(data) + _FRAME_OVERHEAD * len(frames) >= self.room:
            raise RunnerError(
                f"{len(frames)} frames in one quantum, {len(data)} bytes, are more than {self.name} carries:"
                " shorter quanta (--quantum)"
            )
        return frames

    def deliver(self, frames: list[bytes]) -> int:
        """Give the node frames; how many were too many. Called while it stands at a gate, and has read all
        earlier ones."""
        data, taken = b"", 0
        for frame in frames:
            if len(data) + len(frame) > DELIVERY_BYTES_MAX:
                break
            data += _LENGTH.pack(len(frame)) + frame
            taken += 1
        self.socket.sendall(data)
        return len(frames) - taken

    def is_read(self) -> bool:
        """QEMU has read all that it was given."""
        return not any(fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, bytes(4)))

    def close(self) -> None:
        self.socket.close()
