# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's protocols hold in every order of their steps: spin tries all of a model's states. A model with
one fault must fail, and for the reason of this fault: otherwise the check would be useless.
"""

from __future__ import annotations

from pathlib import Path

import checker
import pytest

MODEL = Path(__file__).resolve().parent / "scheduling.pml"
#: What the model's threads do: its PROGRAM_WAKE, PROGRAM_SIGNAL, PROGRAM_END, PROGRAM_MOVE.
PROGRAMS = {"WAKE": 1, "SIGNAL": 2, "END": 3, "MOVE": 4}

#: A process waits for ever; or the text of the assertion that fails.
STUCK = "invalid end state"
HALTS = r"assertion violated .*halted\[0\]"
WAITS_BESIDE_IDLE = r"assertion violated .*affinity\[\d\]&idle"
REGISTERS = r"assertion violated .*saved\[to\]"
WAITER = r"assertion violated .*waiter_there"


def checked(folder: Path, program: str, *broken: str) -> str:
    level = checker.SHORT if broken else checker.WHOLE
    return checker.checked(folder, MODEL, [f"PROGRAM={PROGRAMS[program]}", *broken], level=level)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_order_of_steps_breaks_the_protocol(program: str, tmp_path: Path) -> None:
    checker.expect_whole(checked(tmp_path, program), 100_000)


@pytest.mark.parametrize(
    ("broken", "program", "why"),
    [
        # No recheck before sleeping.
        ("WITHOUT_NOTIFIED", "WAKE", STUCK),
        ("WITHOUT_COMPARE", "WAKE", STUCK),
        # The notification before the store that it is about.
        ("WAKE_EARLY", "WAKE", STUCK),
        ("IPI_EARLY", "WAKE", HALTS),
        # A CPU that idles if its queue is empty, whatever its bit says: another CPU has pulled the thread.
        ("WITHOUT_IDLE_BIT", "WAKE", HALTS),
        # The lock released before the registers are saved.
        ("UNLOCK_EARLY", "WAKE", REGISTERS),
        # waiter->thread read after the waiter may have left.
        ("THREAD_READ_LATE", "WAKE", WAITER),
        # The threads of a process notified without the lock of their list.
        ("NOTIFY_UNLOCKED", "END", STUCK),
        # A yield that returns to the program without a check for what has become pending since.
        ("YIELD_UNCHECKED", "END", STUCK),
        ("YIELD_UNCHECKED", "SIGNAL", STUCK),
        # A ready thread that may now run on an idle CPU, but stays in its queue.
        ("MOVE_ONLY_AWAY", "MOVE", WAITS_BESIDE_IDLE),
        # A thread that must let another go first waits in the same queue, although another CPU is idle.
        ("REQUEUE_HERE", "MOVE", WAITS_BESIDE_IDLE),
    ],
)
def test_a_broken_protocol_is_found(broken: str, program: str, why: str, tmp_path: Path) -> None:
    checker.expect_broken(checked(tmp_path, program, broken), why)
