# SPDX-License-Identifier: BSD-2-Clause
"""Waits for a state, and says so if the state did not come in time; whether a process runs.

A limit that passes by the wall clock is *lost time*: the machine may have been busy. tests/run.py runs a test
that fails by lost time alone once more, when nothing else runs. A limit in the own time of a process
(tools/qemu/own_time.py) or in CPU time is not lost time: the process had the CPU, and hangs. Nor is a limit
of a whole machine, whichever clock it passes by: a node that hangs must fail its test.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

#: Seconds by the wall clock within which anything happens, even on a busy machine.
LIMIT_S = 120.0
#: What the name of a program that runs a machine holds.
MACHINE = "qemu-system-"
#: Seconds between two looks.
STEP_S = 0.01


class LostTime(AssertionError):
    """A limit has passed by the wall clock, and nothing else was wrong."""


def until(holds: Callable[[], Found], what: str | Callable[[], str], limit_s: float = LIMIT_S) -> Found:
    """Calls `holds` until it returns something true, and returns that. LostTime, with `what` was waited for,
    if it does not within the limit."""
    deadline = time.monotonic() + limit_s
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise LostTime(f"not within {limit_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(STEP_S)
    return found


def is_running(pid: int) -> bool:
    """True unless the process has ended, whether or not its parent knows."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def is_lost_time(error: BaseException) -> bool:
    """True if an exception says only that a limit has passed by the wall clock."""
    if isinstance(error, subprocess.TimeoutExpired):
        words = [error.cmd] if isinstance(error.cmd, str | bytes | os.PathLike) else error.cmd
        return not any(MACHINE in os.fsdecode(word) for word in words)
    return isinstance(error, LostTime)
