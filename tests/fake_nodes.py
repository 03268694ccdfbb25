# SPDX-License-Identifier: BSD-2-Clause
"""A wire with a conductor at one end and nodes at the other, which do and answer what docs/nettick.md says,
or less. For a network namespace of its own: the interfaces are `beats` and `nodes`.

    wire = Wire(folder)
    wire.add(FakeNode(b"n1"), FakeNode(b"n2", answers=False))
    wire.start("--rate", "100")
    wire.ctl("stop")
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import waiting
from tests.beat_frames import (
    ACKNOWLEDGE,
    HOLD,
    PAGE_BYTES,
    PAGE_REQUEST,
    PAYLOAD_AT,
    SEND_PAGES,
    STOPPED,
    Answer,
    Beat,
    Command,
    Page,
    beat_of,
    welcome_of,
    welcomes_in,
)
from tests.key_frames import KEY_ANSWER, REKEY
from tests.keys import KEY, MASTER, key_write
from tests.namespaces import namespace_needed

ROOT = Path(__file__).resolve().parent.parent
SERVICE = ROOT / "build" / "service"
#: No test waits longer than this, unless something is wrong.
LIMIT_S = 120


def address_of(interface: str) -> bytes:
    """Its Ethernet address (the namespace has no /sys of its own)."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as bound:
        bound.bind((interface, 0))
        return bound.getsockname()[4]


@dataclass
class FakeNode:
    """A node. Its commands are done at the first beat that carries them, once it has been welcomed."""

    name: bytes
    address: bytes = b""
    ipv4: bytes = bytes(4)
    booted_ns: int = 1
    start: int = 1
    cpus: int = 4
    ranks: int = 3
    #: The number of the job that it runs.
    job: int = 0
    lost: int = 0
    error_ns: int = 0
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    #: Linux's errno for each command.
    result: int = 0
    answers: bool = True
    #: Whether it is silent while it computes (nettick=poll).
    polls: bool = False
    #: Kills of its job until it ends the job; 0: it goes on.
    kills_to_end: int = 0
    #: Whether it stops answering when it is killed.
    dies: bool = False
    #: How many answers are lost on their way once a command has been done.
    lose_answers: int = 0
    epoch: int = 0
    welcomed: bool = False
    #: Beats whose welcome it does not hear.
    lose_welcomes: int = 0
    done: int = 0
    #: Whether it has got the keys of the last command 11; it asks for them then.
    rekeyed: bool = False
    asks_keys: Callable[[], None] = lambda: None
    beats: int = 0
    state: int = 1
    #: Its flight log's file; the beat at which it is held, 0: it is not; what each page becomes on its way.
    log: bytes = b"TACETLOG"
    held: int = 0
    pages_of: Callable[[Page], Sequence[Page]] = lambda page: (page,)
    pages: list[Page] = field(default_factory=list)
    obeyed: list[Command] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)

    def hear(self, beat: Beat) -> Answer | None:
        """What it answers, or None."""
        if beat.epoch != self.epoch:
            self.epoch, self.done, self.welcomed = beat.epoch, 0, False
        self.beats += 1
        welcomes = [] if self.welcomed else welcomes_in(beat)
        if welcomes and welcome_of(self.address, self.start) in welcomes:
            self.welcomed = self.lose_welcomes == 0
            self.lose_welcomes -= not self.welcomed
        for command in beat.commands:
            if self.welcomed and command.number > self.done:
                self.do(command, beat)
        asks = any(command.code & ACKNOWLEDGE for command in beat.commands)
        asks |= bool(beat.answer_every) and beat.sequence % beat.answer_every == 0
        if not asks or not self.answers:
            return None
        if self.done and self.lose_answers:
            self.lose_answers -= 1
            return None
        return self.answer(beat.sequence)

    def do(self, command: Command, beat: Beat) -> None:
        self.done = command.number
        self.obeyed.append(command)
        code = command.code & ~ACKNOWLEDGE
        if code in (1, 2, 3) and command.body and struct.unpack(">I", command.body) != (self.job,):
            return
        if code == HOLD and not self.result:
            self.held = beat.sequence if any(command.body) else 0
        if code == SEND_PAGES and self.answers:
            address, offset, count = PAGE_REQUEST.unpack(command.body)
            if address == self.address:
                self.send_pages(command.number, offset, count)
        if code == REKEY:
            self.rekeyed = False
            self.asks_keys()
        if code in (1, 2):
            self.state = {1: STOPPED, 2: 1}[code]
        if code == 3 and self.kills_to_end:
            self.kills_to_end -= 1
            self.job = self.job if self.kills_to_end else 0
        if code == 3 and self.dies:
            self.answers = False
        if code == 4:
            self.counts = tuple(count + step for count, step in zip(self.counts, (100, 10, 5, 1)))

    def send_pages(self, number: int, offset: int, count: int) -> None:
        size = len(self.log) if self.held else 0
        for _ in range(count):
            at = min(offset, size)
            data = self.log[at : at + PAGE_BYTES] if self.held else b""
            clocks = (1000 + self.held, 10**18 + self.held, -7)
            page = Page(number, self.epoch, self.start, self.held, *clocks, at, size, data)
            self.pages += self.pages_of(page)
            offset = at + len(data)
            if offset >= size:
                break

    def answer(self, sequence: int) -> Answer:
        return Answer(
            sequence=sequence,
            epoch=self.epoch,
            name=self.name,
            state=self.state,
            cpus=self.cpus,
            ranks=self.ranks,
            booted_ns=self.booted_ns,
            error_ns=self.error_ns,
            beats=self.beats,
            lost=self.lost,
            done=self.done,
            result=self.result if self.done else 0,
            counts=self.counts,
            ipv4=self.ipv4,
            job=self.job,
            start=self.start,
            welcomed=self.welcomed + 2 * self.rekeyed,
            polls=self.polls,
        )

    def restart(self) -> None:
        self.booted_ns += 1
        self.start += 1
        self.epoch = self.done = self.beats = self.held = 0
        self.state, self.obeyed = 1, []


class Wire:
    """The wire, the conductor on it and the nodes. Beats are heard by a thread, which answers for all."""

    def __init__(self, folder: Path) -> None:
        links = ("link add beats type veth peer name nodes", "link set beats up", "link set nodes up")
        for command in links:
            subprocess.run(["ip", *command.split()], check=True)
        self.folder, self.control = folder, folder / "control"
        self.conductor: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[Any]] = []
        self.messages = folder / "stderr"
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CB))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.bind(("nodes", 0))
        self.to = address_of("beats")
        self.nodes: list[FakeNode] = []
        self.beats: list[Beat] = []
        #: The key of beats and answers, the one that follows it, and frames that bring keys.
        self.key, self.next_key = KEY, b""
        self.key_answers: list[bytes] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            frame = self.socket.recv(2000)
            if frame[PAYLOAD_AT + 1] == KEY_ANSWER:
                self.key_answers.append(frame)
                continue
            beat = self._beat_of(frame)
            with self.lock:
                self.beats.append(beat)
                for node in self.nodes:
                    answer = node.hear(beat)
                    if answer:
                        frame = answer.frame(self.to, node.address, self.key)
                        node.sent.append(frame)
                        self.send(frame)
                    for page in node.pages:
                        self.send(page.frame(self.to, node.address, self.key))
                    node.pages.clear()

    def _beat_of(self, frame: bytes) -> Beat:
        try:
            return beat_of(frame, self.key)
        except AssertionError:
            beat = beat_of(frame, self.next_key) if self.next_key else None
            if not beat:
                raise
            self.key = self.next_key
            return beat

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def start(
        self, *words: str, interface: str = "beats", control: str = "control"
    ) -> subprocess.Popen[bytes]:
        """Returns when the conductor knows all nodes that answer, and these obey it."""
        command = [SERVICE / "conductor", "--interface", interface, "--key", self.folder / "key"]
        with self.messages.open("ab") as messages:
            process = subprocess.Popen(
                [*command, "--socket", self.folder / control, *words], stdout=subprocess.PIPE, stderr=messages
            )
        self._started.append(process)
        assert process.stdout and b"beats on" in process.stdout.readline()
        if control == "control":
            self.conductor = process
            known = [node for node in self.nodes if node.answers]
            self.until(lambda: self.status()["nodes"] >= len(known))
            self.until(lambda: all(node.welcomed or not node.answers for node in known))
        return process

    def ends_with(self, process: subprocess.Popen[str]) -> None:
        """Has `close` end it, too."""
        self._started.append(process)

    def close(self) -> None:
        """No conductor runs any more."""
        for process in self._started:
            process.kill()

    def add(self, *nodes: FakeNode) -> None:
        with self.lock:
            for node in nodes:
                self.nodes.append(node)
                node.address = b"\x02\x54" + struct.pack(">I", len(self.nodes))

    def run(self, *words: object, control: str = "control") -> subprocess.CompletedProcess[str]:
        command = [SERVICE / "conductorctl", "--socket", self.folder / control, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)

    def ctl(self, *words: object, status: int = 0, control: str = "control") -> dict:
        """What conductorctl says in JSON."""
        ran = self.run("--json", *words, control=control)
        assert ran.returncode == status, (words, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def status(self) -> dict:
        return self.ctl("status")

    def heard(self, since: int = 0) -> Sequence[Beat]:
        """Beats that have come, from the one at this place of the list on."""
        with self.lock:
            return self.beats[since:]

    def next_beats(self, count: int) -> Sequence[Beat]:
        """Waits for this number of beats from now on; returns them and all after them."""
        first = self.status()["sequence"] + 1

        def later() -> list[Beat]:
            return [beat for beat in self.heard()[-4 * count - 100 :] if beat.sequence >= first]

        self.until(lambda: len(later()) >= count)
        return later()

    def until(self, holds: Callable[[], bool]) -> None:
        waiting.until(holds, "what the nodes were to hear or do", LIMIT_S)


def play(scene: Callable[[Wire], None], folder: Path) -> None:
    """In a namespace of its own, as a process's whole work."""
    wire = Wire(folder)
    try:
        scene(wire)
    finally:
        wire.close()
    sys.stdout.flush()
    os._exit(0)


def assert_plays(file: str, scene: str, folder: Path) -> None:
    """A test's file plays the scene in a process, with a network and a key of its own."""
    namespace_needed()
    key_write(folder / "key", MASTER.hex() + "\n")
    inside = ["unshare", "-rn", sys.executable, file, scene, str(folder)]
    ran = subprocess.run(inside, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout + ran.stderr
