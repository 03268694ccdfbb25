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

#: The shortest time between two readings of a machine's own time, in seconds.
LOOK_MIN_S = 0.05
#: The longest wait, in seconds: epoll's limit is some weeks.
WAIT_MAX_S = 86400.0
LINUX_PANIC = b"Kernel panic - not syncing"


@contextlib.contextmanager
def signal_wakeup() -> Iterator[int | None]:
    """A descriptor that becomes readable when a signal comes for which Python has a handler; None in threads
    other than the main thread.

    Python calls handlers only between two of its own instructions. A signal that comes after the last
    instruction before a wait, or that the system delivers to another thread, does not end the wait; this
    descriptor does.
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
    """The time limit of a run in seconds, and sinks that get its output as it comes.

    The limit is in the machine's own time (own_time.py): time in which the machine was ready but other
    processes had the host's CPUs does not count. So a run that exceeds its limit hangs, however busy the host
    is. In any case, a run ends after WALL_FACTOR times the limit by the wall clock.
    """

    time_limit: float = 60.0
    on_stdout: Sink | None = None
    on_stderr: Sink | None = None
    on_console: Sink | None = None

    def sink(self, name: str) -> Sink | None:
        return {"stdout": self.on_stdout, "stderr": self.on_stderr, "console": self.on_console}.get(name)


class Emulator:
    """One emulator's process, its ports, and their output. The emulator dies with this process, even if that
    is killed.

    It starts in the folder `cwd`. It inherits the descriptors `pass_fds`, under the same numbers.
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
        """Read the available bytes; False at the end of the stream."""
        try:
            chunk = os.read(self.sources[name], 1 << 16)
        except BlockingIOError:
            return True
        self.received[name] += chunk
        if chunk and (sink := self.watch.sink(name)):
            self.delivery.chunks.put((sink, chunk))
        return bool(chunk)

    def seconds_left(self) -> float:
        """Wall seconds until the limit may be reached; 0 or less when it is reached.

        A machine's own time is not faster than the wall clock, so it is read only when it may have reached
        the limit.
        """
        wall = self.own_time.wall()
        if wall >= self.look_at:
            limit = self.watch.time_limit
            left = min(limit - self.own_time.seconds(), limit * WALL_FACTOR - wall)
            self.look_at = wall + (max(left, LOOK_MIN_S) if left > 0 else 0)
        return self.look_at - wall

    def wait(self, feed: Callable[[], None] | None) -> bool:
        """Read until the machine is off; False if it exceeds its time limit.

        `feed` is called when the kernel's first output comes: then it has set up its ports. A Linux that has
        panicked, and a machine whose output can no longer be delivered, are killed.
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
                    # The console first, since a program's complaints follow the kernel's lines.
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
        """Read the rest from the ports of a machine that is off."""
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
        """Why a run that exceeded its time limit was ended."""
        waited = self.own_time.waited()
        said = f"no end within {self.watch.time_limit:g} s"
        return said if waited < 1 else f"{said}, not counting {waited:.0f} s when others had the host's CPUs"

    def failure(self) -> str:
        """Why the emulator of a machine that is off and has reported no end has failed; "" if it has not."""
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
    """A folder for a run's ports. RunnerError if it cannot be made."""
    try:
        return tempfile.TemporaryDirectory(prefix="tacet-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunnerError(
            f"cannot make a folder for the run's ports (set TMPDIR to another place): {error.strerror}"
        ) from None
