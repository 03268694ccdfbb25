# SPDX-License-Identifier: BSD-2-Clause
"""Nodes in lockstep (docs/lockstep.md): two runs are the same bytes, whatever this machine does meanwhile;
frames and beats come when they are due; a node that does not come to a gate is named; nothing remains.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import APPS, ROOT, program, slowness
from lockstep import arguments
from lockstep.cluster import Cluster
from lockstep.gates import Missing
from planted import planted

import qemu
from lab.bench import lockstep_cpus
from lab.bench.lockstep import FIRST_BEAT_NS, delays
from lab.formats import klog
from qemu.version import qemu_binary, qemu_major
from tests import waiting
from tests.making import made

#: Their two runs are made once.
pytestmark = pytest.mark.xdist_group("lockstep runs")

WRONG, MISSING, NO_STATUS, INTERRUPTED = 2, 124, 125, 130
LIMIT_S = 600
QUANTUM_NS, BEAT_HZ = 1_000_000, 50
#: A network with a latency of one quantum, on which a node waits for its card's link for a second.
NETWORK = ["--network", "--quantum", f"{QUANTUM_NS}ns"]
ROUNDS = 20
#: From a beat's arrival to the kernel's event, in instructions, while the node computes.
DELAY_MIN_NS, DELAY_MAX_NS = 500, 1_500
#: FTQ begins some 20 ms after the node; its number of beats, and of quanta of 1 ms.
BEATS, FTQ_QUANTA = 10, 1300
#: From a beat to its record on a CPU, in turns without length.
BEAT_COST_NS_MAX = 2_000
STREAMS = ("console", "out", "err", "klog")


@pytest.fixture(autouse=True, scope="module")
def parts() -> None:
    if qemu_major(qemu_binary("newest")) < 10:
        pytest.skip("QEMU 10 is not there (make qemu10)")
    made("lockstep-parts")


def command(tmp_path: Path, *words: str) -> list[str]:
    return ["tools/lockstep-run", "--logs", str(tmp_path / "logs"), *words]


def lockstep(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """To its end."""
    return subprocess.run(
        command(tmp_path, *words),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S * slowness(),
        env={**os.environ, **env},
    )


def ping_pong(rounds: int = ROUNDS) -> list[str]:
    return [str(program("ping_pong.musl")), "{node}", "10.99.0.11", "5000", str(rounds)]


def said(done: subprocess.CompletedProcess[str]) -> str:
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


# ---- Exact ----


@dataclass(frozen=True)
class Kept:
    """All that two runs have in common."""

    stdout: str
    frames: str
    streams: dict[str, bytes]


def kept(folder: Path) -> Kept:
    """A network that loses frames, and beats, of two nodes."""
    folder.mkdir()
    frames = folder / "frames"
    beats = ["--beats", str(BEAT_HZ), "--first-beat", f"{FIRST_BEAT_NS}ns"]
    words = [*NETWORK, "--loss", "0.2", "--frames", str(frames), *beats, *ping_pong()]
    done = lockstep(folder, *words)
    assert done.returncode == 0, said(done)
    names = [f"node{number}.{stream}" for number in (1, 2) for stream in STREAMS]
    logs = folder / "logs"
    return Kept(done.stdout, frames.read_text(), {name: (logs / name).read_bytes() for name in names})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Kept]:
    folder = tmp_path_factory.mktemp("lockstep")
    return [kept(folder / name) for name in ("first", "second")]


def test_two_runs_are_the_same_bytes_and_each_frame_has_its_gate(runs: list[Kept]) -> None:
    first, second = runs
    assert first.frames.count("\n") > 2 * ROUNDS and " -" in first.frames
    assert first.frames == second.frames
    assert first.stdout == second.stdout
    for name, content in first.streams.items():
        assert content == second.streams[name], name
    assert first.streams["node2.klog"] and b"exit status=0" in first.streams["node1.console"]


def test_a_frame_is_on_its_way_for_the_latency_and_less_than_a_quantum_more(runs: list[Kept]) -> None:
    rows = re.findall(r"^node2: (\d+) (\d+) (\d+)$", runs[0].stdout, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, ROUNDS + 1)), runs[0].stdout
    # Answers to earlier tries come early; the node's clock is some ppm off.
    times_ns = [int(ns) for _, ns, tries in rows if tries == "1"]
    assert len(times_ns) > 3, runs[0].stdout
    assert all(1.999 * QUANTUM_NS < ns < 4 * QUANTUM_NS for ns in times_ns), runs[0].stdout


def test_a_beat_reaches_all_nodes_at_the_instant_that_it_is_due_at(tmp_path: Path) -> None:
    """Nodes that compute: what each executes before the beat is in its flight log is the same."""
    beats = ["--beats", "100", "--first-beat", f"{FIRST_BEAT_NS}ns"]
    ftq = [str(APPS / "ftq"), "-n", str(FTQ_QUANTA), "-s"]
    done = lockstep(tmp_path, "--quantum", "500us", *beats, *ftq)
    assert done.returncode == 0, said(done)
    ones = [delays(klog.read(tmp_path / "logs" / f"node{number}.klog"), 10**7) for number in (1, 2)]
    assert ones[0] == ones[1]
    times_ns = [ones[0][sequence] for sequence in range(1, BEATS + 1)]
    assert all(DELAY_MIN_NS < ns < DELAY_MAX_NS for ns in times_ns), times_ns


def test_a_beat_reaches_the_cpus_of_a_node_within_a_turn_and_all_nodes_at_one_instant(tmp_path: Path) -> None:
    """The last CPU takes a beat after the same part of a turn. What does not grow with the turn is the beat's
    own cost."""
    least_ns = {}
    for turns_us in (10, 20):
        words = ["--cpus", "2", "--turns", f"{turns_us}us", "--quantum", "1ms", "--beats", "100"]
        words += ["--first-beat", f"{FIRST_BEAT_NS}ns", str(APPS / "ftq"), "-n", "1220", "-s"]
        done = lockstep(tmp_path, *words)
        assert done.returncode == 0, said(done)
        logs = [klog.read(tmp_path / "logs" / f"node{number}.klog") for number in (1, 2)]
        ones = [lockstep_cpus.beats_of(log) for log in logs]
        assert ones[0][0] == ones[1][0] and ones[0][1] == ones[1][1]
        found = lockstep_cpus.figures(ones, 2)
        assert found["beats"] >= 2 and found["spread_of_nodes_ns_max"] == 0
        assert 0 < found["spread_ns_max"] < 1_000 * turns_us
        least_ns[turns_us] = found["last_ns"][0]
    assert 0 < 2 * least_ns[10] - least_ns[20] < BEAT_COST_NS_MAX, least_ns


def test_linux_stops_at_the_same_gates(tmp_path: Path) -> None:
    made("build/linux/version")
    words = ["--nodes", "1", "--linux", "1", "--quantum", "2ms", str(qemu.BUSYBOX), "echo", "of {node}"]
    done = lockstep(tmp_path, *words)
    assert (done.returncode, done.stdout) == (0, "node1: of 1\nnode2: of 2\n"), said(done)
    # Tacet has ended long before.
    gates = re.search(r"^lockstep: 2 nodes, (\d+) gates", done.stderr, re.MULTILINE)
    assert gates and int(gates[1]) > 200, said(done)
    assert "linux: exit status=0" in (tmp_path / "logs" / "node2.console").read_text(), said(done)


# ---- What goes wrong ----


def test_a_node_that_panics_or_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    """Only node 1 binds its socket, and there its kernel faults."""
    kernel = planted(tmp_path, "call_bind")
    words = [*NETWORK, "--until", "200ms", "--kernel", str(kernel), *ping_pong()]
    done = lockstep(tmp_path, *words)
    assert done.returncode == NO_STATUS, said(done)
    assert "node1 has ended: kernel fault: invalid opcode" in done.stderr, said(done)
    assert "node2 has ended" not in done.stderr and "until 0.2 s" in done.stderr, said(done)


def test_a_node_that_does_not_arrive_is_named_with_its_registers(tmp_path: Path) -> None:
    words = ["--time-limit", "2", "--logs", str(tmp_path), "--network", *ping_pong()]
    cluster = Cluster(arguments.parse(words))
    try:
        cluster.start()
        cluster.nodes[1].hold.set(True)
        with pytest.raises(Missing, match=r"node2 has not reached gate \d+ within 2 s") as missing:
            cluster.run()
        assert any(re.search("[ER]IP=", line) for line in missing.value.lines), missing.value.lines
    finally:
        cluster.close()
    assert all(node.process.returncode is not None for node in cluster.nodes)


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Running:
    """A run whose nodes are between gates, all of this machine that it uses in a folder of its own."""

    def __init__(self, tmp_path: Path, *words: str) -> None:
        self.temporary = tmp_path / "tmp"
        self.temporary.mkdir()
        program_words = [*words, str(qemu.BUSYBOX), "sleep", "1000000"]
        self.process = subprocess.Popen(
            command(tmp_path, *program_words),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )
        consoles = [tmp_path / "logs" / f"node{number}.console" for number in (1, 2)]
        self.wait(lambda: all(path.exists() and b"memory:" in path.read_bytes() for path in consoles))
        self.nodes = children(self.process.pid)

    def wait(self, holds: Callable[[], bool]) -> None:
        def held() -> bool:
            assert self.process.poll() is None or holds(), self.process.communicate()[0]
            return holds()

        waiting.until(held, "a state of the nodes", LIMIT_S)

    def ended(self) -> tuple[int, str]:
        """Its status and its words; nothing remains."""
        text, _ = self.process.communicate(timeout=LIMIT_S)
        waiting.until(lambda: not any(map(waiting.is_running, self.nodes)), "the end of all nodes", LIMIT_S)
        assert list(self.temporary.iterdir()) == []
        return self.process.returncode, text

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    one = Running(tmp_path, *getattr(request, "param", []))
    assert len(one.nodes) == 2
    yield one
    one.kill()


def test_an_interrupt_leaves_nothing_running_and_nothing_behind(running: Running) -> None:
    running.process.send_signal(signal.SIGINT)
    assert running.ended() == (INTERRUPTED, "tools/lockstep-run: interrupted\n")


def test_nodes_end_with_the_run_however_it_ends(running: Running) -> None:
    running.process.kill()
    assert running.ended() == (-signal.SIGKILL, "")


@pytest.mark.parametrize("running", [["--time-limit", "1"]], indirect=True)
def test_a_qemu_that_stands_still_is_named(running: Running) -> None:
    os.kill(running.nodes[1], signal.SIGSTOP)
    status, text = running.ended()
    assert status == MISSING and re.search(r"node2 has not reached gate \d+ within 1 s", text, re.M), text
    assert "node2: cannot read its registers" in text, text


def test_a_node_whose_qemu_ends_is_named(running: Running) -> None:
    """The other one goes on; it is killed, too, as it sleeps for long."""
    for pid in running.nodes:
        os.kill(pid, signal.SIGKILL)
        running.wait(lambda pid=pid: not waiting.is_running(pid))
    status, text = running.ended()
    assert status == NO_STATUS, text
    for name in ("node1", "node2"):
        assert f"{name} has ended: the machine switched itself off without a status" in text, text


# ---- This machine lacks something ----


def fake_qemu(folder: Path, version: str, words: str) -> None:
    path = folder / "qemu10" / "bin" / "qemu-system-x86_64"
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "version {version}" && exit\n{words}\n')
    path.chmod(0o755)
    for name in ("lockstep", "x86_64"):
        (folder / name).symlink_to(qemu.BUILD / name)


def refused(tmp_path: Path) -> str:
    done = lockstep(tmp_path, str(qemu.BUSYBOX), "true", TACET_BUILD=str(tmp_path))
    assert done.returncode == WRONG and done.stderr.count("\n") == 1, said(done)
    return done.stderr


def test_an_older_qemu_is_refused_in_one_line(tmp_path: Path) -> None:
    fake_qemu(tmp_path, "9.2.0", "exit 1")
    said = refused(tmp_path)
    assert "nodes in lockstep need QEMU 10, and " in said and " is older: make qemu10 gets it" in said


def test_a_qemu_without_the_doorbell_is_refused_in_one_line(tmp_path: Path) -> None:
    complaint = "'ivshmem-doorbell' is not a valid device model name"
    fake_qemu(tmp_path, "10.0.2", f'echo "qemu: -device: {complaint}"; exit 1')
    assert "this QEMU was built without ivshmem-doorbell, which nodes in lockstep need" in refused(tmp_path)


def test_the_status_is_the_worst_of_the_programs(tmp_path: Path) -> None:
    done = lockstep(tmp_path, str(qemu.BUSYBOX), "ash", "-c", "echo of {node}; exit $((2 + {node}))")
    assert done.returncode == 4, said(done)
    assert done.stdout == "node1: of 1\nnode2: of 2\n", said(done)
