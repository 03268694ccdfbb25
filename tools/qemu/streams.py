# SPDX-License-Identifier: BSD-2-Clause
"""The byte streams of a run: a machine's serial ports as FIFOs, and output passed on as it comes.

Each port is a FIFO of the host. QEMU opens it, and the run reads bytes as they come: the user sees output
while the program runs, and nothing is polled.
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
    """The first three serial ports as FIFOs in their own folder.

    This side holds a writing end of each until QEMU has ended, so that a reader sees the end of the stream
    exactly then. The FIFOs are large: when one is full, the guest's port waits for the host. Output would
    then depend on the host's speed, and a guest that waits too long drops bytes.
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
                pass  # a smaller pipe works, unless the reader gets no CPU for long

    def options(self) -> list[str]:
        options: list[str] = []
        for name in self.NAMES:
            path = str(self.folder / name).replace(",", ",,")
            options += ["-chardev", f"pipe,id={name},path={path}", "-serial", f"chardev:{name}"]
        return options

    def hang_up(self) -> None:
        """Let the readers reach the end of their streams, after QEMU has ended."""
        for writer in self.writers:
            os.close(writer)
        self.writers = []

    def close(self) -> None:
        self.hang_up()
        for reader in self.readers.values():
            os.close(reader)
        self.readers = {}

    def send_input(self, source: Path | None) -> None:
        """Send a file to the program, then an end-of-transmission, which the kernel takes as the end of
        input."""
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
    """Passes output to the sinks from its own thread, so that a slow reader never delays the guest."""

    def __init__(self) -> None:
        self.chunks: queue.SimpleQueue[tuple[Sink, bytes] | None] = queue.SimpleQueue()
        self.failed = os.eventfd(0)  # readable when a sink has raised an exception
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
        """Wait until everything is passed on; raise the exception that a sink has raised."""
        self.chunks.put(None)
        self.thread.join()
        os.close(self.failed)
        if self.failure is not None:
            raise self.failure
