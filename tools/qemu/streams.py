# SPDX-License-Identifier: BSD-2-Clause
"""The byte streams of a run: a machine's serial ports as FIFOs, and output handed on as it comes.

Each port is a FIFO of the host that QEMU opens and the run reads as bytes come, so that a person sees output
while the program runs and nothing is polled.
"""

from __future__ import annotations

import fcntl
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

Sink = Callable[[bytes], None]

END_OF_INPUT = b"\x04"
FIFO_BYTES = 1 << 20


class Ports:
    """The first three serial ports as FIFOs in a folder of their own.

    This side holds a writing end of each until QEMU has ended, so that a reader sees the end of the stream
    exactly then. The FIFOs are made as large as the system allows: a full one makes the guest's port wait for
    the host, so that output would depend on the host's speed, and a guest that waits too long drops bytes.
    """

    NAMES = ("console", "stdout", "stderr")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readers: dict[str, int] = {}
        self.writers: list[int] = []
        for name in self.NAMES:
            for suffix in ("in", "out"):
                os.mkfifo(folder / f"{name}.{suffix}", 0o600)
            self.readers[name] = os.open(folder / f"{name}.out", os.O_RDONLY | os.O_NONBLOCK)
            self.writers.append(os.open(folder / f"{name}.out", os.O_WRONLY))
            try:
                fcntl.fcntl(self.writers[-1], fcntl.F_SETPIPE_SZ, FIFO_BYTES)
            except OSError:
                pass  # a smaller pipe works, unless the reader is starved for long

    def options(self) -> list[str]:
        options: list[str] = []
        for name in self.NAMES:
            path = str(self.folder / name).replace(",", ",,")
            options += ["-chardev", f"pipe,id={name},path={path}", "-serial", f"chardev:{name}"]
        return options

    def hang_up(self) -> None:
        """Let the readers come to an end: QEMU has ended."""
        for writer in self.writers:
            os.close(writer)
        self.writers = []

    def close(self) -> None:
        self.hang_up()
        for reader in self.readers.values():
            os.close(reader)
        self.readers = {}

    def send_input(self, source: Path | None) -> None:
        """Send a file and an end-of-transmission, which the kernel takes as the end of input, to the
        program."""
        try:
            with (self.folder / "stdout.in").open("wb", buffering=0) as target:
                if source is not None:
                    with source.open("rb", buffering=0) as file:
                        while chunk := file.read(4096):
                            target.write(chunk)
                target.write(END_OF_INPUT)
        except OSError:
            pass  # the machine ended first


class Delivery:
    """Hands output to the sinks from a thread of its own, so that a slow reader never holds the guest up."""

    def __init__(self) -> None:
        self.chunks: queue.SimpleQueue[tuple[Sink, bytes] | None] = queue.SimpleQueue()
        self.failed = os.eventfd(0)  # readable once a sink has raised an exception
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._deliver, daemon=True)
        self.thread.start()

    def _deliver(self) -> None:
        try:
            while item := self.chunks.get():
                sink, chunk = item
                sink(chunk)
        except BaseException as failure:  # raised again in finish()
            self.failure = failure
            os.eventfd_write(self.failed, 1)

    def finish(self) -> None:
        """Wait until everything is handed over; raise what a sink raised."""
        self.chunks.put(None)
        self.thread.join()
        os.close(self.failed)
        if self.failure is not None:
            raise self.failure
