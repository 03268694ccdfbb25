# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that wait for jobs, on a bridge of their own, and tacetrun on it.

with WaitingNodes(tmp_path, nodes=2, cpus=2) as nodes:
    done = nodes.tacetrun("-n", "4", "/bin/busybox", "env")
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from conftest import slowness
from nodes import namespace

import qemu
from qemu.monitor import Monitor, connect

TACETRUN = qemu.BUILD / "service" / "tacetrun"
#: Until a node waits, a job runs, tacetrun ends: the last resort, as four nodes of two CPUs on a machine that
#: does much else take minutes.
LIMIT_S = 600.0
PORT = 35019
WAITS = "launch: the node waits for jobs"


def address_of(number: int) -> str:
    """Nodes have numbers from 1 on; 10.99.0.1 is this machine."""
    return f"10.99.0.{10 + number}"


class Node:
    """One of them, in a thread, until it is switched off."""

    def __init__(self, folder: Path, number: int, enter: Sequence[str], options: str, **machine: Any) -> None:
        self.address = address_of(number)
        self.lines: list[str] = []
        self.result: qemu.Result | None = None
        self._news = threading.Condition()
        self._partial = ""
        self.monitor = folder / f"monitor{number}"
        words = f"launch ip={self.address}/24 {options}"
        self._machine = {
            "kernel": str(qemu.KERNEL),
            "qemu_options": [
                *("-kernel", str(qemu.KERNEL), "-append", f"stdout=com2 stderr=com3 {words}"),
                *("-qmp", f"unix:{self.monitor},server=on,wait=off", "-action", "reboot=reset"),
            ],
            "network": qemu.Network("bridge", "e1000", f"52:54:00:01:00:{number:02x}", enter=enter),
            "time_limit": 600,
            "on_console": self._heard,
            **machine,
        }
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        options = self._machine.pop("qemu_options")
        self._machine.pop("kernel")
        result = qemu.run_machine(options, **self._machine)
        with self._news:
            self.result = result
            self._news.notify_all()

    def _heard(self, chunk: bytes) -> None:
        *lines, self._partial = (self._partial + chunk.decode(errors="replace")).split("\n")
        with self._news:
            self.lines += [line.strip() for line in lines]
            self._news.notify_all()

    def said(self, text: str) -> int:
        """How many lines of its console have that."""
        return sum(text in line for line in self.lines)

    def wait(self, text: str, times: int = 1) -> None:
        """Waits until this number of lines has it."""
        deadline = time.monotonic() + LIMIT_S * slowness()
        with self._news:
            while self.said(text) < times:
                left = deadline - time.monotonic()
                assert left > 0 and self.result is None, "\n".join([f"no {text!r}:", *self.lines])
                self._news.wait(left)

    def command(self, word: str) -> None:
        """QEMU's."""
        connection = connect(self.monitor, LIMIT_S)
        monitor = Monitor(connection, LIMIT_S)
        monitor.greet()
        monitor.command(word)
        connection.close()

    def reset(self) -> None:
        """Resets it, as by its button; returns when it has booted and waits for jobs again."""
        before = self.said(WAITS)
        self.command("system_reset")
        self.wait(WAITS, before + 1)

    def off(self) -> None:
        """Switches it off, as by its switch."""
        if self.result is None:
            self.command("quit")
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "QEMU does not end"


class WaitingNodes:
    """Some of them, up and waiting."""

    def __init__(self, folder: Path, nodes: int = 1, options: str = "", **machine: Any) -> None:
        self.space = namespace()
        self.nodes = [
            Node(folder, number, self.space.enter, options, **machine) for number in range(1, nodes + 1)
        ]

    def __enter__(self) -> WaitingNodes:
        try:
            for node in self.nodes:
                node.wait(WAITS)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.off()
        self.space.close()

    def words(self, *words: str | Path) -> list[str | Path]:
        names = ",".join(node.address for node in self.nodes)
        return [TACETRUN, "--nodelist", names, *words]

    def tacetrun(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """What it has said, once it has ended."""
        settings = {"capture_output": True, "text": True, "timeout": LIMIT_S * slowness(), **settings}
        if "input" not in settings:
            settings["stdin"] = subprocess.DEVNULL
        return self.space.run(self.words(*words), **settings)

    def start(self, *words: str | Path, **settings: Any) -> subprocess.Popen[str]:
        return self.space.popen(
            self.words(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **settings,
        )
