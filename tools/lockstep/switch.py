# SPDX-License-Identifier: BSD-2-Clause
"""A switch in virtual time: which ports get a frame, and at which gate. Pure: the same frames in the same
order, and the same seed, give the same deliveries.

A frame sent in the quantum before gate K is taken at gate K and reaches the receivers' cards at gate K +
latency. So its time on the wire is at least the latency, and less than a quantum more. Each receiver loses
frames independently; the seed decides which. A frame to a known address goes to the port from which that
address has last sent; other frames go to all ports except the sender's.
"""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TextIO

ADDRESS_BYTES = 6
#: Shorter data lacks an address or the type, and is no frame.
FRAME_MIN = 14
#: Addresses that are learnt; frames to further ones go to all ports.
ADDRESSES_MAX = 4096


@dataclass
class Counts:
    """Numbers of frames."""

    taken: int = 0
    delivered: int = 0
    lost: int = 0  #: by the seed
    overrun: int = 0  #: exceeded what a port takes at one gate
    short: int = 0


class Switch:
    """Ports are numbered from 0. `trace` gets a line for each frame."""

    def __init__(
        self, ports: int, latency: int, loss: float = 0.0, seed: int = 0, trace: TextIO | None = None
    ) -> None:
        self.ports = ports
        self.latency = latency
        self.loss = loss
        self.counts = Counts()
        self._random = random.Random(seed)
        self._trace = trace
        self._learnt: dict[bytes, int] = {}
        #: Frames by the gate at which they reach the card, and by port.
        self._under_way: defaultdict[int, defaultdict[int, list[bytes]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def take(self, gate: int, port: int, frame: bytes) -> None:
        """Take a frame that `port` has sent in the quantum before this gate."""
        self.counts.taken += 1
        if len(frame) < FRAME_MIN:
            self.counts.short += 1
            return
        to, sender = frame[:ADDRESS_BYTES], frame[ADDRESS_BYTES : 2 * ADDRESS_BYTES]
        if sender in self._learnt or len(self._learnt) < ADDRESSES_MAX:
            self._learnt[sender] = port
        known = None if to[0] & 1 else self._learnt.get(to)
        receivers = [other for other in range(self.ports) if other != port] if known is None else [known]
        lost = [other for other in receivers if self.loss and self._random.random() < self.loss]
        self.counts.lost += len(lost)
        for other in receivers:
            if other not in lost and other != port:
                self.give(gate + self.latency, other, frame)
        if self._trace is not None:
            words = " ".join(f"-{other}" if other in lost else str(other) for other in receivers)
            print(f"{gate} {port} {len(frame)} {zlib.crc32(frame):08x} {words}", file=self._trace)

    def give(self, gate: int, port: int, frame: bytes) -> None:
        """Have a frame reach this port's card at this gate."""
        self._under_way[gate][port].append(frame)

    def due(self, gate: int) -> dict[int, list[bytes]]:
        """Remove and return the frames that reach the cards at this gate, by port."""
        return self._under_way.pop(gate, {})
