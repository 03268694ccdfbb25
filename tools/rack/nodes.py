# SPDX-License-Identifier: BSD-2-Clause
"""One node of a cluster, from its card's first request to its end: QEMU, run by its own thread; the console
goes to a file, the program's output to lines with the node's name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import BinaryIO

import qemu
from qemu.arguments import TIME_LIMIT_MAX

from . import layout, linux, services
from .arguments import Plan
from .lines import Splitter, Stream

#: The status of a node that stopped without its program's end.
NO_STATUS = 125
TAIL_LINES = 20

#: A node's states, in order.
OFF, ASKED, LOADS, BOOTS, RUNS, ENDED = range(6)
STATES = ("has asked for nothing yet", "has an address", "loads its kernel", "boots", "runs", "has ended")
#: Escape sequences of firmware and GRUB.
_ESCAPES = re.compile(r"\x1b(?:c|\[[0-9;?]*[A-Za-z])|\r")
_BOOTS = "tacet: Tacet ", linux.BOOTS
_RUNS = re.compile(rf"tacet: network: eth0 has (\S+?)/|{linux.RUNS}")
#: For nodes without a program.
_WAITS = re.compile(rf"tacet: launch: the node waits for jobs|{linux.RUNS}")
_ACK = re.compile(r"DHCPACK\S* (\S+)")
_SENT = re.compile(r"sent \S+/tacet\.elf to (\S+)")


class Node:
    """A node. `changed` is called from any thread when its state has changed."""

    def __init__(
        self, number: int, plan: Plan, out: Stream, err: Stream, changed: Callable[[], None]
    ) -> None:
        self.number = number
        self.name = layout.name_of(number)
        self.state = OFF
        self.result: qemu.Result | None = None
        self.problem = ""  #: why it could not be started
        self.console: list[str] = []
        self._plan = plan
        self._changed = changed
        self._log: BinaryIO = (plan.logs / f"{self.name}.console").open("wb")
        self._lines = Splitter(self._heard)
        self._err = err
        self._streams = [out.of_node(self.name), err.of_node(self.name)]
        self.thread = threading.Thread(target=self._run, daemon=True)

    def reach(self, state: int) -> None:
        if state > self.state:
            self.state = state
            self._changed()

    def served(self, line: str) -> None:
        """Take note of a line of dnsmasq's log."""
        for pattern, state in ((_ACK, ASKED), (_SENT, LOADS)):
            found = pattern.search(line)
            if found and found[1] == layout.address_of(self.number):
                self.reach(state)

    def _heard(self, line: bytes) -> None:
        text = _ESCAPES.sub("", line.decode(errors="replace"))
        self.console.append(text)
        if self._plan.verbose:
            self._err.say(f"{self.name}: {text}")
        if text.startswith(_BOOTS):
            self.reach(BOOTS)
        elif (_RUNS if self._plan.app else _WAITS).match(text):
            self.reach(RUNS)

    def _console(self, chunk: bytes) -> None:
        self._log.write(chunk)
        self._log.flush()
        self._lines.feed(chunk)

    def _boot(self) -> tuple[list[str], qemu.DirectBoot | None]:
        """QEMU's options, and how QEMU boots the kernel; None: the firmware boots over the network."""
        if not layout.is_linux(self.number):
            # GRUB restarts if it could not load a file.
            return ["-machine", "graphics=off", "-action", "reboot=reset"], None
        self.reach(LOADS)
        return [], linux.boot(self.number)

    def _run(self) -> None:
        plan = self._plan
        card = services.beats_card(layout.tap_of(self.number), layout.beats_mac(self.number))
        try:
            options, boot = self._boot()
            self.result = qemu.run_machine(
                [*options, *card],
                boot=boot,
                network=qemu.Network("bridge", "e1000", layout.data_mac(self.number)),
                cpus=plan.cpus,
                memory=plan.memory,
                time_limit=TIME_LIMIT_MAX,
                on_stdout=self._streams[0].feed,
                on_stderr=self._streams[1].feed,
                on_console=self._console,
            )
            self.result.kernel = qemu.KERNEL
        except Exception as error:  # any kind: other threads wait for this node's end
            self.problem = str(error)
        for one in (self._lines, *self._streams):
            one.finish()
        self._log.close()
        self.reach(ENDED)

    @property
    def status(self) -> int:
        """The status of a node that has ended."""
        if self.result is None or self.result.status is None:
            return NO_STATUS
        return self.result.status

    def failure(self) -> list[str]:
        """Lines that tell how a node has failed; none if its program has ended with 0."""
        if self.result is None:
            return [f"could not be started: {self.problem}"]
        if self.result.outcome == "exit":
            said = qemu.failure_of(self.result.console, self.result.stderr).splitlines()
            return [*said, f"has ended with status {self.status}"] if self.status else []
        return [*self.tail(), f"has stopped, status {self.status}: {self.result.reason}"]

    def tail(self) -> list[str]:
        """The end of its console, with names for the kernel's addresses."""
        lines = [line for line in self.console if line.strip()][-TAIL_LINES:]
        return qemu.with_names("\n".join(lines) or "(its console is empty)", qemu.KERNEL).splitlines()
