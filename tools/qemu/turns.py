# SPDX-License-Identifier: BSD-2-Clause
"""Turns of a few microseconds: several CPUs under a deterministic clock whose times can be compared.

With `-icount`, QEMU's CPUs execute one after the other on one clock: what one executes passes as lost time on
the others. How long a turn is, QEMU 10 decides by the next event of the virtual clock: it divides the
instructions until then evenly among the CPUs. With nothing on the clock a turn may last 100 ms. So a periodic
event each 10 us bounds it, and the CPUs run side by side in steps that are shorter than any noise that is
looked for.

The event is a timer that no guest notices: the machine's HPET, whose first comparator sends its interrupt as
a message to an address where nothing listens (in the firmware's ROM). QEMU's test protocol (`-qtest`) writes
its registers before the first instruction. A guest that uses the HPET itself must be told not to: Linux by
`hpet=disable`; Tacet only reads its counter.

What remains: the CPUs have constant but unequal speeds, so that an operation is longer than on one CPU, and a
CPU that halts, or executes `pause`, gives the rest of its turn to the others. Compare where all are busy.

HPET: IA-PC HPET Specification 1.0a, 2.3.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence

from .errors import RunnerError
from .monitor import Monitor

#: Length of a turn where several CPUs share a deterministic clock and the caller chooses none.
DEFAULT_NS = 10_000
#: A period of the HPET's counter.
TICK_NS = 10
#: The shortest turn has some instructions for each CPU, the longest is what QEMU does without any event.
MIN_NS, MAX_NS = 1_000, 100_000_000
#: The least QEMU that divides the instructions evenly.
QEMU_MAJOR = 10

_HPET = 0xFED00000
_CONFIGURATION = 0x010
_COUNTER = 0x0F0
_TIMER_CONFIGURATION = 0x100
_TIMER_COMPARATOR = 0x108
_TIMER_MESSAGE = 0x110
#: Interrupt enabled, periodic, comparator settable, message mode.
_TIMER_MODE = 0x404C
_NOBODY = 0xFFFFF000
ANSWER_SECONDS = 20.0


def options(number: int) -> list[str]:
    """QEMU's options: stopped, with the test protocol on an inherited socket."""
    return [
        *("-global", "hpet.msi=on", "-S"),
        *("-chardev", f"socket,id=tacet-turns,fd={number}", "-qtest", "chardev:tacet-turns"),
        *("-qtest-log", "none"),
    ]


def begin(connection: socket.socket, monitor: Monitor, turn_ns: int, options_given: Sequence[str]) -> None:
    """Bound the turns of a machine that was started with `options`, and let it begin, unless its user holds
    it with an option `-S` of their own. RunnerError or MonitorError if QEMU does not do so."""
    bound(connection, turn_ns)
    if "-S" not in options_given:
        monitor.greet()
        monitor.command("cont")


def bound(connection: socket.socket, turn_ns: int) -> None:
    """Set the timer of a machine that has not begun. RunnerError if QEMU does not answer."""
    period = turn_ns // TICK_NS
    registers = (
        (_CONFIGURATION, 0),
        (_COUNTER, 0),
        (_TIMER_MESSAGE, 0),
        (_TIMER_MESSAGE + 4, _NOBODY),
        (_TIMER_CONFIGURATION, _TIMER_MODE),
        # The first write is when it first comes, the second its period.
        (_TIMER_COMPARATOR, period),
        (_TIMER_COMPARATOR, period),
        (_CONFIGURATION, 1),
    )
    hpet_set(connection, registers, "the turns of its CPUs")


def period_register(turn_ns: int) -> dict[str, int]:
    """Where a guest writes what, 32 bits, to change the length of the turns of its machine."""
    return {"register": _HPET + _TIMER_COMPARATOR, "period": turn_ns // TICK_NS}


def hpet_set(connection: socket.socket, registers: Iterable[tuple[int, int]], what: str) -> None:
    """Write registers of the HPET of a machine that has not begun, for `what`, as messages say. RunnerError
    if QEMU does not do so."""
    connection.settimeout(ANSWER_SECONDS)
    try:
        with connection.makefile("rwb") as stream:
            for register, value in registers:
                stream.write(f"writel {_HPET + register:#x} {value:#x}\n".encode())
                stream.flush()
                if not (answer := stream.readline()).startswith(b"OK"):
                    raise RunnerError(f"QEMU does not set {what}: {answer.decode().strip()}")
    except OSError as error:
        raise RunnerError(f"QEMU does not answer while {what} are set: {error}") from None
