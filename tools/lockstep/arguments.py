# SPDX-License-Identifier: BSD-2-Clause
"""The command line of nodes in lockstep, checked before anything is started. Each error is one line that says
what would be right."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import qemu
from qemu import arguments as checks
from qemu.errors import RunnerError

from . import beats, timers
from .gates import LIMIT_S

WRONG = 2
NODES_MAX = 64
CARDS = ("e1000", "e1000e")
#: The conductor's longest wait for a command, in seconds.
WITHIN_S_MAX = 86_400
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
QUANTUM_NS_MIN, QUANTUM_NS_MAX = 10_000, 100_000_000
#: The unit of QEMU's filter-buffer.
QUANTUM_UNIT_NS = 1_000
TIME_NS_MAX = 10**15


@dataclass(frozen=True)
class Plan:
    """The nodes that the user asked for; times are the nodes', in ns."""

    app: Path
    args: Sequence[str]
    env: Sequence[str]
    nodes: int
    linux: int
    cpus: int
    memory: str
    options: str
    service: Sequence[str]  #: its program and arguments, of Tacet nodes
    kernel: Path | None
    quantum_ns: int
    turn_ns: int  #: the longest turn of a node's CPU on the node's clock
    stagger: int  #: quanta between the starts of two nodes
    card: str
    network: bool
    latency: int  #: quanta
    loss: float
    seed: int
    beat_ns: int  #: between two beats; 0: none
    first_beat_ns: int
    answer_every: int  #: the conductor's option; 0: none
    commands: Sequence[beats.Command]
    until_ns: int | None
    limit_s: float
    logs: Path
    frames: Path | None
    quiet: bool

    @property
    def total(self) -> int:
        return self.nodes + self.linux


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a one-line message."""
        self.exit(WRONG, f"tools/lockstep-run: {message} (tools/lockstep-run --help)\n")


def parser_new() -> Parser:
    parser = Parser(
        prog="tools/lockstep-run",
        usage="tools/lockstep-run [options] PROG [ARGS...]",
        description="Run nodes in QEMU on one deterministic clock: every run is the same, byte for byte. In "
        "ARGS, {node} is replaced by the node's number. TIME is a number with ns, us, ms or s, of the nodes' "
        "time.",
    )

    def add(name: str, default: str | None, metavar: str, text: str) -> None:
        shown = f"{text} (default: %(default)s)" if default else text
        parser.add_argument(name, default=default, metavar=metavar, help=shown)

    add("--nodes", "2", "N", "Tacet nodes")
    add("--linux", "0", "N", "additional Linux nodes, numbered after the Tacet nodes")
    add("--cpus", "1", "N", "CPUs of each node")
    add("--memory", "256M", "M", "memory of each node")
    parser.add_argument("--options", default="", metavar='"…"', help="options for Tacet's kernel")
    parser.add_argument(
        "--service",
        default="",
        metavar='"PROG …"',
        help="a service of each Tacet node, with its arguments, in which {node} is replaced",
    )
    parser.add_argument("--kernel", type=Path, metavar="FILE", help="another Tacet kernel than the tree's")
    parser.add_argument(
        "--env", action="append", default=[], metavar="K=V", help="environment; may be repeated"
    )
    add("--quantum", "100us", "TIME", "time between two gates")
    add("--stagger", None, "TIME", "time between the starts of two nodes, whole quanta (default: none)")
    add("--turns", None, "TIME", "longest turn of a CPU on its node's clock (default: a quantum)")
    parser.add_argument(
        "--network", action="store_true", help="give each node a card and an address, connected by a switch"
    )
    parser.add_argument(
        "--card", choices=CARDS, default=CARDS[0], help="nodes' card: e1000 (default) or e1000e, an 82574L"
    )
    add("--latency", None, "TIME", "latency of the network, a whole number of quanta (default: one)")
    add("--loss", "0", "P", "probability that a receiver loses a frame, 0 to 1")
    add("--seed", "1", "N", "selects the frames that are lost")
    add("--beats", "0", "HZ", "heartbeats a second (NETTICK), for Tacet nodes")
    add("--first-beat", "100ms", "TIME", "time of the first beat")
    add(
        "--answer-every",
        None,
        "N",
        "nodes answer every Nth beat; 0: none (default: with --command the conductor's default, otherwise "
        "none)",
    )
    parser.add_argument(
        "--command",
        action="append",
        default=[],
        metavar='"TIME WHAT"',
        help="send conductorctl's command WHAT with the beats, from TIME on until all Tacet nodes have done "
        "it: stop, continue, kill, trace, rating, services; may be repeated",
    )
    add("--until", None, "TIME", "end all nodes at this time (default: when all have ended)")
    add("--time-limit", f"{LIMIT_S:g}", "S", "limit from gate to gate, in seconds of this machine")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="folder for consoles and outputs")
    parser.add_argument("--frames", type=Path, metavar="FILE", help="write a line for each network frame")
    parser.add_argument("--quiet", action="store_true", help="do not print what the programs print")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def parse(words: Sequence[str]) -> Plan:
    """The plan. If it is wrong, exits with a message of one line, or raises RunnerError."""
    parser = parser_new()
    given = parser.parse_args(words)
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    if not program:
        parser.error("the program to run is missing")
    quantum = quantum_of(given.quantum)
    plan = Plan(
        app=Path(program[0]),
        args=program[1:],
        env=given.env,
        nodes=whole("--nodes", given.nodes, 0, NODES_MAX),
        linux=whole("--linux", given.linux, 0, NODES_MAX),
        cpus=checks.check_cpus(given.cpus, None),
        memory=checks.check_memory(given.memory, "linux" if given.linux != "0" else None),
        options=given.options,
        service=service_of(given.service),
        kernel=given.kernel,
        quantum_ns=quantum,
        stagger=stagger_of(given.stagger, quantum),
        card=given.card,
        turn_ns=turns_of(given.turns, quantum),
        network=given.network,
        latency=latency_of(given.latency, quantum),
        loss=part("--loss", given.loss),
        seed=whole("--seed", given.seed, 0, 10**9 - 1),
        beat_ns=period_of(given.beats, quantum),
        first_beat_ns=time_of("--first-beat", given.first_beat),
        answer_every=answer_every_of(given.answer_every, bool(given.command)),
        commands=[command_of(text) for text in given.command],
        until_ns=None if given.until is None else time_of("--until", given.until),
        limit_s=checks.check_time_limit(given.time_limit),
        logs=(given.logs or qemu.BUILD / "lockstep" / "logs").absolute(),
        frames=given.frames,
        quiet=given.quiet,
    )
    check(plan)
    if not plan.network:
        for option, value in (("--latency", given.latency), ("--frames", given.frames)):
            if value is not None:
                raise RunnerError(f"{option} needs --network")
    return plan


def whole(option: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise RunnerError(f"{option} takes {low} to {high}, not {text or 'nothing'}")
    return int(text)


def part(option: str, text: str) -> float:
    if not re.fullmatch(r"\d(\.\d{1,9})?", text) or float(text) > 1:
        raise RunnerError(f"{option} takes 0 to 1, such as 0.01, not {text or 'nothing'}")
    return float(text)


def time_of(option: str, text: str) -> int:
    """A time in ns."""
    found = re.fullmatch(r"(\d{1,15})(?:\.(\d{1,9}))?(ns|us|ms|s)", text)
    if found is not None:
        ns = Fraction(f"{found[1]}.{found[2] or 0}") * _UNITS[found[3]]
        if ns.denominator == 1 and 0 < ns <= TIME_NS_MAX:
            return int(ns)
    raise RunnerError(f"{option} takes a time such as 100us, 20ms or 1.5s, not {text or 'nothing'}")


def text_of(ns: int) -> str:
    """A time with the largest unit that gives a whole number."""
    unit = next(name for name, value in reversed(_UNITS.items()) if ns % value == 0)
    return f"{ns // _UNITS[unit]}{unit}"


def quantum_of(text: str) -> int:
    ns = time_of("--quantum", text)
    if ns % QUANTUM_UNIT_NS or not QUANTUM_NS_MIN <= ns <= QUANTUM_NS_MAX:
        low, high = text_of(QUANTUM_NS_MIN), text_of(QUANTUM_NS_MAX)
        raise RunnerError(f"--quantum takes whole microseconds from {low} to {high}, not {text}")
    return ns


def turns_of(text: str | None, quantum_ns: int) -> int:
    """The longest turn of a CPU, in ns. Raises RunnerError."""
    ns = quantum_ns if text is None else time_of("--turns", text)
    if ns % timers.LEAP_NS or quantum_ns % ns:
        raise RunnerError(
            f"--turns takes whole microseconds that divide a quantum, {text_of(quantum_ns)}, not {text}"
        )
    return ns


def latency_of(text: str | None, quantum_ns: int) -> int:
    """The latency in quanta. Raises RunnerError."""
    ns = quantum_ns if text is None else time_of("--latency", text)
    if ns < quantum_ns:
        raise RunnerError(
            f"--latency {text} is shorter than a quantum, {text_of(quantum_ns)}, but frames are carried only "
            "at gates; use a shorter --quantum"
        )
    if ns % quantum_ns:
        raise RunnerError(f"--latency {text} is not a whole number of quanta of {text_of(quantum_ns)}")
    return ns // quantum_ns


def stagger_of(text: str | None, quantum_ns: int) -> int:
    """The stagger in quanta. Raises RunnerError."""
    ns = 0 if text is None else time_of("--stagger", text)
    if ns % quantum_ns:
        raise RunnerError(f"--stagger {text} is not a whole number of quanta of {text_of(quantum_ns)}")
    return ns // quantum_ns


def period_of(text: str, quantum_ns: int) -> int:
    """The period of beats in ns; 0: no beats. Raises RunnerError."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,9})?", text):
        raise RunnerError(f"--beats takes beats a second, such as 10, or 0, not {text or 'nothing'}")
    if not Fraction(text):
        return 0
    period = 10**9 / Fraction(text)
    if not beats.PERIOD_NS_MIN <= period <= beats.PERIOD_NS_MAX:
        raise RunnerError(f"--beats takes 1/60 to 1000 beats a second, or 0, not {text}")
    if period % quantum_ns:
        raise RunnerError(
            f"--beats {text}: the period must be a whole number of quanta of {text_of(quantum_ns)}, since "
            "beats come at gates"
        )
    return int(period)


def service_of(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RunnerError(f"--service {text}: {error}") from None
    if words:
        qemu.check_program(Path(words[0]))
    return words


def answer_every_of(text: str | None, is_commanding: bool) -> int:
    if text is None:
        return beats.ANSWER_BY_RATE if is_commanding else 0
    return whole("--answer-every", text, 0, beats.ANSWER_EVERY_MAX)


def command_of(text: str) -> beats.Command:
    """Read TIME and conductorctl's words. Raises RunnerError."""
    time_text, _, given = text.strip().partition(" ")
    words = given.split()
    at_ns = time_of("--command", time_text)
    if not words:
        raise RunnerError(f"--command takes a time and a command, such as 2s stop, not {text}")
    request = ""
    if words[0] == "--one-way":
        request, words = "one-way ", words[1:]
    elif words[0] == "--within":
        seconds = whole(f"--command {text}: --within", (words[1:2] or [""])[0], 1, WITHIN_S_MAX)
        request, words = f"within {seconds} ", words[2:]
    wrong = beats.command_wrong(" ".join(words))
    if wrong == "":
        raise RunnerError(
            f"--command {text}: nodes do not know {words[0] if words else 'that'}; they know stop, continue, "
            "kill, count, trace +CLASS, rating NAME RATING, services US"
        )
    if wrong is not None:
        raise RunnerError(f"--command {text}: {wrong}")
    return beats.Command(at_ns, request + " ".join(words), given)


def check_commands(plan: Plan) -> None:
    """Check that beats can carry the commands. Raises RunnerError."""
    if not plan.beat_ns:
        raise RunnerError("--command needs beats, which carry commands: add --beats HZ")
    if not plan.nodes:
        raise RunnerError("--command is for Tacet nodes, and there are none")
    first_ns = beats.first_beat_ns(plan.beat_ns, plan.first_beat_ns)
    for command in plan.commands:
        at = f"--command {text_of(command.at_ns)} {command.words}"
        if command.at_ns < first_ns:
            raise RunnerError(f"{at}: the first beat is at {text_of(first_ns)} (--first-beat)")
        if plan.until_ns is not None and command.at_ns >= plan.until_ns:
            raise RunnerError(
                f"{at}: the run ends at {text_of(plan.until_ns)} (--until); give an earlier time"
            )


def check(plan: Plan) -> None:
    """Check that everything the plan needs is available. Raises RunnerError."""
    qemu.check_program(plan.app)
    if not 1 <= plan.total <= NODES_MAX:
        raise RunnerError(f"--nodes and --linux together take 1 to {NODES_MAX}, not {plan.total}")
    if plan.service:
        qemu.check_program(Path(plan.service[0]))
    if plan.kernel is not None:
        checks.check_kernel(plan.kernel, None)
    for pair in plan.env:
        if "=" not in pair:
            raise RunnerError(f"--env takes K=V, not {pair}")
    if plan.until_ns is not None and plan.until_ns < timers.first_gate(plan.quantum_ns) * plan.quantum_ns:
        raise RunnerError(f"--until {text_of(plan.until_ns)} is before the first gate")
    if plan.commands:
        check_commands(plan)
    elif plan.answer_every and not plan.beat_ns:
        raise RunnerError("--answer-every needs beats: add --beats HZ")
    total, _ = checks.host_memory()
    if total and (wanted := plan.total * (qemu.parse_size(plan.memory) or 0)) > total:
        raise RunnerError(
            f"{plan.total} nodes of {plan.memory} need {qemu.size_text(wanted)}; this machine has "
            f"{qemu.size_text(total)}"
        )
