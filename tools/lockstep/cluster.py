# SPDX-License-Identifier: BSD-2-Clause
"""Nodes in lockstep, from the plan to their ends: machines, cards, the switch, the conductor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rack import layout

import qemu
from qemu.errors import RunnerError

from . import beats, timers
from .arguments import Plan
from .cable import Cable
from .gates import Gates, Missing
from .node import STREAMS, Ending, Node, options_check
from .switch import Counts, Switch

#: The ending of a node that still ran when the run ended (--until).
AT_REST = Ending("exit", 0, "")


@dataclass
class Summary:
    """Facts about a run."""

    gates: int
    until_ns: int  #: of the nodes' time
    seconds: float
    counts: Counts
    beats: int
    outcomes: Sequence[beats.Outcome]  #: of commands, in the order in which they are known


class Cluster:
    """Nodes that are started and run to their ends. Call `close` in any case. Methods raise RunnerError, or
    gates.Missing if a node does not reach a gate."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes: list[Node] = []
        self.at_rest: list[Node] = []  #: nodes that were ended because the run ended
        self._closing = ExitStack()
        trace = None
        if plan.frames is not None:
            trace = self._closing.enter_context(plan.frames.open("w"))
        self.switch = Switch(plan.total, plan.latency, plan.loss, plan.seed, trace)
        self.conductor = None
        if plan.beat_ns:
            when = plan.beat_ns, plan.first_beat_ns, plan.quantum_ns
            self.conductor = beats.Conductor(*when, plan.nodes, plan.answer_every, plan.commands)

    # ---- Machines ----

    def _is_linux(self, number: int) -> bool:
        return number > self.plan.nodes

    def _cables(self, number: int) -> list[Cable]:
        """A node's cables, the data network's first."""
        wanted = [("data", layout.data_mac(number))] if self.plan.network else []
        wanted += [("beats", layout.beats_mac(number))] if self.conductor else []
        return [Cable(name, self.plan.card, mac, self.plan.quantum_ns) for name, mac in wanted]

    def _options(self, number: int) -> str:
        """The options of a Tacet node's kernel."""
        words = ["klog=com4"]
        if self.plan.network:
            words += [f"ip={layout.address_of(number)}/24,,,{layout.name_of(number)}"]
            words += [f"netdev={layout.data_mac(number)}"]
        if self.conductor:
            mac = layout.beats_mac(number)
            words += ["nettick=irq", f"nettick_dev={mac}", f"nettick_key={beats.KEY.hex()}"]
        return " ".join([*words, self.plan.options])

    def _machine(self, number: int) -> qemu.Machine:
        plan = self.plan
        args, service = (
            [word.replace("{node}", str(number)) for word in words] for words in (plan.args, plan.service)
        )
        program = qemu.Program(app=plan.app, args=args, env=dict(pair.split("=", 1) for pair in plan.env))
        machine = qemu.Machine(cpus=plan.cpus, memory=plan.memory, icount=0, qemu="newest")
        if self._is_linux(number):
            card = {"nic": plan.card, "address": f"{layout.address_of(number)}/24"} if plan.network else {}
            return qemu.LinuxNode(options="hpet=disable", **card).prepare(program, machine)
        return qemu.TacetNode(plan.kernel, self._options(number), service=service).prepare(program, machine)

    # ---- From the start to the end ----

    def start(self) -> None:
        """Start all nodes, stopped before their first instructions; those without a stagger then begin."""
        options_check()
        self.plan.logs.mkdir(parents=True, exist_ok=True)
        address = self._doorbell()
        for number in range(1, self.plan.total + 1):
            for stream in STREAMS:
                (self.plan.logs / f"{layout.name_of(number)}.{stream}").unlink(missing_ok=True)
            self.nodes.append(self._node(number, layout.name_of(number), self.plan.logs))
        for node in self.nodes:
            node.connect()
        for number, node in enumerate(self.nodes):
            node.timers_set(self.plan.quantum_ns, self.plan.turn_ns, address)
            node.begins_after = number * self.plan.stagger
            if not node.begins_after:
                node.begin()

    def _node(self, number: int, name: str, logs: Path) -> Node:
        node = Node(name, self._machine(number), self._cables(number), logs)
        self._closing.callback(node.close)
        return node

    def _doorbell(self) -> int:
        """The doorbell's address in a node's machine, found by a probe; all nodes have the same devices."""
        node = self._node(1, "probe", self.plan.logs)
        node.connect()
        address = node.probe()
        node.kill()
        for stream in (*STREAMS, "qemu"):
            node.file(stream).unlink(missing_ok=True)
        return address

    def run(self) -> Summary:
        """Run from gate to gate, until all nodes have ended or --until."""
        begun = time.monotonic()
        quantum_ns = self.plan.quantum_ns
        gates = Gates(self.nodes, timers.first_gate(quantum_ns), self.plan.limit_s)
        try:
            gates.run(self._at_gate_new(gates))
        except Missing:
            self.at_rest = [node for node in gates.alive if node.process.poll() is None]
            raise
        self.at_rest = list(gates.alive)
        for node in self.at_rest:
            node.kill()
        seconds = time.monotonic() - begun
        counts = self.switch.counts
        sent, outcomes = 0, []
        if self.conductor:
            sent, outcomes = self.conductor.beats_sent, self.conductor.outcomes
            self.conductor.end(gates.gate, goes_on=not self.at_rest)
        return Summary(gates.passed, gates.gate * quantum_ns, seconds, counts, sent, outcomes)

    def _at_gate_new(self, gates: Gates) -> Callable[[int], bool]:
        plan = self.plan
        last = None if plan.until_ns is None else plan.until_ns // plan.quantum_ns

        def at_gate(gate: int) -> bool:
            if plan.network:
                self._carry(gate)
            if self.conductor:
                self._beat(gate)
            return last is not None and gate >= last

        return at_gate

    def _carry(self, gate: int) -> None:
        """Give frames sent up to this gate to the switch, and frames due at the next gate to their nodes. The
        latency is at least a quantum, so no frame is due earlier."""
        for port, node in enumerate(self.nodes):
            try:
                frames = node.cables[0].collect()
            except RunnerError as error:
                raise RunnerError(f"{node.name}: {error}") from None
            for frame in frames:
                self.switch.take(gate, port, frame)
        for port, frames in self.switch.due(gate + 1).items():
            self._deliver(self.nodes[port], 0, frames)

    def _beat(self, gate: int) -> None:
        """Give the nodes' answers to the conductor, and its beat, if one is due at the next gate, to the
        nodes."""
        assert self.conductor is not None
        answers = [frame for node in self.nodes for frame in node.cables[-1].collect()]
        frame = self.conductor.at_gate(gate, answers)
        if frame is not None:
            for node in self.nodes:
                self._deliver(node, -1, [frame])

    def _deliver(self, node: Node, card: int, frames: list[bytes]) -> None:
        """Deliver frames to a node's card, unless the node has not begun or has ended."""
        if node.has_begun and node.process.poll() is None:
            overrun = node.deliver(card, frames)
            if card == 0:
                self.switch.counts.delivered += len(frames) - overrun
                self.switch.counts.overrun += overrun

    def ending(self, node: Node) -> Ending:
        """How a node has ended."""
        return AT_REST if node in self.at_rest else node.ending()

    def close(self) -> None:
        """Ends all nodes, the last one first."""
        self._closing.close()
