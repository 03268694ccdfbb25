# SPDX-License-Identifier: BSD-2-Clause
"""The conductor in virtual time. Each heartbeat reaches the cards of all nodes at the first instant of the
gate at which it is due. Commands go with beats until all nodes have done them.

It uses the conductor's own code (conductor.c), driven gate by gate. The conductor on a Linux guest would beat
when Linux's timers fire, and send over a card; here the beats are exact. An answer arrives at the gate after
it was sent.

Conductor time is the time of the nodes' battery clocks: virtual time 0 is the first second of 2026.
"""

from __future__ import annotations

import calendar
import ctypes
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from qemu import paths
from qemu.errors import RunnerError

LIBRARY = paths.BUILD / "lockstep" / "conductor.so"
#: The kernel's BEAT_PERIOD_NS_MIN and BEAT_PERIOD_NS_MAX.
PERIOD_NS_MIN, PERIOD_NS_MAX = 10**6, 60 * 10**9
EPOCH_NS = calendar.timegm((2026, 1, 1, 0, 0, 0)) * 10**9
#: Need not be secret: it is not seen outside this machine.
KEY = bytes(range(16))
#: The conductor's default: about one answer a second.
ANSWER_BY_RATE = -1
ANSWER_EVERY_MAX = 1000
_ADDRESS = bytes.fromhex("025400000001")
_HEADER = b"\xff" * 6 + _ADDRESS + b"\x88\xcb"
_FRAME_MIN = 60
_PAYLOAD_MAX = 1500
_OUTCOME_MAX = 65536

_FUNCTIONS = {
    "begin": (
        None,
        ctypes.c_uint64,
        *[ctypes.c_char_p] * 2,
        *[ctypes.c_uint64] * 2,
        ctypes.c_int,
        ctypes.c_uint,
    ),
    "time": (None, ctypes.c_uint64),
    "heard": (None, ctypes.c_char_p, ctypes.c_size_t),
    "command_wrong": (ctypes.c_char_p, ctypes.c_char_p),
    "command": (None, ctypes.c_char_p, ctypes.c_uint),
    "due": (ctypes.c_uint64,),
    "beat": (ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t),
    "outcome": (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t),
    "end": (None,),
}


def _library() -> dict[str, Any]:
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError:
        raise RunnerError(f"there is no {LIBRARY}; make lockstep-parts builds it") from None
    found = {}
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, f"lockstep_{name}")
        function.restype, function.argtypes = result, arguments
        found[name] = function
    return found


@dataclass(frozen=True)
class Command:
    """A command, sent with the first beat at or after `at_ns` of the nodes' time."""

    at_ns: int
    request: str  #: the conductor's request (service/lib/control.h)
    words: str  #: as the user gave them


@dataclass(frozen=True)
class Outcome:
    """The result of a command; times are the nodes', in ns."""

    command: Command
    first_ns: int | None = None  #: time of the first beat that carried it; None: not sent
    done_ns: int | None = None  #: the gate at which the conductor knew that all nodes had done it; or None
    beats: int = 0  #: beats that carried it until then
    nodes: int = 0  #: nodes that have done it
    error: str = ""
    named: Sequence[tuple[str, int]] = ()  #: nodes that have not done it: addresses, and Linux's errno or 0


def command_wrong(words: str) -> str | None:
    """What is wrong with a command for the conductor; "" if there is no such command; None if it is right."""
    wrong = _library()["command_wrong"](words.encode())
    return None if wrong is None else wrong.decode()


def first_beat_ns(period_ns: int, first_ns: int) -> int:
    """The time of the first beat at or after `first_ns`."""
    return -(-(EPOCH_NS + first_ns) // period_ns) * period_ns - EPOCH_NS


class Conductor:
    """A conductor that beats at each multiple of `period_ns`, from `first_ns` on; `nodes` nodes receive the
    beats. There may be only one at a time."""

    def __init__(
        self,
        period_ns: int,
        first_ns: int,
        quantum_ns: int,
        nodes: int = 0,
        answer_every: int = 0,
        commands: Sequence[Command] = (),
    ) -> None:
        self.beats_sent = 0
        self.outcomes: list[Outcome] = []
        self._quantum_ns = quantum_ns
        self._to_give = sorted(commands, key=lambda command: command.at_ns)
        self._given: dict[int, Command] = {}
        self._calls = _library()
        self._payload = ctypes.create_string_buffer(_PAYLOAD_MAX)
        self._text = ctypes.create_string_buffer(_OUTCOME_MAX)
        self._calls["begin"](EPOCH_NS, KEY, _ADDRESS, period_ns, first_ns, answer_every, nodes)

    def at_gate(self, gate: int, frames: Iterable[bytes] = ()) -> bytes | None:
        """Handle a gate at which all nodes have stopped; `frames` is what they have sent since the last one.
        Returns the frame of the beat that is due at the next gate, or None."""
        here_ns, next_ns = gate * self._quantum_ns, (gate + 1) * self._quantum_ns
        for frame in frames:
            self._calls["heard"](frame, len(frame))
        self._calls["time"](here_ns)
        self._outcomes_take(here_ns)
        # The next beat is made now, with what is known now.
        self._calls["time"](next_ns)
        while self._to_give and self._to_give[0].at_ns <= next_ns:
            command = self._to_give.pop(0)
            number = len(self._given) + len(self.outcomes)
            self._given[number] = command
            self._calls["command"](command.request.encode(), number)
        self._outcomes_take(next_ns)
        length = self._calls["beat"](self._payload, _PAYLOAD_MAX)
        if not length:
            return None
        self.beats_sent += 1
        return (_HEADER + self._payload.raw[:length]).ljust(_FRAME_MIN, b"\0")

    def end(self, gate: int, goes_on: bool) -> None:
        """End the run: no node runs after this gate. If `goes_on`, the conductor continues until it has
        noticed the nodes' silence: that is how it knows that killed nodes have done a kill."""
        not_given, self._to_give = self._to_give, []
        while goes_on and self._given:
            due_ns = self._calls["due"]() - EPOCH_NS
            gate = max(gate, -(-due_ns // self._quantum_ns) - 1)
            self.at_gate(gate)
        self._calls["end"]()
        self._outcomes_take(gate * self._quantum_ns)
        why = "all nodes had ended before" if goes_on else "the run ended before"
        self.outcomes += [Outcome(command, error=why) for command in not_given]

    def _outcomes_take(self, now_ns: int) -> None:
        while self._given and (number := self._calls["outcome"](self._text, _OUTCOME_MAX)) >= 0:
            said = json.loads(self._text.value)
            self.outcomes.append(self._outcome(self._given.pop(number), said, now_ns))

    def _outcome(self, command: Command, said: dict[str, Any], now_ns: int) -> Outcome:
        """The outcome, from the answer that conductorctl would get."""
        error = said.get("error", "")
        if "done" not in said:
            due_ns = self._calls["due"]() - EPOCH_NS
            return Outcome(command, first_ns=None if error else due_ns, error=error)
        lists = ("failed_nodes", "missing_nodes", "silent_nodes")
        return Outcome(
            command,
            first_ns=said["first_beat_ns"] - EPOCH_NS if said["first_beat_ns"] else None,
            done_ns=None if error else now_ns,
            beats=said["beats"],
            nodes=said["done"],
            error=error,
            named=[(one["address"], one["result"]) for name in lists for one in said[name]] if error else [],
        )
