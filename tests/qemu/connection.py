# SPDX-License-Identifier: BSD-2-Clause
"""A connection to a running QEMU by a socket in the file system, for its monitor and its debugger port."""

from __future__ import annotations

import socket
import time
from pathlib import Path

#: More than a busy host needs to start it.
WAIT_SECONDS = 300.0


def connect(path: Path) -> socket.socket:
    """The connection; QEMU, which is being started, listens before the guest's first instruction."""
    deadline = time.monotonic() + WAIT_SECONDS
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(WAIT_SECONDS)
    while True:
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
