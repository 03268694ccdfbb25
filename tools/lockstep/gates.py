# SPDX-License-Identifier: BSD-2-Clause
"""The loop: all nodes arrive at a gate, something is done there, all go on.

A node that has ended is waited for no longer. One that does not arrive although it could have run for
`limit_s` seconds (qemu/own_time.py) ends the run: `Missing` says which, and where its CPUs were.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from qemu.errors import RunnerError
from qemu.own_time import OwnTime

from .node import Node

#: Between two looks at whether a node that was given frames has read them.
LOOK_S = 20e-6
#: Between two looks at how long nodes have been able to run.
SLOW_S = 0.5
LIMIT_S = 60.0


class Missing(Exception):
    """A node has not come to a gate."""

    def __init__(self, node: Node, gate: int, seconds: float) -> None:
        self.node = node
        self.lines = node.registers()
        super().__init__(f"{node.name} has not come to gate {gate} within {seconds:g} s")


class Gates:
    """`first` is the number of the gate that nodes come to first; those whose `begins_after` is not 0 begin,
    and come to theirs, so many gates later."""

    def __init__(self, nodes: Sequence[Node], first: int, limit_s: float = LIMIT_S) -> None:
        self.first = first
        self.alive = list(nodes)
        self.gate = first - 1
        self.passed = 0
        self.limit_s = limit_s
        self._late: set[Node] = set()
        self._poll = select.poll()
        self._arrives: dict[int, Node] = {}
        self._ends: dict[int, Node] = {}
        for node in nodes:
            self._arrives[node.doorbell.arrived] = node
            self._ends[node.ended] = node
            self._poll.register(node.doorbell.arrived, select.POLLIN)
            self._poll.register(node.ended, select.POLLIN)

    def run(self, at_gate: Callable[[int], bool]) -> None:
        """Until all nodes have ended, or `at_gate`, which is called with each gate's number while all stand
        there, says that it is enough. Missing where a node does not arrive."""
        while True:
            self._wait()
            self.gate += 1
            enough = at_gate(self.gate)
            if enough or not self.alive:
                return
            self.passed += 1
            for node in self.alive:
                if node.has_begun:
                    node.doorbell.open_gate()
                elif self.gate + 1 == self.first + node.begins_after:
                    node.begin()

    def _wait(self) -> None:
        """Until all that live stand at the next gate."""
        waiting = {node for node in self.alive if node.has_begun}
        could_run: dict[Node, OwnTime] = {}
        look_at = time.monotonic() + SLOW_S
        while waiting:
            taking = [node for node in waiting if node.is_taking]
            ready = self._poll.poll(0 if taking else SLOW_S * 1000)
            if taking and not ready:
                time.sleep(LOOK_S)
            for node in taking:
                node.take_up()
            for source, _ in ready:
                if (node := self._arrives.get(source)) is not None:
                    if node.doorbell.has_arrived() and self._may_stay(node):
                        waiting.discard(node)
                else:
                    waiting.discard(self._gone(source))
            if not ready and time.monotonic() >= look_at:
                self._look(waiting, could_run)
                look_at = time.monotonic() + SLOW_S

    def _may_stay(self, node: Node) -> bool:
        """False for a node that has not read what it was given: it is about to end, as QEMU does not read
        then, and is let go on to there. RunnerError where it goes on, and reads it after its time."""
        node.take_up()
        if node.is_taking:
            self._late.add(node)
            node.doorbell.open_gate()
        elif node in self._late:
            raise RunnerError(f"{node.name} has not taken up its frames before gate {self.gate + 1}")
        return not node.is_taking

    def _gone(self, source: int) -> Node:
        """A node has ended, wherever it was."""
        node = self._ends[source]
        self._poll.unregister(source)
        self.alive.remove(node)
        return node

    def _look(self, waiting: set[Node], could_run: dict[Node, OwnTime]) -> None:
        """Nothing has come for a while."""
        for node in sorted(waiting, key=lambda node: node.name):
            if node not in could_run:
                could_run[node] = OwnTime(node.process.pid)
            if could_run[node].seconds() >= self.limit_s:
                raise Missing(node, self.gate + 1, self.limit_s)
