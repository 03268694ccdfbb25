# SPDX-License-Identifier: BSD-2-Clause
"""The protocol of heartbeats, commands and answers holds whatever the wire does: spin tries all states of
beats.pml. A model with one fault must fail, and for the reason of this fault.
"""

from __future__ import annotations

from pathlib import Path

import checker
import pytest

MODEL = Path(__file__).resolve().parent / "beats.pml"
#: What happens, in this order: the conductor restarts; it restarts with a one-way command; a one-way command
#: without a restart; a node restarts, and hears earlier beats; two nodes; two nodes, one of which restarts;
#: commands must be done in the end although the conductor restarts. SET_BACK: its clock was set back.
SIZES = {
    "CONDUCTOR": ("EPOCHS=2", "BEATS=3"),
    "ONE_WAY": ("EPOCHS=2", "BEATS=3", "COMMANDS=3"),
    "ONE_WAY_ONCE": ("EPOCHS=1", "BEATS=4", "COMMANDS=3", "ROOM=2"),
    "NODE": ("EPOCHS=1", "STARTS=2"),
    "TWO_NODES": ("EPOCHS=1", "BEATS=2", "NODES=2"),
    "TWO_NODES_ANEW": ("EPOCHS=1", "BEATS=2", "NODES=2", "STARTS=2", "KNOWN"),
    "SET_BACK": ("EPOCHS=3", "BEATS=2", "SET_BACK"),
    "PROGRESS": ("EPOCHS=2", "PROGRESS"),
    "PROGRESS_SET_BACK": ("EPOCHS=3", "PROGRESS", "SET_BACK"),
}
#: These are searched whole. ONE_WAY and TWO_NODES_ANEW have too many states: there only faults are searched.
WHOLE = ("CONDUCTOR", "ONE_WAY_ONCE", "NODE", "TWO_NODES", "SET_BACK", "PROGRESS", "PROGRESS_SET_BACK")

#: The text of assertions that fail, in execute, command_accept and command_complete. NEVER: what must happen
#: in the end does not.
TWICE = r"assertion violated .*!\(\(nodes\[n\]\.executed"
LATE = r"assertion violated is_newest"
ACKNOWLEDGED = r"assertion violated .*executed.*&\(1<<\(\(\(\(epoch-1\)"
RECORDED = r"assertion violated .*born_epoch"
START = r"assertion violated .*newest_start"
RAISED = r"assertion violated \(epoch<3\)"
NEVER = "acceptance cycle"


def checked(folder: Path, size: str, *broken: str) -> str:
    level = checker.SHORT if broken else checker.HUGE
    return checker.checked(folder, MODEL, [*SIZES[size], *broken], "PROGRESS" in SIZES[size], level)


@pytest.mark.parametrize("size", WHOLE)
def test_no_wire_and_no_restart_breaks_the_protocol(size: str, tmp_path: Path) -> None:
    checker.expect_whole(checked(tmp_path, size), 10_000)


@pytest.mark.parametrize(
    ("broken", "size", "why"),
    [
        # A node that takes a beat again, an earlier one, or one of a conductor that a later one has replaced.
        ("TAKE_DUPLICATES", "ONE_WAY", LATE),
        ("TAKE_LATE", "ONE_WAY", LATE),
        ("FORGET_EPOCH", "ONE_WAY", LATE),
        # A node that does a command at each beat that carries it, or lets its ring overflow.
        ("AT_REPEAT", "ONE_WAY", TWICE),
        ("WITHOUT_ROOM", "ONE_WAY", TWICE),
        # A node that forgets a command for which it had no room, or takes the next command instead.
        ("REFUSED_ACCEPTED", "ONE_WAY", ACKNOWLEDGED),
        ("REFUSED_ACCEPTED", "PROGRESS", NEVER),
        ("SKIP_REFUSED", "ONE_WAY", ACKNOWLEDGED),
        # `done` before all CPUs have done it, before this CPU has, or with numbers of an earlier epoch.
        ("ACK_EARLY", "CONDUCTOR", ACKNOWLEDGED),
        ("DONE_EARLY", "CONDUCTOR", ACKNOWLEDGED),
        ("DONE_WITHOUT_EPOCH", "CONDUCTOR", ACKNOWLEDGED),
        # The highest number kept, although a restarted conductor counts from the beginning.
        ("NUMBER_KEPT", "PROGRESS", NEVER),
        # A conductor whose new epoch is not higher, or that counts answers to an earlier conductor.
        ("SAME_EPOCH", "CONDUCTOR", ACKNOWLEDGED),
        ("OLD_ANSWERS_COUNT", "CONDUCTOR", ACKNOWLEDGED),
        # A conductor that does not begin a higher epoch than its node follows, is not told of that epoch, or
        # counts a recording of what it was told.
        ("RAISED_TO_THE_SAME", "PROGRESS_SET_BACK", NEVER),
        ("NOT_TOLD", "PROGRESS_SET_BACK", NEVER),
        ("TOLD_BY_RECORDING", "SET_BACK", RAISED),
        # A conductor that takes answers of an earlier start after one of a later start.
        ("STARTS_UNORDERED", "NODE", START),
        # A node that obeys before it is welcomed, or by the welcome of another start.
        ("UNWELCOMED_OBEYS", "NODE", RECORDED),
        ("WELCOME_ANY_START", "NODE", RECORDED),
        # Welcomes that go with one beat only: the wire loses it.
        ("WELCOMED_ONCE", "PROGRESS", NEVER),
        # A conductor that keeps what a node had done before its restart.
        ("ANY_START", "TWO_NODES_ANEW", ACKNOWLEDGED),
        # A conductor that needs one answer only, or waits only for nodes that have answered since its start.
        ("COMPLETE_BY_ONE", "TWO_NODES", START),
        ("REGISTRY_EMPTY", "TWO_NODES", START),
        # Commands or answers that are sent only once: the wire loses them.
        ("SENT_ONCE", "PROGRESS", NEVER),
        ("ANSWER_ONCE", "PROGRESS", NEVER),
    ],
)
def test_a_broken_protocol_of_beats_is_found(broken: str, size: str, why: str, tmp_path: Path) -> None:
    checker.expect_broken(checked(tmp_path, size, broken), why)
