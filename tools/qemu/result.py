# SPDX-License-Identifier: BSD-2-Clause
"""The result of a run, and how its end is read from the console."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .report import with_names

Outcome = Literal["exit", "stop", "timeout", "no-status", "qemu-failed"]


@dataclass
class Result:
    """The result of one run.

    outcome   exit         the program ended, with `status`
              stop         the node stopped for `reason`, with `status`
              timeout      the time limit passed
              no-status    the machine switched itself off without reporting how the program ended
              qemu-failed  QEMU, or another emulator, did not run; `reason` is its message
    console   the output of COM1
    command   a shell command that starts the same machine, with the console on the terminal
    seconds   wall time from start to end
    kernel    the Tacet kernel that ran, which has names for the console's addresses

    After a timeout:

    postmortem     lines that say where each CPU was, with its call chain
    flight_log     the file of the flight log that was found in the node's memory
    no_flight_log  why there is none
    """

    status: int | None
    outcome: Outcome
    reason: str
    console: str
    stdout: bytes
    stderr: bytes
    command: list[str] = field(default_factory=list)
    seconds: float = 0.0
    kernel: Path | None = None
    postmortem: list[str] = field(default_factory=list)
    flight_log: Path | None = None
    no_flight_log: str = ""

    def explain(self) -> str:
        """The text that a failed test shows."""
        how = f"{self.outcome}, status {self.status}, after {self.seconds:.1f} s: {self.reason or '-'}"
        said = self.stderr.decode(errors="replace")[-2000:].rstrip()
        return "\n".join([how, *(["standard error:\n" + said] if said else []), self.details()])

    def details(self, console_lines: int = 30) -> str:
        """The console's last lines, where the CPUs were, and the command that repeats the run."""
        tail = "\n".join(self.console.splitlines()[-console_lines:]) or "(empty)"
        parts = ["console:\n" + with_names(tail, self.kernel)]
        if self.postmortem:
            parts.append("\n".join(["where the CPUs were:", *self.postmortem]))
        if self.flight_log:
            parts.append(f"the flight log so far: tools/lab klog {shlex.quote(str(self.flight_log))}")
        elif self.no_flight_log:
            parts.append(self.no_flight_log)
        return "\n".join([*parts, "again:\n" + shlex.join(self.command)])

    def module_bytes(self) -> int:
        """The size of the boot module in bytes; 0 if there is none."""
        try:
            return Path(self.command[self.command.index("-initrd") + 1]).stat().st_size
        except (ValueError, OSError):
            return 0


_END = re.compile(
    r'^(?:tacet|linux): (exit|stop) status=(\d{1,3})(?: reason="((?:[^"\\]|\\.)*)")?\s*$', re.MULTILINE
)


def parse_end(console: str) -> tuple[Outcome, int | None, str]:
    """How a run ended, according to the console's last such line:

    tacet: exit status=N, linux: exit status=N    a program ended
    tacet: stop status=N reason="…"               the node stopped
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
