# SPDX-License-Identifier: BSD-2-Clause
"""TCP ports of 127.0.0.1 for servers that take the one they are given.

A port from which Linux also takes those of clients (`ip_local_port_range`, 32768 to 60999) may be gone before
the server has it, to a client of anybody's; and who waits for the server by connecting to it may connect to
itself [RFC 9293 §3.5, simultaneous opening]. So these lie below.
"""

from __future__ import annotations

import random
import socket

FIRST, LAST = 20000, 32767
TRIES = 1000


def free_port() -> int:
    """A port that nobody has now, and no client will get."""
    for port in random.SystemRandom().choices(range(FIRST, LAST + 1), k=TRIES):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"127.0.0.1 has no free port from {FIRST} to {LAST}")
