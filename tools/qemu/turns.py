# SPDX-License-Identifier: BSD-2-Clause
"""Turns of a few microseconds, so that times of several CPUs under a deterministic clock can be compared.

With `-icount`, QEMU's CPUs execute one after the other on one clock: the turn of one appears as lost time on
the others. QEMU 10 derives the length of a turn from the next event of the virtual clock: it divides the
instructions until then evenly among the CPUs. Without an event, a turn may last 100 ms. So a periodic event
every 10 us bounds it, and the CPUs run in steps that are shorter than the noise to be measured.

The event is a timer that no guest notices: the machine's HPET, whose first comparator sends its interrupt as
a message to an address in the firmware's ROM, where it has no effect. QEMU's test protocol (`-qtest`) writes
its registers before the first instruction. The guest must not use the HPET: Linux gets `hpet=disable`; Tacet
only reads its counter.

Limits: the CPUs have constant but unequal speeds, so an operation takes longer than on one CPU. A CPU that
halts or executes `pause` gives the rest of its turn to the others. Compare times only while all CPUs are
busy.

HPET: IA-PC HPET Specification 1.0a, 2.3.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence

from .errors import RunnerError
from .monitor import Monitor

#: The default turn of several CPUs on a deterministic clock.
DEFAULT_NS = 10_000
#: The period of the HPET's counter.
TICK_NS = 10
#: The shortest turn has some instructions for each CPU; the longest is QEMU's turn without an event.
MIN_NS, MAX_NS = 1_000, 100_000_000
#: The oldest QEMU that divides the instructions evenly.
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
    """QEMU's options to start stopped, with the test protocol on an inherited socket."""
    return [
        *("-global", "hpet.msi=on", "-S"),
        *("-chardev", f"socket,id=tacet-turns,fd={number}", "-qtest", "chardev:tacet-turns"),
        *("-qtest-log", "none"),
    ]


def begin(connection: socket.socket, monitor: Monitor, turn_ns: int, options_given: Sequence[str]) -> None:
    """Bound the turns of a machine that was started with `options`, and let it begin, unless the user has
    given `-S`. RunnerError or MonitorError if QEMU fails to."""
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
        # The first write sets the first event, the second one the period.
        (_TIMER_COMPARATOR, period),
        (_TIMER_COMPARATOR, period),
        (_CONFIGURATION, 1),
    )
    hpet_set(connection, registers, "the turns of its CPUs")


def period_register(turn_ns: int) -> dict[str, int]:
    """The register and the 32-bit value that a guest writes to change the length of its machine's turns."""
    return {"register": _HPET + _TIMER_COMPARATOR, "period": turn_ns // TICK_NS}


def hpet_set(connection: socket.socket, registers: Iterable[tuple[int, int]], what: str) -> None:
    """Write HPET registers of a machine that has not begun. `what` names their purpose in messages.
    RunnerError if QEMU fails to."""
    connection.settimeout(ANSWER_SECONDS)
    try:
        with connection.makefile("rwb") as stream:
            for register, value in registers:
                stream.write(f"writel {_HPET + register:#x} {value:#x}\n".encode())
                stream.flush()
                if not (answer := stream.readline()).startswith(b"OK"):
                    raise RunnerError(f"QEMU cannot set {what}: {answer.decode().strip()}")
    except OSError as error:
        raise RunnerError(f"no answer from QEMU while setting {what}: {error}") from None
