# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command whose output is shown as it comes and kept, and which ends with this process."""

from __future__ import annotations

import codecs
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: How long a command that is interrupted may take to print its numbers.
LAST_WORDS_S = 10.0
#: prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Interrupted(Exception):
    """Ctrl-C, or SIGTERM; `lines` is what the command has printed, to its last words."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines


def end_with_parent() -> None:
    """Makes this process end when its parent does, however that ends. For a child before its exec."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Running:
    """A command that runs in a process group of its own."""

    def __init__(self, command: list[str], more: Mapping[str, str]) -> None:
        # A make around this one must not pass its job server on: tests/run.py says how many jobs there are.
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment, "PYTHONUNBUFFERED": "1", **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        assert self.process.stdout
        self.stream = self.process.stdout.fileno()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text: list[str] = []

    def lines(self) -> list[str]:
        return "".join(self.text).splitlines()

    def ends_within(self, seconds: float, shown: bool = True) -> bool:
        """Reads until the command has ended; False if the time is over before."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.stream, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                taken = os.read(self.stream, 1 << 16)
                chunk = self.decoder.decode(taken)
                self.text.append(chunk)
                if shown:
                    print(chunk, end="", flush=True)
                if not taken:
                    # The end of the stream comes before the end of the process.
                    try:
                        self.process.wait(max(0.1, deadline - time.monotonic()))
                        return True
                    except subprocess.TimeoutExpired:
                        return False
        return False

    def end(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has ended


def run_shown(
    command: list[str], seconds: float, more: Mapping[str, str] | None = None, shown: bool = True
) -> tuple[int | None, list[str]]:
    """Runs a command with `more` environment; returns its status (None: the time was over) and its lines.
    Interrupted if a person has ended it."""
    running = Running(command, more or {})
    try:
        if running.ends_within(seconds, shown):
            return running.process.returncode, running.lines()
        return None, running.lines()
    except KeyboardInterrupt:
        # pytest prints its numbers.
        running.end(signal.SIGINT)
        try:
            running.ends_within(LAST_WORDS_S, shown=False)
        except KeyboardInterrupt:
            pass  # in a hurry
        raise Interrupted(running.lines()) from None
    finally:
        running.end(signal.SIGKILL)
        running.process.wait()
