# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-network prints what it was given, keeps it, and does not take a failed run for a figure; its peer
echoes, sends and discards."""

from __future__ import annotations

import io
import json
import re
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
RATES = {name: 123 * (i + 1) for i, name in enumerate(network.RATES)}


class FileServer:
    """Serves nothing."""

    port = 5640
    installed: str | None = "/usr/sbin/diod"

    def __init__(self, folders: list[Path]) -> None:
        self.folders = folders

    @classmethod
    def program(cls) -> str | None:
        return cls.installed

    def option(self, folder: Path, place: str) -> str:
        return f"mount={place}:10.0.2.2:{self.port}:{folder}"

    def __enter__(self) -> FileServer:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Machines(FakeRunner):
    """A runner that runs nothing, and has networks."""

    FileServer = FileServer

    @staticmethod
    def Network(kind: str, card: str) -> tuple[str, str]:  # noqa: N802 (the runner's name)
        return kind, card


def answer(system: str, app: str, args: list[str]) -> FakeResult:
    said = RATES if any("file_rates" in word for word in (app, *args)) else COSTS
    return FakeResult("".join(f"{key} {value}\n" for key, value in said.items()).encode())


def run(tmp_path: Path, machines: Machines) -> tuple[int, str, dict[str, Any]]:
    for name in ("cost", "plain_card.musl", "file_rates.musl"):
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
        ("tacet", "file_rates.musl"),
        ("stock", "file_rates.musl"),
        ("stock", "plain_card.musl"),
    ]
    assert all(call[3]["network"] == ("user", "e1000") for call in machines.calls)


def test_files_of_a_server_are_the_same_ones_on_each_system(tmp_path: Path) -> None:
    machines = Machines(answer)
    status, printed, written = run(tmp_path, machines)
    assert status == 0 and written["file_rates"] == dict.fromkeys(network.SYSTEMS, RATES), printed
    assert re.search(r"KiB/s written +123 +123 +123 +>= plain +yes", printed), printed
    tacet, stock, plain = machines.calls[3:]
    assert "mount=/mnt:10.0.2.2:5640:/" in tacet[3]["options"] and "modules" not in tacet[3]
    for linux in (stock, plain):
        assert linux[3]["modules"] == ("9p", "9pnet_fd") and "msize=65536,access=any" in linux[2][-1]
    assert tacet[2] == stock[2][:3] == plain[2][1:4] == ["/mnt", "16", "200"]


def test_without_a_server_the_files_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileServer, "installed", None)
    status, printed, written = run(tmp_path, Machines(answer))
    assert status == 0 and written["file_rates"] == {} and "no diod, left out" in printed


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
