# SPDX-License-Identifier: BSD-2-Clause
"""A bad cable between two machines: frames are lost, overtaken by later ones, and doubled.

    with Relay(seed=1, lost=0.01, late=0.02, twice=0.01) as relay:
        … QEMU with relay.options(0) … and QEMU with relay.options(1) …
    relay.counts[0]      of the frames that came from the first machine

Each machine has a card of QEMU's on a datagram socket (`-netdev dgram`): one datagram is one frame. What
happens to the frames of one direction is a sequence of random numbers that the seed determines: the n-th
frame has the same fate in each run. A frame that is late is handed on after one to LATE_MAX later ones, or
after LATE_S seconds if fewer follow.

QEMU, "Network options", `-netdev dgram`: https://www.qemu.org/docs/master/system/invocation.html
"""

from __future__ import annotations

import collections
import os
import random
import selectors
import socket
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

#: Larger than any frame.
FRAME_BYTES = 1 << 17
LATE_MAX = 4
LATE_S = 0.004
#: Frames that are taken from one end before the other has its turn.
TURN_FRAMES = 64
#: Frames that wait for a machine to read, and how often it is tried.
QUEUE_FRAMES = 2000
FLUSH_S = 0.0005
#: The addresses of the cards, by side.
MACS = ("52:54:00:12:34:01", "52:54:00:12:34:02")


@dataclass
class Counts:
    """What happened to the frames of one direction."""

    came: int = 0
    lost: int = 0
    late: int = 0
    twice: int = 0
    full: int = 0  #: more than QUEUE_FRAMES that a machine does not read, or there is no machine


@dataclass
class Direction:
    """Frames that come by one socket, and go through the other one to its machine."""

    source: socket.socket
    through: socket.socket
    target: str
    fate: random.Random
    rates: tuple[float, float, float]
    counts: Counts = field(default_factory=Counts)
    #: Frames that are late: how many have to come before, when at the latest, the frame.
    held: list[tuple[int, float, bytes]] = field(default_factory=list)
    queue: collections.deque[bytes] = field(default_factory=collections.deque)

    def send(self, frame: bytes) -> None:
        if len(self.queue) < QUEUE_FRAMES:
            self.queue.append(frame)
            self.flush()
        else:
            self.counts.full += 1

    def flush(self) -> None:
        """Give the machine what it takes: a socket's own queue is short."""
        while self.queue:
            try:
                self.through.sendto(self.queue[0], self.target)
            except BlockingIOError:
                return
            except (FileNotFoundError, ConnectionRefusedError):
                self.counts.full += 1
            self.queue.popleft()

    def release(self) -> None:
        """Hand on what is late enough."""
        now = time.monotonic()
        due = [held for held in self.held if held[0] <= self.counts.came or held[1] <= now]
        self.held = [held for held in self.held if held not in due]
        for _, _, frame in due:
            self.send(frame)

    def take(self, frame: bytes) -> None:
        lost, late, twice = self.rates
        self.counts.came += 1
        # As many numbers for each frame, whatever becomes of it.
        number, behind = self.fate.random(), self.fate.randint(1, LATE_MAX)
        if number < lost:
            self.counts.lost += 1
        elif number < lost + late:
            self.counts.late += 1
            self.held.append((self.counts.came + behind, time.monotonic() + LATE_S, frame))
        else:
            self.send(frame)
            if number < lost + late + twice:
                self.counts.twice += 1
                self.send(frame)
        if self.held:
            self.release()


class Relay:
    """The cable, served by a thread from `with` on. `lost`, `late`, `twice`: parts of the frames."""

    def __init__(self, seed: int, lost: float = 0, late: float = 0, twice: float = 0) -> None:
        self._seed = seed
        self._rates = (lost, late, twice)
        self._directions: list[Direction] = []
        self._failure: BaseException | None = None

    @property
    def counts(self) -> list[Counts]:
        """By the side that the frames come from."""
        return [direction.counts for direction in self._directions]

    def options(self, side: int, card: str = "e1000") -> list[str]:
        """QEMU's options for the machine on this side."""
        local, remote = (self._folder / f"{side}.{end}" for end in ("machine", "relay"))
        netdev = f"dgram,id=wire,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        return ["-netdev", netdev, "-device", f"{card},netdev=wire,mac={MACS[side]},romfile="]

    def __enter__(self) -> Relay:
        # Paths of sockets are short: not a test's own folder.
        self._temporary = tempfile.TemporaryDirectory(prefix="relay-")
        self._folder = Path(self._temporary.name)
        ends = []
        for side in range(2):
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            end.setblocking(False)
            end.bind(str(self._folder / f"{side}.relay"))
            ends.append(end)
        self._directions = [
            Direction(
                source=ends[side],
                through=ends[1 - side],
                target=str(self._folder / f"{1 - side}.machine"),
                fate=random.Random(f"{self._seed} {side}"),
                rates=self._rates,
            )
            for side in range(2)
        ]
        self._ends = ends
        self._stop = os.eventfd(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.eventfd_write(self._stop, 1)
        self._thread.join()
        for end in self._ends:
            end.close()
        os.close(self._stop)
        self._temporary.cleanup()
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as failure:  # raised again at the end of `with`
            self._failure = failure

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop, selectors.EVENT_READ, None)
            for end, direction in zip(self._ends, self._directions, strict=True):
                selector.register(end, selectors.EVENT_READ, direction)
            while True:
                for key, _ in selector.select(self._pause()):
                    if key.data is None:
                        return
                    self._take_some(key.data)
                for direction in self._directions:
                    direction.release()
                    direction.flush()

    def _pause(self) -> float | None:
        """Seconds until something is to be done, if no frame comes."""
        if any(direction.queue for direction in self._directions):
            return FLUSH_S
        return LATE_S if any(direction.held for direction in self._directions) else None

    @staticmethod
    def _take_some(direction: Direction) -> None:
        for _ in range(TURN_FRAMES):
            try:
                direction.take(direction.source.recv(FRAME_BYTES))
            except BlockingIOError:
                return
