# SPDX-License-Identifier: BSD-2-Clause
"""One run: a QEMU process from start to end, its streams collected, its time limited.

A machine that has not ended in time is examined before it is ended by force (postmortem.py), by way of a
monitor that each run has.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import paths, postmortem, turns
from .errors import RunnerError
from .machine import Machine
from .monitor import Monitor, MonitorError
from .own_time import WALL_FACTOR, OwnTime
from .postmortem import Examine, Postmortem
from .result import Result, parse_end
from .streams import Delivery, Ports, Sink

__all__ = ["Sink", "Watch", "run"]

#: The least time between two readings of a machine's own time, seconds.
LOOK_MIN_S = 0.05
LINUX_PANIC = b"Kernel panic - not syncing"


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


class _Process:
    """One QEMU process, its ports, and what came out of them. QEMU dies with this process, even if that is
    killed."""

    def __init__(self, machine: Machine, folder: Path, watch: Watch) -> None:
        self.folder = folder
        self.ports = Ports(folder)
        self.watch = watch
        self.sockets, of_qemu = zip(*(socket.socketpair() for _ in range(2)), strict=True)
        self.monitor = Monitor(self.sockets[0], postmortem.ANSWER_SECONDS)
        monitor_number, turns_number = (one.fileno() for one in of_qemu)
        self.received: dict[str, bytearray] = {name: bytearray() for name in (*Ports.NAMES, "qemu")}
        self.process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),
                *machine.command(),
                *self.ports.options(),
                *machine.com4_options(),
                *("-chardev", f"socket,id=tacet-monitor,fd={monitor_number}"),
                *("-mon", "chardev=tacet-monitor,mode=control"),
                *(turns.options(turns_number) if machine.takes_turns() else ()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[monitor_number, turns_number],
        )
        for one in of_qemu:
            one.close()
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.own_time = OwnTime(self.process.pid)
        self.look_at = watch.time_limit
        self.sources = {**self.ports.readers, "qemu": self.process.stdout.fileno()}
        self.delivery = Delivery()

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

    def begin(self, machine: Machine) -> None:
        """Let a machine begin that was started stopped, because its CPUs' turns are to be bounded first.
        RunnerError if QEMU does not do so; where it has ended, `wait` finds its own words."""
        if not machine.takes_turns():
            return
        try:
            turns.begin(self.sockets[1], self.monitor, machine.turns_ns, machine.qemu_options)
        except (RunnerError, MonitorError) as error:
            try:
                self.process.wait(turns.ANSWER_SECONDS)
            except subprocess.TimeoutExpired:
                raise RunnerError(str(error)) from None

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
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ, "ended")
                selector.register(self.delivery.failed, selectors.EVENT_READ, "failed")
                for name, source in self.sources.items():
                    selector.register(source, selectors.EVENT_READ, name)
                while (left := self.seconds_left()) > 0:
                    ready = {key.data: key.fd for key, _ in selector.select(left)}
                    # The kernel's lines first: a program that complains does so after them.
                    for name in sorted(ready.keys() & self.sources.keys()):
                        if not self.receive(name):
                            selector.unregister(ready[name])
                    if "ended" in ready:
                        return True
                    if "failed" in ready or LINUX_PANIC in self.received["console"]:
                        self.process.kill()
                        return True
                    if feed is not None and self.received["console"]:
                        feed()
                        feed = None
            return False
        finally:
            os.close(ended)

    def examine(self, examine: Examine) -> Postmortem:
        """What a machine whose time is over was doing, which ends it. Never hangs: each answer of the monitor
        has a time limit."""
        try:
            return examine(self.monitor, self.folder)
        except (MonitorError, OSError, ValueError, KeyError, struct.error) as error:
            return Postmortem(no_flight_log=f"where its CPUs were is not known: {error}")
        finally:
            self.process.kill()

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
        for one in self.sockets:
            one.close()
        self.ports.close()

    def no_end(self) -> str:
        """Why a run whose time is over was ended."""
        waited = self.own_time.waited()
        said = f"no end within {self.watch.time_limit:g} s"
        return said if waited < 1 else f"{said}, besides {waited:.0f} s in which others had the host's CPUs"

    def result(self, machine: Machine, in_time: bool, seconds: float) -> Result:
        """How a machine that is off has ended."""
        text = {name: chunk.decode(errors="replace") for name, chunk in self.received.items()}
        outcome, status, reason = parse_end(text["console"])
        returned = self.process.returncode
        if not in_time:
            ended = (
                ""
                if status is None
                else f" (the console reports {outcome} status={status}; the machine stayed on)"
            )
            outcome, status, reason = "timeout", None, f"{self.no_end()}{ended}"
        elif outcome == "no-status" and returned not in (0, -signal.SIGKILL):
            outcome, reason = "qemu-failed", text["qemu"].strip() or f"QEMU ended with status {returned}"
        stdout, stderr = bytes(self.received["stdout"]), bytes(self.received["stderr"])
        return Result(
            status, outcome, reason, text["console"], stdout, stderr, machine.shown_command(), seconds
        )


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="tacet-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunnerError(f"no folder for the run's ports (TMPDIR names one): {error.strerror}") from None


def _keep_log(machine: Machine, found: Postmortem) -> tuple[Path | None, str]:
    """The flight log's file, if there is one: where the caller wants it, or among the files of runs; else why
    there is none."""
    if found.flight_log is None:
        return None, found.no_flight_log
    try:
        if machine.com4 is not None:
            machine.com4.write_bytes(found.flight_log)
            return machine.com4, ""
        return paths.keep("node.klog", found.flight_log), ""
    except (OSError, RunnerError) as error:
        return None, f"the flight log cannot be kept: {error}"


def run(
    machine: Machine,
    watch: Watch,
    stdin: Path | None = None,
    feed: bool = False,
    examine: Examine = postmortem.examine_any,
) -> Result:
    """Run one machine to its end; `feed` sends `stdin`, or nothing but its end, to the program's port.
    `examine` looks at a machine whose time is over."""
    begun = time.monotonic()
    found = Postmortem()
    with _temporary_folder() as folder:
        process = _Process(machine, Path(folder), watch)
        feeder = threading.Thread(target=process.ports.send_input, args=(stdin,), daemon=True)
        try:
            process.begin(machine)
            in_time = process.wait(feeder.start if feed else None)
            if not in_time:
                found = process.examine(examine)
            process.drain()
        finally:
            process.close()
    seconds = time.monotonic() - begun
    process.delivery.finish()
    result = process.result(machine, in_time, seconds)
    result.postmortem = list(found.lines)
    result.flight_log, result.no_flight_log = _keep_log(machine, found)
    return result
