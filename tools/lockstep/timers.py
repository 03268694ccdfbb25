# SPDX-License-Identifier: BSD-2-Clause
"""The gates of a node: three timers of its HPET in message mode, set by QEMU's test protocol before the
node's first instruction. The guest must leave the HPET alone: Tacet only reads its counter, Linux is told
`hpet=disable`.

    timer 0    each quantum: the doorbell's vector that says that the node has arrived
    timer 1    at the same instants, after it: the vector whose write(2) does not return before the gate is
               opened
    timer 2    shortly after each gate, to nobody: where QEMU's main loop leaps to first (__init__.py); with
               several CPUs as often between two gates as their turns are to be short (qemu/turns.py)

A periodic timer of QEMU's HPET that comes exactly in time, as all do here, comes twice, a tick apart: the
first time its comparator does not yet lie in the past. So there are two messages to each vector. The second
ones count: the comparators are a tick before the gates.

QEMU runs timers of one instant one after the other, in the order in which they were set, with no instruction
in between, and each sets itself anew before it sends its message: so that order stays. Were it the other one,
no node would arrive anywhere.

The firmware gives the doorbell its address within half a millisecond of the node's time; the first gate is
later than that, so that the first message that comes is the first that was sent.

HPET: IA-PC HPET Specification 1.0a, 2.3.
"""

from __future__ import annotations

import socket

from qemu import turns

#: A period of the HPET's counter.
TICK_NS = turns.TICK_NS
#: The first gate is the first multiple of the quantum from here on.
BEGIN_NS = 2_000_000
#: Messages to each vector at a gate.
MESSAGES = 2
#: From a gate to where a halted node's time leaps first.
LEAP_NS = 1_000

_CONFIGURATION = 0x010
_COUNTER = 0x0F0
_TIMER_BYTES = 0x20
_TIMER_CONFIGURATION, _TIMER_COMPARATOR, _TIMER_MESSAGE = 0x100, 0x108, 0x110
#: Interrupt enabled, periodic, comparator settable, message mode.
_TIMER_MODE = 0x404C
#: In the firmware's ROM: nothing listens.
_NOBODY = 0xFFFFF000

Registers = list[tuple[int, int]]


def first_gate(quantum_ns: int) -> int:
    """The number of the first gate; gate K is at K quanta of the node's time."""
    return -(-BEGIN_NS // quantum_ns)


def _timer(number: int, first_ns: int, period_ns: int, address: int, message: int) -> Registers:
    at = number * _TIMER_BYTES
    return [
        (_TIMER_MESSAGE + at, message),
        (_TIMER_MESSAGE + at + 4, address),
        # A comparator is all ones at first, and each write to a half of it ends that it can be set.
        (_TIMER_CONFIGURATION + at, _TIMER_MODE),
        (_TIMER_COMPARATOR + at + 4, 0),
        (_TIMER_CONFIGURATION + at, _TIMER_MODE),
        (_TIMER_COMPARATOR + at, first_ns // TICK_NS),
        # Now it is the period that is written.
        (_TIMER_COMPARATOR + at, period_ns // TICK_NS),
    ]


def registers(
    quantum_ns: int, doorbell: int, arrived: int, stop: int, turn_ns: int | None = None
) -> Registers:
    """What is to be written, in this order: (offset, value). `doorbell` is where messages go, `arrived` and
    `stop` are what they say; no CPU's turn is longer than `turn_ns`, which divides the quantum."""
    first_ns = first_gate(quantum_ns) * quantum_ns - TICK_NS
    return [
        (_CONFIGURATION, 0),
        (_COUNTER, 0),
        *_timer(0, first_ns, quantum_ns, doorbell, arrived),
        *_timer(1, first_ns, quantum_ns, doorbell, stop),
        *_timer(2, first_ns + LEAP_NS, turn_ns or quantum_ns, _NOBODY, 0),
        (_CONFIGURATION, 1),
    ]


def begin(connection: socket.socket, wanted: Registers) -> None:
    """Set the timers of a machine that has not begun. RunnerError if QEMU does not do so."""
    turns.hpet_set(connection, wanted, "the node's gates")
