# SPDX-License-Identifier: BSD-2-Clause
"""Protocols between CPUs hold in memory that orders no more than the code says, such as POWER's: spin tries
all orders of all steps of each protocol of ordering.pml. Without any one of its barriers a protocol must
fail: otherwise the barrier, or the check, would be useless.
"""

from __future__ import annotations

import re
from pathlib import Path

import checker
import pytest

MODEL = Path(__file__).resolve().parent / "ordering.pml"
#: Names of protocols, and their numbers in the model.
PROTOCOLS = {
    name: int(number)
    for name, number in re.findall(r"^#define ([A-Z]+) +(\d+)$", MODEL.read_text().split("#include")[0], re.M)
}

#: A process waits for ever; an assertion fails.
STUCK = "invalid end state"
VIOLATED = "assertion violated"


def checked(folder: Path, protocol: str, *broken: str) -> str:
    return checker.checked(folder, MODEL, [f"PROTOCOL={PROTOCOLS[protocol]}", *broken])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_holds_in_weak_memory(protocol: str, tmp_path: Path) -> None:
    checker.expect_whole(checked(tmp_path, protocol), 20)


#: A protocol, what is left out or weakened in it, and what the checker then prints.
BROKEN = [
    ("EVENT", "WAITER_RELAXED", STUCK),
    ("EVENT", "NOTIFIER_RELAXED", STUCK),
    ("EVENT", "COUNT_LATE", STUCK),
    ("AUDIENCE", "WITHOUT_NOTIFY", STUCK),
    ("AUDIENCE", "WITHOUT_COUNT", STUCK),
    ("WALL", "NO_FENCE", STUCK),
    ("SEQUENCE", "NO_FENCE", VIOLATED),
    ("SEQUENCE", "END_RELAXED", VIOLATED),
    ("SEQUENCE", "BEGIN_RELAXED", VIOLATED),
    ("SEQUENCE", "WITHOUT_READER_FENCE", VIOLATED),
    ("CROSSCALL", "CALL_RELAXED", f"{STUCK}|{VIOLATED}"),
    ("CROSSCALL", "IPI_WITHOUT_BARRIER", STUCK),
    ("CROSSCALL", "CLEAR_LATE", STUCK),
    ("SPACE", "WITHOUT_ACTIVATE_FENCE", VIOLATED),
    ("SPACE", "WITHOUT_FLUSH_FENCE", VIOLATED),
    ("KEEPER", "NO_FENCE", VIOLATED),
    ("KEEPER", "LEAVER_RELAXED", VIOLATED),
    ("WAITING", "COUNT_RELAXED", VIOLATED),
    ("WAITING", "WAITER_RELAXED", VIOLATED),
    ("WANDERER", "NO_FENCE", STUCK),
    ("WANDERER", "WITHOUT_IDLE_FENCE", STUCK),
    ("RING", "END_RELAXED", VIOLATED),
    ("RING", "WITHOUT_WRITER_FENCE", VIOLATED),
    ("RING", "WITHOUT_READER_FENCE", VIOLATED),
    ("TURN", "WITHOUT_PLACER_FENCE", VIOLATED),
    ("TURN", "WITHOUT_EXPIRE_FENCE", VIOLATED),
    ("KILL", "NO_FENCE", VIOLATED),
    ("KILL", "RANK_RELAXED", VIOLATED),
    ("TABLE", "ENTRY_RELAXED", VIOLATED),
    ("LOCK", "UNLOCK_RELAXED", VIOLATED),
    ("LOCK", "LOCK_RELAXED", VIOLATED),
    ("BLOCK", "UNLOCK_RELAXED", f"{STUCK}|{VIOLATED}"),
    ("BLOCK", "IPI_WITHOUT_BARRIER", VIOLATED),
    ("BLOCK", "IDLE_RELAXED", VIOLATED),
    ("FUTEX", "UNLOCK_RELAXED", STUCK),
    ("FUTEX", "LOCK_RELAXED", STUCK),
    ("FUTEX", "COMPARE_EARLY", STUCK),
    ("ENDING", "ENDS_RELAXED", VIOLATED),
    ("ENDING", "WITHOUT_READER_FENCE", VIOLATED),
]


def cases() -> list[object]:
    """Returns BROKEN. `make test` runs the first row of each protocol; the others are marked long."""
    short = {protocol: row for protocol, *row in reversed(BROKEN)}
    return [
        pytest.param(protocol, *row, marks=() if short[protocol] == row else pytest.mark.long)
        for protocol, *row in BROKEN
    ]


@pytest.mark.parametrize(("protocol", "broken", "why"), cases())
def test_a_protocol_without_a_barrier_fails(protocol: str, broken: str, why: str, tmp_path: Path) -> None:
    checker.expect_broken(checked(tmp_path, protocol, broken), why)
