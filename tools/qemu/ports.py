# SPDX-License-Identifier: BSD-2-Clause
"""TCP ports of 127.0.0.1 for servers that listen on a given port.

They are below Linux's range for clients (`ip_local_port_range`, 32768 to 60999). A port in that range may be
given to a client before the server has it; and a process that waits for the server by connecting to it may
connect to itself [RFC 9293 §3.5, simultaneous opening].
"""

from __future__ import annotations

import random
import socket

FIRST, LAST = 20000, 32767
TRIES = 1000


def free_port() -> int:
    """A port that is free now and that no client gets."""
    for port in random.SystemRandom().choices(range(FIRST, LAST + 1), k=TRIES):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"127.0.0.1 has no free port from {FIRST} to {LAST}")
