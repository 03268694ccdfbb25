# SPDX-License-Identifier: BSD-2-Clause
"""apps/offsets on nodes: what it says of clocks that are known, and what it says to wrong words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Run, slowness

import qemu
from tests.making import made

sys.path.insert(0, str(ROOT))

from lockstep.beats import EPOCH_NS

from lab.bench import clock_offsets as lab

APP = qemu.BUILD / "x86_64" / "apps" / "offsets"
ADDRESSES = ("10.99.0.11", "10.99.0.12", "10.99.0.13")


@pytest.mark.xdist_group("lockstep")
def test_exchanges_are_right_to_half_their_delay_and_nodes_end_together(tmp_path: Path) -> None:
    """Three nodes of one virtual clock: whether their offsets are right is known."""
    made("lockstep-parts")
    words = ["tools/lockstep-run", "--nodes", "3", "--network", "--beats", "100", "--first-beat", "1200ms"]
    words += ["--logs", str(tmp_path), str(APP), "-n", "5", "-b", "4", "-w", "300ms", *ADDRESSES]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600 * slowness())
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = lab.parse(done.stdout, 3)
    assert [node.address for node in nodes] == list(ADDRESSES)
    for node in nodes:
        others = [address for address in ADDRESSES if address != node.address]
        assert node.peers == others * 5
        # There and back take a quantum of 100 µs each, and wait for a gate.
        assert 200_000 <= node.delay_ns.min() <= node.delay_ns.max() < 500_000
    apart, conductor = lab.known(nodes, EPOCH_NS)
    assert len(apart.apart_ns) == 30 and apart.apart_ns.max() < 1000
    assert 0 < conductor.apart_ns.max() < 100_000
    assert done.stdout.count("# lost ") == 3


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["10.0.0.1"], "of two nodes at least"),
        (["10.0.0.1", "node2"], "address node2: give an IPv4 address"),
        (["10.0.0.1", "10.0.0.2"], "none of them is this node's"),
        (["127.0.0.1", "10.0.0.2", "127.0.0.1"], "address 127.0.0.1: it is there twice"),
        (["-n", "0", "127.0.0.1", "10.0.0.2"], "-n 0: "),
        (["-i", "soon", "127.0.0.1", "10.0.0.2"], "-i soon: "),
        (["-p", "70000", "127.0.0.1", "10.0.0.2"], "-p 70000: "),
    ],
)
def test_wrong_words_are_said_in_a_line(words: list[str], line: str, tacet: Run) -> None:
    done = tacet(APP, *words)
    assert (done.outcome, done.status) == ("exit", 2), done.explain()
    said = done.stderr.decode()
    assert line in said and said.startswith("offsets: ") and said.count("\n") == 1, said
