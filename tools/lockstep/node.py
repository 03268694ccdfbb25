# SPDX-License-Identifier: BSD-2-Clause
"""One node: a QEMU that stops at gates.

Only socket pairs and unnamed memory connect it with this process, so no files are left, however either of the
two ends. QEMU ends with this process (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from qemu import paths, turns
from qemu.errors import RunnerError
from qemu.machine import Machine
from qemu.monitor import Monitor, MonitorError
from qemu.result import Outcome, parse_end
from qemu.version import qemu_binary, qemu_major

from . import timers
from .cable import Cable
from .doorbell import ARRIVED, STOP, Doorbell, address_of

HOLD = paths.BUILD / "lockstep" / "hold.so"
#: The streams of a node, in the order of its serial ports, as files NODE.STREAM.
STREAMS = ("console", "out", "err", "klog")
#: Limit for the node's firmware, which takes a fraction of a second.
PROBE_SECONDS = 60.0
#: Limit for an answer: a QEMU that is stopped does not answer at all.
REGISTERS_SECONDS = 5.0
REGISTER_LINES = 12
_NO_DOORBELL = "'ivshmem-doorbell' is not a valid device model name"


@dataclass(frozen=True)
class Ending:
    """How a node has ended, according to its console."""

    outcome: Outcome
    status: int | None
    reason: str


def options_check() -> None:
    """RunnerError if this machine has no QEMU for gates."""
    binary = qemu_binary("newest")
    if qemu_major(binary) < turns.QEMU_MAJOR:
        raise RunnerError(
            f"nodes in lockstep need QEMU {turns.QEMU_MAJOR}, and {binary} is older: make qemu10 gets it"
        )
    if not HOLD.is_file():
        raise RunnerError(f"there is no {HOLD}; make lockstep-parts builds it")


class Hold:
    """The word of memory that keeps a node's CPUs from executing while it is not 0 (hold.c)."""

    def __init__(self) -> None:
        self.memory = os.memfd_create("hold")
        os.ftruncate(self.memory, mmap.PAGESIZE)
        self._page = mmap.mmap(self.memory, mmap.PAGESIZE)
        self._word = ctypes.c_uint32.from_buffer(self._page)

    def set(self, held: bool) -> None:
        self._word.value = held

    def close(self) -> None:
        del self._word
        self._page.close()
        os.close(self.memory)


class Node:
    """One QEMU, which the constructor starts, and its cables. `machine` is ready to boot and has a
    deterministic clock.

    begins_after    number of gates after which the node begins
    has_begun       whether the node has begun, and comes to gates
    """

    def __init__(self, name: str, machine: Machine, cables: Sequence[Cable], logs: Path) -> None:
        self.name = name
        self.machine = machine
        self.cables = list(cables)
        self.logs = logs
        self.begins_after = 0
        self.has_begun = False
        self.is_taking = False  #: whether QEMU still reads frames that were sent to it
        self.doorbell = Doorbell()
        self.hold = Hold()
        self.sockets, of_qemu = zip(*(socket.socketpair() for _ in range(2)), strict=True)
        monitor, test = (end.fileno() for end in of_qemu)
        theirs = [*of_qemu, self.doorbell.of_qemu, *(cable.of_qemu for cable in self.cables)]
        with self.file("qemu").open("wb") as said:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.command(), *turns.options(test), *_monitor(monitor)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[self.hold.memory, *(end.fileno() for end in theirs)],
            )
        for end in theirs:
            end.close()
        self.ended = os.pidfd_open(self.process.pid)
        self.monitor = Monitor(self.sockets[0], turns.ANSWER_SECONDS)

    def file(self, stream: str) -> Path:
        return self.logs / f"{self.name}.{stream}"

    def command(self) -> list[str]:
        further = [*self.machine.qemu_options, *self.doorbell.options()]
        for cable in self.cables:
            further += cable.options()
        if self.cables:
            further += ["-plugin", f"{HOLD},fd={self.hold.memory}"]
        serials = []
        for number, stream in enumerate(STREAMS):
            path = str(self.file(stream).absolute()).replace(",", ",,")
            serials += [
                "-chardev",
                f"file,id=com{number + 1},path={path}",
                "-serial",
                f"chardev:com{number + 1}",
            ]
        return [*replace(self.machine, qemu_options=further).command(), *serials]

    # ---- From its start to its first gate ----

    def connect(self) -> None:
        """Wait until QEMU is ready. RunnerError with QEMU's message if it has ended."""
        try:
            self.doorbell.serve()
            self.monitor.greet()
            self.doorbell.ready()
        except (MonitorError, OSError, RunnerError) as error:
            self.kill()
            said = self.file("qemu").read_text(errors="replace").strip()
            if _NO_DOORBELL in said:
                said = "this QEMU was built without ivshmem-doorbell, which nodes in lockstep need"
            raise RunnerError(f"{self.name}: {said.splitlines()[-1] if said else error}") from None

    def probe(self) -> int:
        """The address that the node's firmware gives to the doorbell. Lets the node run freely: it cannot be
        used afterwards. RunnerError if there is none."""
        deadline = time.monotonic() + PROBE_SECONDS
        self.monitor.command("cont")
        while time.monotonic() < deadline:
            if (address := address_of(self.monitor.command("query-pci"))) is not None:
                return address
        raise RunnerError(f"{self.name}: its firmware has given the doorbell no address")

    def timers_set(self, quantum_ns: int, turn_ns: int, address: int) -> None:
        """Set the timers of its gates, before it begins."""
        registers = timers.registers(quantum_ns, address, ARRIVED, STOP, turn_ns)
        timers.begin(self.sockets[1], registers)

    def begin(self) -> None:
        """Let it execute from its first instruction on."""
        self.has_begun = True
        self.monitor.command("cont")

    # ---- At gates ----

    def deliver(self, number: int, frames: list[bytes]) -> int:
        """Give frames to one of its cards while it is stopped at a gate; returns how many were too many. Its
        CPUs do not continue before QEMU has read the frames."""
        overrun = self.cables[number].deliver(frames)
        self.hold.set(True)
        self.is_taking = True
        return overrun

    def take_up(self) -> None:
        """Release its CPUs if QEMU has read all frames."""
        if all(cable.is_read() for cable in self.cables):
            self.hold.set(False)
            self.is_taking = False

    # ---- Its end ----

    def registers(self) -> list[str]:
        """The registers of its CPUs, as lines; or why they cannot be read."""
        try:
            self.monitor.wait_at_most(REGISTERS_SECONDS)
            return self.monitor.human("info registers -a").replace("\r", "").splitlines()[:REGISTER_LINES]
        except MonitorError as error:
            return [f"cannot read its registers: {error}"]

    def ending(self) -> Ending:
        console = self.file("console").read_text(errors="replace")
        return Ending(*parse_end(console))

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        os.close(self.ended)
        self.doorbell.close()
        self.hold.close()
        for end in self.sockets:
            end.close()
        for cable in self.cables:
            cable.close()


def _monitor(number: int) -> list[str]:
    return [
        *("-chardev", f"socket,id=lockstep-monitor,fd={number}"),
        *("-mon", "chardev=lockstep-monitor,mode=control"),
    ]
