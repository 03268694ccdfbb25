# SPDX-License-Identifier: BSD-2-Clause
"""Connections to tacet-launchd that get no job: none of them keeps others out."""

from __future__ import annotations

import re
import socket
import subprocess

from tests.launch_client import LIMIT_S, Control
from tests.making import ROOT, made

#: More than tacet-launchd keeps.
FLOOD = 100


def test_a_host_that_floods_the_port_leaves_another_one_s_visitor_alone() -> None:
    made("service")
    command = [ROOT / "build/service/tacet-launchd", "--port", "0", "--address", "127.0.0.1", "--name", "n1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        try:
            assert daemon.stderr is not None
            found = re.search(r"at port (\d+)", daemon.stderr.readline())
            assert found
            node = ("127.0.0.1", int(found[1]))
            waits = Control(node)
            flood = [socket.create_connection(node, LIMIT_S, ("127.0.0.2", 0)) for _ in range(FLOOD)]
            assert flood[-1].recv(12) == b"tacet-launch"
            waits.send(b"nonsense\n")
            assert waits.line().startswith("refused ")
        finally:
            daemon.terminate()
