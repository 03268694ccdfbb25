# SPDX-License-Identifier: BSD-2-Clause
"""The command of a cluster, for test_cluster_logs.py: fetches the flight logs of its nodes while they
compute, and once more together with what the nodes say of them; prints as JSON what came of it. The
words: a program that computes, and the folder for the logs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
SHARE = Path(os.environ["TACET_SHARE"])
NODES = os.environ["TACET_NODES"].split()
BUSYBOX = "/bin/busybox"


def said(*words: object) -> list[Any]:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    return [done.returncode, done.stdout, done.stderr]


def until(holds: Any) -> None:
    while not holds():
        time.sleep(0.1)


def while_they_compute() -> dict[str, Any]:
    """Two ranks on each node make system calls, none of which is logged at first, without end."""
    begun = SHARE / "begun"
    with begun.open("w") as out:
        job = subprocess.Popen(
            ["tacetrun", "-n", str(2 * len(NODES)), "--bcast", PROGRAM, "spin"], stdout=out
        )
    until(lambda: len(begun.read_text().splitlines()) == 2 * len(NODES))
    found: dict[str, Any] = {"logs": [], "between": []}
    for i in range(2):
        found["logs"].append(said("conductorctl", "klog", "--to", FOLDER / str(i), "--within", "100"))
        first = said("conductorctl", "--json", "status")
        found["between"].append(json.loads(first[1]))
        time.sleep(1)
    found["states"] = json.loads(said("conductorctl", "--json", "nodes")[1])["nodes"]
    found["kill"] = said("conductorctl", "kill")[0]
    job.wait()
    return found


def pages_of(conductor: socket.socket, address: str) -> bytes:
    data, size = b"", 1
    while len(data) < size:
        conductor.send(f"page {address} {len(data)} 1".encode())
        while "pages" not in (message := json.loads(conductor.recv(65536))):
            if int(message["offset"]) == len(data):
                data, size = data + bytes.fromhex(message["data"]), message["size"]
    return data


def beside_the_node_itself() -> dict[str, bool]:
    """Whether the pages are, byte by byte, what the node's /proc has while the log is held."""
    found = {}
    addresses = {
        node["name"]: node["address"]
        for node in json.loads(said("conductorctl", "--json", "nodes")[1])["nodes"]
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as conductor:
        conductor.connect(os.environ["TACET_CONDUCTOR"])
        conductor.send(b"within 100 hold")
        assert "error" not in json.loads(conductor.recv(65536))
        for name in NODES:
            ran = said("tacetrun", "-w", name, "--bcast", BUSYBOX, "cp", "/proc/tacet/klog", f"/mnt/{name}")
            assert ran[0] == 0, ran
            found[name] = pages_of(conductor, addresses[name]) == (SHARE / name).read_bytes()
    return found


FOLDER.mkdir()
print(json.dumps({"computing": while_they_compute(), "same": beside_the_node_itself()}))
