# SPDX-License-Identifier: BSD-2-Clause
"""tools/with-network: a network of one's own, for one command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

import network


def with_network(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["tools/with-network", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    return done


def test_a_command_is_on_the_bridge_and_its_status_is_handed_on() -> None:
    done = with_network("sh", "-c", "ip -4 -o addr show dev tacet && ip route show default && exit 7")
    assert done.returncode == 7 and done.stdout.split()[3] == "10.99.0.1/24", done.stdout + done.stderr
    assert done.stdout.count("\n") == 1, "nothing leads outside"


def test_a_command_that_a_signal_ends_has_the_shell_s_status() -> None:
    assert with_network("sh", "-c", "kill -9 $$").returncode == 128 + 9


@pytest.mark.parametrize("words", [(), ("--pxe", "/nowhere", "true"), ("--wrong", "true")])
def test_what_is_wrong_is_said(words: tuple[str, ...]) -> None:
    done = with_network(*words)
    assert done.returncode == 2 and "error: " in done.stderr


def test_nothing_of_it_is_left_when_its_maker_is_killed() -> None:
    """The first process of the namespace, and one that was started in it."""
    script = (
        "import os, network; space = network.Namespace(); read, write = os.pipe();"
        "one = space.popen(['sh', '-c', f'echo >&{write}; exec sleep 1000'], pass_fds=[write]);"
        "os.read(read, 1); print(space.process.pid, one.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "tools"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    if not done.stdout:
        pytest.skip("there is no such network here")
    # The pipe's end says that neither of them has it open any more: both have ended.
    assert len(done.stdout.split()) == 2


def test_why_there_is_no_network_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(network.Unavailable, match=r"^missing: unshare, nsenter, setpriv, ip \(ports/deps"):
        network.Namespace()
