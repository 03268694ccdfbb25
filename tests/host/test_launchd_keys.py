# SPDX-License-Identifier: BSD-2-Clause
"""tacet-launchd that gets its keys from the real conductor, or reads them from a file again, on a wire of its
own: no ticket fits before the keys have come, and a rotation leaves a job alone.

Each test runs as `scene_…` in a namespace of its own.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fake_nodes import SERVICE, Wire, address_of, assert_plays, play
from tests.key_frames import x25519
from tests.keys import MASTER, derive, key_write, node_lines
from tests.launch_client import Job
from tests.making import made

IDENTITY = bytes(range(32, 64))
NEW = bytes(range(100, 116))
BUSYBOX = "/bin/busybox"


class Daemon:
    """tacet-launchd at the nodes' end of the wire."""

    def __init__(self, wire: Wire, *words: str | Path) -> None:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        command = [SERVICE / "tacet-launchd", "--port", "0", "--address", "127.0.0.1", "--name", "n1"]
        self.process = subprocess.Popen(
            [*command, "--beats", "nodes", *words], stderr=subprocess.PIPE, text=True
        )
        wire.ends_with(self.process)
        self.node = ("127.0.0.1", int(self.said(r"at port (\d+)")))

    def said(self, pattern: str) -> str:
        """Waits for a line with that; returns the group in it."""
        assert self.process.stderr
        while line := self.process.stderr.readline():
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"it has not said {pattern}")

    def job(self, program: Sequence[str], master: bytes) -> Job:
        return Job(self.node, BUSYBOX, program, user={"master": master})


def start(wire: Wire) -> None:
    key_write(wire.folder / "identity", IDENTITY.hex() + "\n")
    wire.start(*("--identity", wire.folder / "identity", "--rate", "100", "--answer-every", "10"))


def rotate(wire: Wire) -> None:
    key_write(wire.folder / "new", NEW.hex() + "\n").replace(wire.folder / "key")
    wire.next_key = derive(NEW, "tacet beats")
    assert wire.ctl("rotate", "--within", "100")["done"] == 1


def scene_keys_of_the_conductor(wire: Wire) -> None:
    start(wire)
    daemon = Daemon(wire, "--conductor-key", x25519(IDENTITY).hex())
    wire.until(lambda: {shown["name"] for shown in wire.ctl("keys")["nodes"]} == {"n1"})
    early = daemon.job(["true"], MASTER).finish()
    assert early.refused and "wrong" in early.refused, early.refused
    mark = wire.ctl("keys")["nodes"][0]["fingerprint"]
    wire.ctl("admit", "n1", mark)
    wire.until(lambda: [shown["welcomed"] for shown in wire.ctl("nodes")["nodes"]] == [True])
    assert daemon.said(r"(keys have come)")
    long = daemon.job(["sleep", "1000"], MASTER).started()
    rotate(wire)
    assert wire.ctl("stop")["done"] == wire.ctl("continue")["done"] == 1
    assert wire.ctl("nodes")["nodes"][0]["ranks"] == 1
    assert wire.ctl("kill")["done"] == 1
    long.finish()
    assert daemon.job(["true"], NEW).finish().status == 0
    assert daemon.job(["true"], MASTER).finish().refused


def scene_keys_of_a_file(wire: Wire) -> None:
    start(wire)
    node = address_of("nodes").hex()
    keys = key_write(wire.folder / "node.key", node_lines(node))
    daemon = Daemon(wire, "--key", keys)
    wire.until(lambda: [shown["welcomed"] for shown in wire.ctl("nodes")["nodes"]] == [True])
    key_write(wire.folder / "new", NEW.hex() + "\n").replace(wire.folder / "key")
    assert "nodes could not do the command" in wire.run("rotate").stderr, "its file has the old keys"
    daemon.process.send_signal(signal.SIGHUP)
    keys.write_text("beats 12\n")
    assert "nodes could not do the command" in wire.run("rotate").stderr, "its file is half written"
    assert daemon.said("(the old keys stay)")
    keys.write_text(wire.run("key", node, "--next").stdout)
    wire.next_key = derive(NEW, "tacet beats")
    assert wire.ctl("rotate", "--within", "100")["done"] == 1
    assert daemon.job(["true"], NEW).finish().status == 0


SCENES = [name for name in dir() if name.startswith("scene_")]


@pytest.mark.parametrize("scene", [name.removeprefix("scene_") for name in SCENES])
def test_a_linux_node_gets_new_keys(scene: str, tmp_path: Path) -> None:
    made("service")
    assert_plays(__file__, f"scene_{scene}", tmp_path)


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--conductor-key", "12"], "--conductor-key needs the interface"),
        (["--conductor-key", "12", "--beats", "lo"], "it takes 64 hexadecimal digits"),
        (["--conductor-key", "00" * 32, "--beats", "lo"], "no conductor has this public key"),
        (["--conductor-key", "12", "--beats", "lo", "--key", "file"], "give one of them"),
    ],
)
def test_a_conductor_key_that_is_none_is_refused(words: list[str], reason: str) -> None:
    made("service")
    done = subprocess.run([SERVICE / "tacet-launchd", "--port", "0", *words], capture_output=True, text=True)
    assert done.returncode == 2 and reason in done.stderr


if __name__ == "__main__":
    play(globals()[sys.argv[1]], Path(sys.argv[2]))
