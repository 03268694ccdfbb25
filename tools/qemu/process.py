# SPDX-License-Identifier: BSD-2-Clause
"""One run: a QEMU process from start to end, its streams collected, its time limited.

A machine that has not ended in time is examined before it is killed (postmortem.py), through a monitor that
each run has.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from . import paths, postmortem, turns
from .emulator import Emulator, Watch, temporary_folder
from .errors import RunnerError
from .machine import Machine
from .monitor import Monitor, MonitorError
from .postmortem import Examine, Postmortem
from .result import Result
from .streams import Ports, Sink

__all__ = ["Sink", "Watch", "run"]


class _Process(Emulator):
    """One QEMU process, with a monitor."""

    NAME = "QEMU"

    def __init__(self, machine: Machine, folder: Path, watch: Watch) -> None:
        self.folder = folder
        ports = Ports(folder)
        self.sockets, of_qemu = zip(*(socket.socketpair() for _ in range(2)), strict=True)
        self.monitor = Monitor(self.sockets[0], postmortem.ANSWER_SECONDS)
        monitor_number, turns_number = (one.fileno() for one in of_qemu)
        command = [
            *(machine.network.enter if machine.network else ()),
            *machine.command(),
            *ports.options(),
            *machine.com4_options(),
            *("-chardev", f"socket,id=tacet-monitor,fd={monitor_number}"),
            *("-mon", "chardev=tacet-monitor,mode=control"),
            *(turns.options(turns_number) if machine.takes_turns() else ()),
        ]
        super().__init__(command, ports, watch, [monitor_number, turns_number])
        for one in of_qemu:
            one.close()

    def begin(self, machine: Machine) -> None:
        """Start a machine whose CPUs take bounded turns: QEMU has started it stopped, so that the turns can
        be set first. RunnerError if QEMU fails to; if it has ended, `wait` finds its message."""
        if not machine.takes_turns():
            return
        try:
            turns.begin(self.sockets[1], self.monitor, machine.turns_ns, machine.qemu_options)
        except (RunnerError, MonitorError) as error:
            try:
                self.process.wait(turns.ANSWER_SECONDS)
            except subprocess.TimeoutExpired:
                raise RunnerError(str(error)) from None

    def examine(self, examine: Examine) -> Postmortem:
        """Examine a machine that has exceeded its time limit, and kill it. Never hangs: each answer of the
        monitor has a time limit."""
        try:
            return examine(self.monitor, self.folder)
        except (MonitorError, OSError, ValueError, KeyError, struct.error) as error:
            return Postmortem(no_flight_log=f"cannot find out where its CPUs were: {error}")
        finally:
            self.process.kill()

    def close(self) -> None:
        super().close()
        for one in self.sockets:
            one.close()


def _keep_log(machine: Machine, found: Postmortem) -> tuple[Path | None, str]:
    """Write the flight log to the file that the caller wants, or to build/run. Returns its path, or None and
    why there is none."""
    if found.flight_log is None:
        return None, found.no_flight_log
    try:
        if machine.com4 is not None:
            machine.com4.write_bytes(found.flight_log)
            return machine.com4, ""
        return paths.keep("node.klog", found.flight_log), ""
    except (OSError, RunnerError) as error:
        return None, f"cannot write the flight log: {error}"


def run(
    machine: Machine,
    watch: Watch,
    stdin: Path | None = None,
    feed: bool = False,
    examine: Examine = postmortem.examine_any,
) -> Result:
    """Run one machine to its end. `feed`: send `stdin`, or only an end of input, to the program's port.
    `examine` is called for a machine that exceeds its time limit."""
    begun = time.monotonic()
    found = Postmortem()
    with temporary_folder() as folder:
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
    result = process.result(machine.shown_command(), in_time, seconds)
    result.postmortem = list(found.lines)
    result.flight_log, result.no_flight_log = _keep_log(machine, found)
    return result
