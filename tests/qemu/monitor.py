# SPDX-License-Identifier: BSD-2-Clause
"""Speak to a running QEMU: scripts for tests that do something to the machine from outside.

    with Monitor(folder, script) as monitor:
        result = run_tacet(..., qemu_options=monitor.options, on_console=monitor.at(b"exit status"))
    monitor.check()

`script(client)` runs in a thread of its own once `monitor.go` was called, or the watched output has come;
what it raises, check() raises again. The client is the runner's (tools/qemu/monitor.py), on a monitor of its
own. Every wait is bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from qemu.monitor import Monitor as Client
from qemu.monitor import connect

#: More than a busy host needs to start it.
WAIT_SECONDS = 300.0


class Monitor:
    """One QEMU's monitor, on a socket in `folder`."""

    def __init__(self, folder: Path, script: Callable[[Client], None]) -> None:
        self._path = folder / "qmp"
        self._script = script
        self._go = threading.Event()
        self._error: BaseException | None = None
        self._client: Client | None = None
        self._ended = False
        self.options = ["-qmp", f"unix:{self._path},server=on,wait=off"]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Monitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._go.set()
        self._thread.join(WAIT_SECONDS)
        if self._client:
            self._client.close()

    def go(self) -> None:
        self._go.set()

    def at(self, words: bytes) -> Callable[[bytes], None]:
        """A sink of output that starts the script when these bytes have come."""
        seen = bytearray()

        def sink(chunk: bytes) -> None:
            seen.extend(chunk)
            if words in seen:
                self.go()

        return sink

    def check(self) -> None:
        """Raise what the script raised."""
        if self._error:
            raise self._error

    def _run(self) -> None:
        try:
            self._go.wait()
            if self._ended:
                raise AssertionError("the machine ended before its time had come")
            self._client = Client(connect(self._path, WAIT_SECONDS), WAIT_SECONDS)
            self._client.greet()
            self._script(self._client)
        except BaseException as error:  # check() raises it again in the test
            self._error = error
