# SPDX-License-Identifier: BSD-2-Clause
"""The doorbell of a node: QEMU's device ivshmem-doorbell, which turns a message of the node's timers into a
write(2) to a descriptor of this process. This process is its server, and the only other peer.

    vector 0    an ordinary eventfd: the node has arrived at a gate vector 1    an eventfd with room for all
    but the last message of a gate: writing the last one blocks QEMU's
                thread until this process reads

QEMU, "Device Specification for Inter-VM shared memory device":
https://www.qemu.org/docs/master/specs/ivshmem-spec.html
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
import time
from typing import Any

from qemu.errors import RunnerError

from .timers import MESSAGES

VECTORS = 2
#: The offset in BAR 0 of the register that rings: it takes a peer's number and a vector.
DOORBELL_AT = 12
#: The device's slot on the bus; cards come after it.
SLOT = 5
_VERSION, _OURS, _NODE = 0, 0, 1
_NO_NUMBER = -1
#: The most that an eventfd holds: a write of 1 then waits for a read.
_FULL = 0xFFFFFFFFFFFFFFFE
_MEMORY_BYTES = 4096
_SETUP_SECONDS = 20.0

#: The values that ring each vector: the peer's number in the upper half, the vector in the lower.
ARRIVED = _OURS << 16 | 0
STOP = _OURS << 16 | 1


class Doorbell:
    """Our end of one node's doorbell."""

    def __init__(self) -> None:
        self.socket, self.of_qemu = socket.socketpair()
        self.arrived = os.eventfd(0, os.EFD_NONBLOCK)
        self.gate = os.eventfd(0, os.EFD_SEMAPHORE)
        os.eventfd_write(self.gate, _FULL - (MESSAGES - 1))
        self._messages = 0

    def options(self) -> list[str]:
        return [
            *("-chardev", f"socket,id=lockstep-doorbell,fd={self.of_qemu.fileno()}"),
            "-device",
            f"ivshmem-doorbell,vectors={VECTORS},chardev=lockstep-doorbell,addr={SLOT:#x}",
        ]

    def serve(self) -> None:
        """Send the server's messages to a new peer; does not wait for QEMU to read them."""
        memory = os.memfd_create("ivshmem")
        os.ftruncate(memory, _MEMORY_BYTES)
        own = [os.eventfd(0) for _ in range(VECTORS)]
        self._say(_VERSION)
        self._say(_NODE)
        self._say(_NO_NUMBER, memory)
        for descriptor in (self.arrived, self.gate):
            self._say(_OURS, descriptor)
        for descriptor in own:
            self._say(_NODE, descriptor)
        for descriptor in (memory, *own):
            os.close(descriptor)

    def ready(self) -> None:
        """Wait until QEMU has taken the descriptors, and clear O_NONBLOCK, which QEMU sets and both ends
        share: its writes must block. RunnerError if QEMU does not take them in time."""
        deadline = time.monotonic() + _SETUP_SECONDS
        while not (flags := fcntl.fcntl(self.gate, fcntl.F_GETFL)) & os.O_NONBLOCK:
            if time.monotonic() > deadline:
                raise RunnerError("QEMU has not set up the doorbell in time")
            time.sleep(0.001)
        fcntl.fcntl(self.gate, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)

    def has_arrived(self) -> bool:
        """Read a message; whether the node is now stopped at its gate."""
        self._messages += os.eventfd_read(self.arrived)
        return self._messages >= MESSAGES

    def open_gate(self) -> None:
        """Let the node continue."""
        self._messages = 0
        for _ in range(MESSAGES):
            os.eventfd_read(self.gate)

    def close(self) -> None:
        self.socket.close()
        os.close(self.arrived)
        os.close(self.gate)

    def _say(self, number: int, descriptor: int | None = None) -> None:
        passed: list[Any] = []
        if descriptor is not None:
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        self.socket.sendmsg([struct.pack("<q", number)], passed)


def address_of(pci: Any) -> int | None:
    """The address of a node's doorbell, from QEMU's answer to `query-pci`; None while it has none."""
    for bus in pci:
        for device in bus["devices"]:
            if device["slot"] == SLOT:
                for region in device["regions"]:
                    if region["bar"] == 0 and 0 < region["address"] < 1 << 32:
                        return int(region["address"]) + DOORBELL_AT
    return None
