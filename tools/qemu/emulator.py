# SPDX-License-Identifier: BSD-2-Clause
"""One process that emulates a machine, from start to end: its streams collected, its time limited."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import RunnerError
from .own_time import WALL_FACTOR, OwnTime
from .result import Result, parse_end
from .streams import Delivery, Ports, Sink

#: The least time between two readings of a machine's own time, seconds.
LOOK_MIN_S = 0.05
#: The longest wait: epoll takes some weeks at most.
WAIT_MAX_S = 86400.0
LINUX_PANIC = b"Kernel panic - not syncing"


@contextlib.contextmanager
def signal_wakeup() -> Iterator[int | None]:
    """A descriptor that is readable once a signal has come that Python has a handler for; None outside of the
    main thread.

    Python calls a handler between two of its own instructions. A signal that comes after the last one before
    a wait, or that the system gives to another thread, does not end that wait: this descriptor does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


@dataclass(frozen=True)
class Watch:
    """Who watches a run: seconds until it is ended by force, and sinks that get output as it comes.

    The seconds are the machine's own (own_time.py): those in which it was ready and other processes had the
    host's CPUs do not count, so that a limit means that a run hangs, however busy the host is. By the wall
    clock, WALL_FACTOR times as many end it in any case.
    """

    time_limit: float = 60.0
    on_stdout: Sink | None = None
    on_stderr: Sink | None = None
    on_console: Sink | None = None

    def sink(self, name: str) -> Sink | None:
        return {"stdout": self.on_stdout, "stderr": self.on_stderr, "console": self.on_console}.get(name)


class Emulator:
    """One emulator's process, its ports, and what came out of them. It dies with this process, even if that
    is killed.

    It starts in the folder `cwd`. `pass_fds` are descriptors of this process that the emulator
    gets, too, under the same numbers.
    """

    NAME = "the emulator"

    def __init__(
        self,
        command: Sequence[str],
        ports: Ports,
        watch: Watch,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
    ) -> None:
        self.ports = ports
        self.watch = watch
        self.received: dict[str, bytearray] = {name: bytearray() for name in (*Ports.NAMES, "own")}
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=pass_fds,
            cwd=cwd,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.own_time = OwnTime(self.process.pid)
        self.look_at = watch.time_limit
        self.sources = {**self.ports.readers, "own": self.process.stdout.fileno()}
        self.delivery = Delivery()
        self.was_killed = False  #: by this process

    def receive(self, name: str) -> bool:
        """Read what is there; False at the end of the stream."""
        try:
            chunk = os.read(self.sources[name], 1 << 16)
        except BlockingIOError:
            return True
        self.received[name] += chunk
        if chunk and (sink := self.watch.sink(name)):
            self.delivery.chunks.put((sink, chunk))
        return bool(chunk)

    def seconds_left(self) -> float:
        """Until the time can be over, by the wall clock; 0 or less when it is.

        A machine's own time is no faster than the wall clock, so it is read only when it can have passed.
        """
        wall = self.own_time.wall()
        if wall >= self.look_at:
            limit = self.watch.time_limit
            left = min(limit - self.own_time.seconds(), limit * WALL_FACTOR - wall)
            self.look_at = wall + (max(left, LOOK_MIN_S) if left > 0 else 0)
        return self.look_at - wall

    def wait(self, feed: Callable[[], None] | None) -> bool:
        """Read until the machine is off; False when its time is over.

        `feed` is called at the kernel's first word: then it has set its ports up. A Linux that has panicked,
        and a machine whose output nobody takes any more, are killed too.
        """
        ended = os.pidfd_open(self.process.pid)
        try:
            with selectors.DefaultSelector() as selector, signal_wakeup() as signals:
                if signals is not None:
                    selector.register(signals, selectors.EVENT_READ, "signals")
                selector.register(ended, selectors.EVENT_READ, "ended")
                selector.register(self.delivery.failed, selectors.EVENT_READ, "failed")
                for name, source in self.sources.items():
                    selector.register(source, selectors.EVENT_READ, name)
                while (left := self.seconds_left()) > 0:
                    ready = {key.data: key.fd for key, _ in selector.select(min(left, WAIT_MAX_S))}
                    # The kernel's lines first: a program that complains does so after them.
                    for name in sorted(ready.keys() & self.sources.keys()):
                        if not self.receive(name):
                            selector.unregister(ready[name])
                    if "signals" in ready:
                        os.read(ready["signals"], 64)
                    if "ended" in ready:
                        return True
                    if "failed" in ready or LINUX_PANIC in self.received["console"]:
                        self.was_killed = True
                        self.process.kill()
                        return True
                    if feed is not None and self.received["console"]:
                        feed()
                        feed = None
            return False
        finally:
            os.close(ended)

    def drain(self) -> None:
        """Read what remains in the ports of a machine that is off."""
        self.process.wait()
        self.ports.hang_up()
        for name, source in self.sources.items():
            os.set_blocking(source, True)
            while self.receive(name):
                pass

    def close(self) -> None:
        self.delivery.chunks.put(None)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.ports.close()

    def no_end(self) -> str:
        """Why a run whose time is over was ended."""
        waited = self.own_time.waited()
        said = f"no end within {self.watch.time_limit:g} s"
        return said if waited < 1 else f"{said}, besides {waited:.0f} s in which others had the host's CPUs"

    def failure(self) -> str:
        """Why a machine that is off, and has not said how it ended, did not run; "" where it did."""
        returned = self.process.returncode
        if returned == 0 or self.was_killed:
            return ""
        said = self.received["own"].decode(errors="replace").strip()
        how = f"was killed by signal {-returned}" if returned < 0 else f"ended with status {returned}"
        return said or f"{self.NAME} {how}"

    def result(self, command: list[str], in_time: bool, seconds: float) -> Result:
        """How a machine that is off has ended."""
        console = self.received["console"].decode(errors="replace")
        outcome, status, reason = parse_end(console)
        if not in_time:
            ended = (
                ""
                if status is None
                else f" (the console reports {outcome} status={status}; the machine stayed on)"
            )
            outcome, status, reason = "timeout", None, f"{self.no_end()}{ended}"
        elif outcome == "no-status" and (failure := self.failure()):
            outcome, reason = "qemu-failed", failure
        stdout, stderr = bytes(self.received["stdout"]), bytes(self.received["stderr"])
        return Result(status, outcome, reason, console, stdout, stderr, command, seconds)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """For a run's ports."""
    try:
        return tempfile.TemporaryDirectory(prefix="tacet-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunnerError(f"no folder for the run's ports (TMPDIR names one): {error.strerror}") from None
