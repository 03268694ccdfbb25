# SPDX-License-Identifier: BSD-2-Clause
"""Deaths by seed: jobs of a real tacetrun, with a real conductor, on nodes of this process. Their tacetruns
are killed with -9 or interrupted, their nodes lose cable or power, while the conductor is killed and starts
again or stands still. In the end, with all cables in place, nothing is left: no process, no descriptor of the
conductor, no lease, no place of the registry, no job on a node.

    python3 -m tests.interleavings --rounds 500 --at-once 8

A round is JOBS jobs in a network namespace of its own; each has its own deaths in its own order. A round that
fails is repeated with --first SEED --rounds 1."""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import waiting
from tests.fake_nodes import FakeNode, Wire, play
from tests.keys import MASTER, key_write
from tests.launch_node import Job

JOBS = 10
NODES_OF_JOB = 2
LIMIT_S = 120
NONCE = "0123456789abcdef"
#: How a tacetrun may end: as the job, by a signal (also before it handles one), or for a node's death.
STATUSES = {0, 125, 130, 137, 143, -signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM}
TCP_REPAIR = 19


class ComputeNode:
    """A node at an address of its own: its beats (FakeNode), and its launch port. A rank that computes hears
    no network, only beats."""

    def __init__(self, wire: Wire, number: int, computes: bool) -> None:
        self.wire, self.computes = wire, computes
        self.address = f"127.0.0.{10 + number}"
        self.beats = FakeNode(b"n%d" % number, ipv4=socket.inet_aton(self.address), ranks=0, kills_to_end=1)
        wire.add(self.beats)
        self.server = socket.create_server((self.address, 35019))
        self.connection: socket.socket | None = None
        self.has_power = True
        self.ends = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def is_plugged(self) -> bool:
        return self.beats in self.wire.nodes

    def plug(self, into: bool) -> None:
        """Its cable: neither beats nor the network reach it without."""
        with self.wire.lock:
            if into and not self.is_plugged:
                self.wire.nodes.append(self.beats)
            elif not into and self.is_plugged:
                self.wire.nodes.remove(self.beats)

    def power_off(self) -> None:
        """Its connection ends without a word."""
        self.plug(False)
        self.has_power = False
        connection = self.connection
        if connection:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
                connection.close()
            except OSError:
                pass

    def power_on(self) -> None:
        if self.has_power:
            return
        waiting.until(lambda: self.connection is None, f"{self.address} to be off", LIMIT_S)
        self.beats.restart()
        self.beats.job = 0
        self.has_power = True

    def serve(self) -> None:
        while True:
            connection, _ = self.server.accept()
            with connection:
                if not (self.has_power and self.is_plugged):
                    continue
                self.connection = connection
                try:
                    self.run(connection)
                except (OSError, EOFError, AssertionError):
                    pass
            self.beats.job = 0
            self.connection = None

    def run(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        name = self.beats.name.decode()
        connection.sendall(f"tacet-launch 1 {NONCE} open cpus=4 state=idle name={name} system=x\n".encode())
        job = Job(self, connection)  # type: ignore[arg-type]
        streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
        try:
            job.say("started")
            self.beats.kills_to_end = 1
            self.beats.job = job.number("job")
            status = self.compute(job)
        finally:
            for stream in streams:
                stream.close()
        if self.has_power:
            job.end(status)

    def compute(self, job: Job) -> int:
        """Returns the rank's status."""
        while self.has_power:
            if self.is_plugged and not self.beats.job:
                return 137
            if self.is_plugged and self.ends.is_set():
                return 0
            if self.is_plugged and not self.computes and job.wait_for_kill(0):
                return 137
            time.sleep(0.01)
        raise EOFError


class History:
    """A job, and what is done to it."""

    def __init__(self, wire: Wire, number: int, seed: str) -> None:
        self.random = random.Random(seed)
        self.nodes = [
            ComputeNode(wire, number * NODES_OF_JOB + i, self.random.random() < 0.5)
            for i in range(NODES_OF_JOB)
        ]
        self.wire = wire
        self.done: list[str] = []

    def start(self) -> None:
        names = ",".join(node.address for node in self.nodes)
        words = ["--conductor", self.wire.control, "-w", names, "--within", "3", "/bin/x"]
        self.messages = (self.wire.folder / f"tacetrun.{names}").open("wb+")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": self.messages}
        self.process = subprocess.Popen([ROOT / "build/service/tacetrun", *words], **pipes)

    def step(self) -> None:
        choice = self.random
        what = choice.choice(["kill", "int", "term", "cable", "back", "power", "reboot", "end"])
        node = choice.choice(self.nodes)
        self.done.append(f"{what} {node.address}")
        if what in ("kill", "int", "term"):
            self.process.send_signal(
                {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM}[what]
            )
        elif what in ("cable", "back"):
            node.plug(what == "back" and node.has_power)
        elif what == "power":
            node.power_off()
        elif what == "reboot":
            node.power_off()
            node.power_on()
            node.plug(True)
        else:
            node.ends.set()

    def play(self) -> None:
        time.sleep(self.random.random() * 0.3)
        self.start()
        for _ in range(self.random.randrange(1, 5)):
            time.sleep(self.random.choice((0, 0.02, 0.3, 1, 4)) * self.random.random())
            self.step()

    def repair(self) -> None:
        """All that was pulled is in place again, and programs come to their end."""
        for node in self.nodes:
            node.power_on()
            node.plug(True)
            node.ends.set()


def conductor_plays(wire: Wire, choice: random.Random) -> None:
    """It stands still, or is killed and starts again, up to three times."""
    for _ in range(choice.randrange(4)):
        time.sleep(choice.random() * 2)
        process = wire.conductor
        assert process
        if choice.random() < 0.4:
            process.send_signal(signal.SIGSTOP)
            time.sleep(choice.random() * 3)
            process.send_signal(signal.SIGCONT)
            continue
        process.kill()
        process.wait()
        time.sleep(choice.choice((0, 1, 3)) * choice.random())
        command = [ROOT / "build/service/conductor", "--interface", "beats", "--key", wire.folder / "key"]
        command += ["--socket", wire.control, "--rate", "50", "--answer-every", "10", "--state", wire.folder]
        with wire.messages.open("ab") as messages:
            wire.conductor = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages)
        wire._started.append(wire.conductor)
        assert wire.conductor.stdout and wire.conductor.stdout.readline()


def descriptors(process: subprocess.Popen) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def what_is_left(wire: Wire, histories: list[History], own: int) -> list[str]:
    """What has not gone yet."""
    left = [f"tacetrun of {h.nodes[0].address}" for h in histories if h.process.poll() is None]
    nodes = [node for history in histories for node in history.nodes]
    left += [f"job {node.beats.job} on {node.address}" for node in nodes if node.beats.job or node.connection]
    if left:
        return left
    status = wire.status()
    counts = {name: status[name] for name in ("jobs", "lost_jobs", "ending_jobs")}
    if any(counts.values()) or status["clients"] != 1 or status["nodes"] != len(nodes):
        left.append(f"{counts} clients {status['clients']} nodes {status['nodes']}")
    if not left and wire.conductor and descriptors(wire.conductor) != own:
        left.append(f"{descriptors(wire.conductor)} descriptors, not {own}")
    return left


def scene_round(wire: Wire, seed: int) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    histories = [History(wire, number, f"{seed}.{number}") for number in range(JOBS)]
    wire.start("--rate", "50", "--answer-every", "10", "--state", str(wire.folder))
    assert wire.conductor
    own = descriptors(wire.conductor)
    players = [threading.Thread(target=history.play) for history in histories]
    players.append(threading.Thread(target=conductor_plays, args=(wire, random.Random(f"{seed}"))))
    for player in players:
        player.start()
    for player in players:
        player.join()
    for history in histories:
        history.repair()
    until = time.monotonic() + LIMIT_S
    while left := what_is_left(wire, histories, own):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    for history in histories:
        history.messages.seek(0)
        said = history.messages.read().decode()
        assert not left, (left, [(h.nodes[0].address, h.done) for h in histories], said)
        assert history.process.returncode in STATUSES, (history.process.returncode, history.done, said)


def play_round(seed: int) -> str:
    """Plays a round in a namespace of its own; returns what went wrong, or ""."""
    with tempfile.TemporaryDirectory(prefix="interleavings.") as folder:
        key_write(Path(folder, "key"), MASTER.hex() + "\n")
        inside = ["unshare", "-rn", sys.executable, __file__, "--round", str(seed), folder]
        ran = subprocess.run(inside, capture_output=True, text=True, timeout=500)
        return "" if ran.returncode == 0 else f"seed {seed}:\n{ran.stdout}{ran.stderr}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=4, help="rounds at a time")
    words = parser.parse_args()
    failed = 0
    with ThreadPoolExecutor(words.at_once) as pool:
        for said in pool.map(play_round, range(words.first, words.first + words.rounds)):
            failed += bool(said)
            print(said or ".", end="" if not said else "\n", flush=True)
    print(f"\n{words.rounds * JOBS} jobs in {words.rounds} rounds, {failed} rounds failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--round"]:
        play(lambda wire: scene_round(wire, int(sys.argv[2])), Path(sys.argv[3]))
    main()
