# SPDX-License-Identifier: BSD-2-Clause
"""The gates of a node: three timers of its HPET in message mode, set through QEMU's test protocol before the
node's first instruction. The guest must not change the HPET: Tacet only reads its counter, and Linux runs
with `hpet=disable`.

    timer 0    each quantum: rings the doorbell's vector that tells that the node has arrived
    timer 1    at the same instants, after timer 0: rings the vector whose write(2) does not return before the
               gate is opened
    timer 2    shortly after each gate: its message has no receiver; QEMU's main loop leaps to this timer
    first
               (__init__.py). With several CPUs it also fires between gates, to bound their turns
               (qemu/turns.py)

A periodic timer of QEMU's HPET that fires exactly in time, as all do here, fires twice, a tick apart: at the
first time its comparator is not yet in the past. So each vector gets two messages. The second one counts: the
comparators are a tick before the gates.

QEMU runs timers of the same instant one after the other, without an instruction in between, in the order in
which they were set. Each sets itself again before it sends its message, so the order stays. In the opposite
order, the node would block before it had reported its arrival.

The firmware gives the doorbell its address within half a millisecond of the node's time. The first gate is
later, so that the first message that was sent is also received.

HPET: IA-PC HPET Specification 1.0a, 2.3.
"""

from __future__ import annotations

import socket

from qemu import turns

#: The period of the HPET's counter.
TICK_NS = turns.TICK_NS
#: The first gate is the first multiple of the quantum at or after this time.
BEGIN_NS = 2_000_000
#: Messages to each vector at a gate.
MESSAGES = 2
#: From a gate to the time to which a halted node leaps first.
LEAP_NS = 1_000

_CONFIGURATION = 0x010
_COUNTER = 0x0F0
_TIMER_BYTES = 0x20
_TIMER_CONFIGURATION, _TIMER_COMPARATOR, _TIMER_MESSAGE = 0x100, 0x108, 0x110
#: Interrupt enabled, periodic, comparator settable, message mode.
_TIMER_MODE = 0x404C
#: An address in the firmware's ROM: writes have no effect.
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
        # A comparator is all ones at first. Writing either half clears the bit that lets it be set.
        (_TIMER_CONFIGURATION + at, _TIMER_MODE),
        (_TIMER_COMPARATOR + at + 4, 0),
        (_TIMER_CONFIGURATION + at, _TIMER_MODE),
        (_TIMER_COMPARATOR + at, first_ns // TICK_NS),
        # This write sets the period.
        (_TIMER_COMPARATOR + at, period_ns // TICK_NS),
    ]


def registers(
    quantum_ns: int, doorbell: int, arrived: int, stop: int, turn_ns: int | None = None
) -> Registers:
    """The register writes, in order, as (offset, value). Messages go to the address `doorbell`, with the
    values `arrived` and `stop`. No CPU's turn is longer than `turn_ns`, which divides the quantum."""
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
    """Set the timers of a machine that has not begun. RunnerError if QEMU fails to."""
    turns.hpet_set(connection, wanted, "the node's gates")
