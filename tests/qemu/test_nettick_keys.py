# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that get their keys from the conductor after boot (docs/nettick.md, Keys): in a network of their own,
with the real conductor, and no key on any node's command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import network
import pytest
from conftest import Run
from waiting_nodes import WAITS, WaitingNodes

import qemu
from qemu.monitor import Monitor, connect
from tests import waiting
from tests.key_frames import x25519
from tests.keys import MASTER
from tests.making import made

SERVICE = qemu.BUILD / "service"
IDENTITY, OTHER_IDENTITY = bytes(range(32)), bytes(range(1, 33))
OPTIONS = "nettick={mode} conductor_key={key}"
FINGERPRINT = re.compile(r"this node's fingerprint is ([0-9a-f-]{23})")
LIMIT_S = 600


class Conducted:
    """A node that has asked for its keys, and the conductor."""

    def __init__(self, folder: Path, nodes: WaitingNodes) -> None:
        self.folder, self.nodes, self.node = folder, nodes, nodes.nodes[0]
        self.control = folder / "control"

    def ctl(self, *words: str) -> dict:
        done = self.nodes.space.run(
            [SERVICE / "conductorctl", "--socket", self.control, "--json", *words],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def askers(self) -> dict[str, str]:
        return {node["fingerprint"]: node["state"] for node in self.ctl("keys")["nodes"]}

    def fingerprint(self) -> str:
        self.node.wait("fingerprint is")
        return FINGERPRINT.findall("\n".join(self.node.lines))[-1]

    def until(self, holds: object) -> None:
        waiting.until(holds, "what the node was to do", LIMIT_S)

    def job(self, *words: str | Path) -> subprocess.Popen[str]:
        return self.nodes.start("--conductor", self.control, "--bcast", qemu.BUSYBOX, *words)


@contextmanager
def conducted(folder: Path, *words: str, mode: str = "irq", of: bytes = IDENTITY) -> Iterator[Conducted]:
    """The node knows the public key of `of`; the conductor has IDENTITY."""
    made("service")
    for name, secret in (("key", MASTER), ("identity", IDENTITY)):
        (folder / name).write_text(secret.hex() + "\n")
        (folder / name).chmod(0o600)
    nodes = WaitingNodes(
        folder, options=OPTIONS.format(mode=mode, key=x25519(of).hex()), memory="128M", cpus=2
    )
    conductor = nodes.space.popen(
        [
            *(SERVICE / "conductor", "--interface", network.BRIDGE, "--key", folder / "key", "--rate", "100"),
            *("--identity", folder / "identity", "--socket", folder / "control", *words),
        ]
    )
    try:
        here = Conducted(folder, nodes)
        here.until(here.control.exists)
        yield here
    finally:
        nodes.__exit__(None, None, None)
        conductor.terminate()
        conductor.wait(60)


@pytest.mark.parametrize("mode", ["irq", "poll"])
def test_a_node_waits_for_its_keys_and_gets_new_ones_while_a_job_runs(mode: str, tmp_path: Path) -> None:
    with conducted(tmp_path, mode=mode) as here:
        mark = here.fingerprint()
        here.until(lambda: here.askers() == {mark: "waiting"})
        assert not here.node.said(WAITS)
        here.ctl("admit", "52:54:00:01:00:01", mark)
        here.node.wait("the conductor's keys have come")
        here.node.wait(WAITS)
        here.until(lambda: [node["welcomed"] for node in here.ctl("nodes")["nodes"]] == [True])
        job = here.job("sleep", "3600")
        here.until(lambda: here.ctl("nodes")["nodes"][0]["ranks"] == 1)
        (tmp_path / "new").write_text(MASTER[::-1].hex() + "\n")
        (tmp_path / "new").chmod(0o600)
        (tmp_path / "new").replace(tmp_path / "key")
        assert here.ctl("rotate", "--within", "300")["done"] == 1
        assert here.ctl("stop")["done"] == here.ctl("continue")["done"] == 1, "it obeys the new key"
        assert job.poll() is None
        assert here.ctl("kill", "--job", str(here.ctl("nodes")["nodes"][0]["job"]))["done"] == 1
        assert job.wait(LIMIT_S) != 0
        last = here.job("echo", "by the new key")
        assert last.communicate(timeout=LIMIT_S)[0] == "by the new key\n" and last.returncode == 0


def test_a_node_that_knows_another_conductor_takes_no_keys(tmp_path: Path) -> None:
    with conducted(tmp_path, "--trust-first", of=OTHER_IDENTITY) as here:
        mark = here.fingerprint()
        here.until(lambda: here.askers() == {mark: "answered"})
        heard = here.ctl("keys")["nodes"][0]["heard_ns"]
        here.until(lambda: here.ctl("keys")["nodes"][0]["heard_ns"] > heard)
        assert not here.node.said("keys have come") and not here.node.said(WAITS)


def test_a_node_that_starts_again_draws_another_secret(tmp_path: Path) -> None:
    with conducted(tmp_path, "--trust-first", "--answer-every", "10") as here:
        here.node.wait(WAITS)
        first = here.fingerprint()
        here.node.reset()
        assert here.fingerprint() != first
        assert here.askers()[here.fingerprint()] == "answered"


def test_a_node_without_a_card_is_stopped_with_a_line(tacet: Run) -> None:
    options = f"ranks=1 {OPTIONS.format(mode='poll', key=x25519(IDENTITY).hex())}"
    result = tacet("status.musl", options=options)
    assert result.outcome == "stop", result.explain()
    assert "conductor_key=: there is no network card" in result.console, result.explain()


def test_the_page_of_the_keys_is_not_mapped_while_no_frame_comes(tmp_path: Path) -> None:
    """Read as the kernel would read it, by the debugger's eye of QEMU."""
    with conducted(tmp_path, "--trust-first", "--rate", "0") as here:
        here.node.wait(WAITS)
        listed = subprocess.run(["nm", qemu.KERNEL], capture_output=True, text=True, check=True).stdout
        symbol = re.search(r"^(\w+) \w secrets$", listed, re.M)
        assert symbol
        connection = connect(here.node.monitor, LIMIT_S)
        monitor = Monitor(connection, LIMIT_S)
        monitor.greet()
        page = re.search(r": (0x\w+)", monitor.human(f"x /1gx 0x{symbol[1]}"))
        assert page and int(page[1], 16) % 4096 == 0
        assert "Cannot access memory" in monitor.human(f"x /1gx {page[1]}")
        below = monitor.human(f"x /1gx {int(page[1], 16) - 4096:#x}")
        assert "Cannot access memory" not in below, "its neighbour is there"
        connection.close()
