# SPDX-License-Identifier: BSD-2-Clause
"""The cable of one network card: a stream of frames to and from QEMU, each preceded by its length in four
bytes (`-netdev stream`), and the buffer through which frames reach the card at an exact virtual time.

A frame that a node sends is in the socket before the sending instruction ends. Frames for the node are put
there while it is stopped at a gate.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import termios

from qemu.errors import RunnerError

#: A socket's buffer: the frames of a quantum must fit into it.
ROOM_BYTES = 4 << 20
#: The most that is carried to a node at one gate; further frames are dropped, like those that overrun a port.
DELIVERY_BYTES_MAX = 256 << 10
#: Linux accounts at most this much for a frame in a socket, in addition to twice its bytes.
_FRAME_OVERHEAD = 2048
_LENGTH = struct.Struct(">I")


class Cable:
    """Our end of a card's cable. `name` is its name in QEMU."""

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
        """All frames sent since the last call. RunnerError if they may have filled the socket: further frames
        then come at a time that depends on this machine."""
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
                f"{len(frames)} frames in one quantum, {len(data)} bytes, exceed what {self.name} can carry:"
                " use a shorter --quantum"
            )
        return frames

    def deliver(self, frames: list[bytes]) -> int:
        """Give frames to the node; returns how many were dropped because they were too many. Call it while
        the node is stopped at a gate and has read all earlier frames."""
        data, taken = b"", 0
        for frame in frames:
            if len(data) + len(frame) > DELIVERY_BYTES_MAX:
                break
            data += _LENGTH.pack(len(frame)) + frame
            taken += 1
        self.socket.sendall(data)
        return len(frames) - taken

    def is_read(self) -> bool:
        """Whether QEMU has read all its frames."""
        return not any(fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, bytes(4)))

    def close(self) -> None:
        self.socket.close()
