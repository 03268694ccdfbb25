# SPDX-License-Identifier: BSD-2-Clause
"""The loop: all nodes arrive at a gate, a function is called, and all nodes continue.

The loop does not wait for nodes that have ended. A node that does not arrive although it could have run for
`limit_s` seconds (qemu/own_time.py) ends the run: `Missing` names it and says where its CPUs were.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from qemu.errors import RunnerError
from qemu.own_time import OwnTime

from .node import Node

#: Between two checks whether a node has read its frames.
LOOK_S = 20e-6
#: Between two checks of how long nodes have been able to run.
SLOW_S = 0.5
LIMIT_S = 60.0


class Missing(Exception):
    """A node has not reached a gate in time."""

    def __init__(self, node: Node, gate: int, seconds: float) -> None:
        self.node = node
        self.lines = node.registers()
        super().__init__(f"{node.name} has not reached gate {gate} within {seconds:g} s (--time-limit)")


class Gates:
    """The gates of these nodes. `first` is the number of the first gate; a node with `begins_after` starts,
    and reaches its first gate, that many gates later."""

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
        """Run until all nodes have ended or `at_gate` returns True. It is called with each gate's number
        while all nodes are stopped there. Missing if a node does not arrive."""
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
        """Wait until all nodes that have not ended are at the next gate."""
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
        """Whether an arrived node has read its frames. If not, it is probably about to end, since QEMU then
        reads nothing: it may continue. RunnerError if it has continued, and read the frames too late."""
        node.take_up()
        if node.is_taking:
            self._late.add(node)
            node.doorbell.open_gate()
        elif node in self._late:
            raise RunnerError(f"{node.name} has not read its frames before gate {self.gate + 1}")
        return not node.is_taking

    def _gone(self, source: int) -> Node:
        """Remove a node that has ended; returns it."""
        node = self._ends[source]
        self._poll.unregister(source)
        self.alive.remove(node)
        return node

    def _look(self, waiting: set[Node], could_run: dict[Node, OwnTime]) -> None:
        """Check the time limits of nodes that have not arrived. Missing if one has exceeded its limit."""
        for node in sorted(waiting, key=lambda node: node.name):
            if node not in could_run:
                could_run[node] = OwnTime(node.process.pid)
            if could_run[node].seconds() >= self.limit_s:
                raise Missing(node, self.gate + 1, self.limit_s)
