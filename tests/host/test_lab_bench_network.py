# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-network prints what it was given, keeps it, and does not take a failed run for a figure; its peer
echoes, sends and discards."""

from __future__ import annotations

import io
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fake_result import FakeResult, FakeRunner

from lab.bench import network
from lab.bench.peer import Peer
from lab.cli import dispatch as lab

COSTS = {name: 1000 * (i + 1) for i, name in enumerate(network.COSTS)}


class Machines(FakeRunner):
    """A runner that runs nothing, and has networks."""

    @staticmethod
    def Network(kind: str, card: str) -> tuple[str, str]:  # noqa: N802 (the runner's name)
        return kind, card


def answer(system: str, app: str, args: list[str]) -> FakeResult:
    return FakeResult("".join(f"{key} {value}\n" for key, value in COSTS.items()).encode())


def run(tmp_path: Path, machines: Machines) -> tuple[int, str, dict[str, Any]]:
    for name in ("cost", "plain_card.musl"):
        (tmp_path / name).write_bytes(b"")
    out = io.StringIO()
    words = ["bench-network", "--apps", str(tmp_path), "--programs", str(tmp_path), "--out", str(tmp_path)]
    status = lab.main([*words, "--iperf3", str(tmp_path / "none")], machines=machines, out=out)
    written = tmp_path / "bench_network.json"
    return status, out.getvalue(), json.loads(written.read_text()) if written.exists() else {}


def test_each_system_s_figures_are_kept_and_shown(tmp_path: Path) -> None:
    machines = Machines(answer)
    status, printed, written = run(tmp_path, machines)
    assert status == 0 and written["costs"] == dict.fromkeys(network.SYSTEMS, COSTS), printed
    assert "UDP echo" in printed and "make foreign-network" in printed and written["iperf3_mbit"] == {}
    assert [call[:2] for call in machines.calls] == [
        ("tacet", "cost"),
        ("stock", "cost"),
        ("stock", "plain_card.musl"),
    ]
    assert all(call[3]["network"] == ("user", "e1000") for call in machines.calls)


@pytest.mark.parametrize("bad", [FakeResult(b"udp_echo_ticks_min 1\n"), FakeResult(status=1)])
def test_a_run_without_figures_is_an_error(
    bad: FakeResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, written = run(tmp_path, Machines(lambda *_: bad))
    assert status == 1 and not written and "tacet" in capsys.readouterr().err


def test_the_peer_echoes_sends_and_discards() -> None:
    with Peer() as peer:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(60)
            datagrams.sendto(b"words", ("127.0.0.1", peer.port))
            assert datagrams.recv(100) == b"words"
        for asked, sent in ((100_000, 0), (0, 100_000)):
            with socket.create_connection(("127.0.0.1", peer.port), 60) as stream:
                stream.sendall(asked.to_bytes(8, "little") + bytes(sent))
                stream.shutdown(socket.SHUT_WR)
                assert len(b"".join(iter(lambda s=stream: s.recv(1 << 16), b""))) == asked
