# SPDX-License-Identifier: BSD-2-Clause
"""The lease of a job holds whatever dies, and when: spin tries all states of leases.pml. A model with one
fault must fail, and for the reason of this fault.
"""

from __future__ import annotations

from pathlib import Path

import checker
import pytest

MODEL = Path(__file__).resolve().parent / "leases.pml"
#: What must happen in the end does not; or the text of the assertion that fails.
NEVER = "acceptance cycle"
KILLED = r"assertion violated .*has_said_end"
LEFT = r"assertion violated .*starting"
SILENT = r"assertion violated .*was_pulled"


def checked(folder: Path, *broken: str) -> str:
    return checker.checked(folder, MODEL, broken, is_progress=True)


def test_no_death_and_no_restart_breaks_the_lease(tmp_path: Path) -> None:
    checker.expect_whole(checked(tmp_path), 2_000)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        # A kill that is sent only once: the wire loses it.
        ("KILL_ONCE", NEVER),
        # One answer without the job is enough: the node was about to start it.
        ("QUIET_ONCE", LEFT),
        # Jobs are ended at once when the conductor has restarted, or are not in its file, or too late.
        ("RETURN_NOT_AWAITED", KILLED),
        ("FORGET_FILE", NEVER),
        ("SAVED_LATE", NEVER),
        # A silent node counts as rid of the job: its cable comes back.
        ("SILENT_IS_GONE", NEVER),
        # tacetrun says the job's end, although a node has not.
        ("END_SAID_ALWAYS", NEVER),
        # Silence by the clock: the conductor has stood still.
        ("TIME_COUNTS", SILENT),
    ],
)
def test_a_broken_lease_is_found(broken: str, why: str, tmp_path: Path) -> None:
    checker.expect_broken(checked(tmp_path, broken), why)
