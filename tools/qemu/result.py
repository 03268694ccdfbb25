# SPDX-License-Identifier: BSD-2-Clause
"""What came out of a run, and how its end is read from the console."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["exit", "stop", "timeout", "no-status", "qemu-failed"]


class RunnerError(Exception):
    """The run cannot begin; the text says why in one line."""


@dataclass
class Result:
    """What came out of one run.

    outcome   exit         the program ended, with `status`
              stop         the node ended by itself, for `reason`, with `status`
              timeout      the time limit passed
              no-status    the machine switched itself off and did not say how the program ended
              qemu-failed  QEMU did not run; `reason` is its message
    console   all that came out of COM1
    command   a command to type that starts the same machine, with the console on the terminal
    seconds   wall time from start to end
    """

    status: int | None
    outcome: Outcome
    reason: str
    console: str
    stdout: bytes
    stderr: bytes
    command: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def explain(self, console_lines: int = 30) -> str:
        """What a failed test shows: how it ended, the console's last lines, the command that repeats it."""
        tail = "\n".join(self.console.splitlines()[-console_lines:]) or "(empty)"
        parts = [f"{self.outcome}, status {self.status}, after {self.seconds:.1f} s: {self.reason or '-'}"]
        if self.stderr:
            parts.append("standard error:\n" + self.stderr.decode(errors="replace")[-2000:].rstrip())
        parts += ["console:\n" + tail, "again:\n" + shlex.join(self.command)]
        return "\n".join(parts)


_END = re.compile(
    r'^(?:tacet|linux): (exit|stop) status=(\d{1,3})(?: reason="((?:[^"\\]|\\.)*)")?\s*$', re.MULTILINE
)


def parse_end(console: str) -> tuple[Outcome, int | None, str]:
    """How a run ended, by the last line of its kind on the console.

    `tacet: exit status=N`, `linux: exit status=N`: a program ended. `tacet: stop status=N reason="…"`: the
    node did.
    """
    ends = [end for end in _END.finditer(console.replace("\r", "")) if int(end[2]) <= 255]
    if not ends:
        panic = re.search(r"Kernel panic - not syncing: .*", console)
        return (
            "no-status",
            None,
            panic[0].strip() if panic else "the machine switched itself off without a status",
        )
    kind, status, reason = ends[-1].groups()
    return ("exit" if kind == "exit" else "stop"), int(status), re.sub(r"\\(.)", r"\1", reason or "")
