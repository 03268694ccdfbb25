# SPDX-License-Identifier: BSD-2-Clause
"""Connections to tacet-launchd that get no job: none of them keeps others out."""

from __future__ import annotations

import socket
from contextlib import closing

from tests.launch_client import LIMIT_S, Control
from tests.launchd import Daemon
from tests.making import made

#: More than tacet-launchd keeps.
FLOOD = 100


def test_a_host_that_floods_the_port_leaves_another_one_s_visitor_alone() -> None:
    made("service")
    with closing(Daemon()) as daemon:
        waits = Control(daemon.node)
        flood = [socket.create_connection(daemon.node, LIMIT_S, ("127.0.0.2", 0)) for _ in range(FLOOD)]
        assert flood[-1].recv(12) == b"tacet-launch"
        waits.send(b"nonsense\n")
        assert waits.line().startswith("refused ")
