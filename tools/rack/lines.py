# SPDX-License-Identifier: BSD-2-Clause
"""Output of many nodes on one stream: whole lines, each with the name of its node."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import BinaryIO

#: A longer line is passed on in parts, so that a node cannot fill this machine's memory.
LINE_MAX = 1 << 16


class Splitter:
    """Cuts a stream of bytes into lines, without their ends, and hands them on."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._partial = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        for line in lines:
            self._take(line.removesuffix(b"\r"))
        while len(self._partial) >= LINE_MAX:
            self._take(self._partial[:LINE_MAX])
            self._partial = self._partial[LINE_MAX:]

    def finish(self) -> None:
        """Pass on the last line if it has no end."""
        if self._partial:
            self._take(self._partial)
            self._partial = b""


class Stream:
    """A stream of this process that the nodes share. Safe to use from several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, line: bytes) -> None:
        """Write a line. OSError if the reader has gone or the disk is full."""
        with self._lock:
            self._stream.write(line + b"\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Write a message of the cluster."""
        self.write(text.encode(errors="replace"))

    def of_node(self, name: str) -> Splitter:
        """A splitter that writes a node's output here, each line with the node's name."""
        prefix = name.encode() + b": "
        return Splitter(lambda line: self.write(prefix + line))
