# SPDX-License-Identifier: BSD-2-Clause
"""The interface to `tools/qemu`, which runs a program on Tacet or Linux in QEMU.

Only this module puts the folder `tools` on Python's path. The lab's programs take a `Runner`, so that tests
can pass one that runs nothing.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import ROOT

#: Goes back to the beginning of a terminal's line and clears it.
REWRITE = "\r\033[K"


class Result(Protocol):
    """The result of a run in `tools/qemu`: the fields that the lab reads."""

    status: int | None
    outcome: str
    reason: str
    console: str
    stdout: bytes
    stderr: bytes
    command: list[str]
    seconds: float


class Runner(Protocol):
    """The part of `tools/qemu` that the lab uses; the keywords are documented there."""

    #: raised when a run cannot begin
    RunnerError: type[Exception]

    def run_tacet(self, app: Path, args: list[str], **keywords: Any) -> Result: ...

    def run_linux(self, app: Path, args: list[str], **keywords: Any) -> Result: ...


def load() -> Runner:
    """Returns the real runner. Raises LabError."""
    tools = str(ROOT / "tools")
    if tools not in sys.path:
        sys.path.insert(0, tools)
    try:
        return importlib.import_module("qemu")  # type: ignore[return-value]
    except ModuleNotFoundError as error:
        raise LabError(f"the runner cannot be loaded from {tools}: {error}") from None


def program_found(path: Path) -> Path:
    """Returns `path` if the program exists, else LabError that says how to get it."""
    if not path.is_file():
        raise LabError(f"{path}: no such program; build it with `make apps`, or name another")
    return path


def console_tail(result: Result, lines: int = 25) -> str:
    """Returns the end of a run's console and of its standard error, for an error message."""
    parts = []
    for title, text in (
        ("standard error", result.stderr.decode(errors="replace")),
        ("console", result.console),
    ):
        tail = text.rstrip().splitlines()[-lines:]
        if tail:
            parts.append(f"--- end of the {title} ---\n" + "\n".join(tail))
    return "\n".join(parts)


def run_failed(system: str, result: Result) -> LabError:
    """Returns the error of a run that did not end normally."""
    return LabError(
        f"{system}: {result.outcome}: {result.reason or 'no reason given'} (status {result.status}, "
        f"{result.seconds:.0f} s)\n{console_tail(result)}\ncommand: {shlex.join(result.command)}"
    )


#: If output is not a terminal, the time between messages about a long run, s.
ALIVE_SECONDS = 60.0


def run_shown(
    title: str, out: TextIO, call: Callable[[], Result], expected_seconds: float | None = None
) -> Result:
    """Calls `call` and says on `out` that it runs, how long it has been running, how long it may still take
    if that is known, and how it ended: on a terminal in one line that is rewritten."""
    begun = time.monotonic()
    ended = threading.Event()
    terminal = out.isatty()

    def report_progress() -> None:
        while not ended.wait(1.0 if terminal else ALIVE_SECONDS):
            passed = time.monotonic() - begun
            left = (expected_seconds or 0.0) - passed
            words = f"{title} … {passed:.0f} s" + (f", about {left:.0f} s left" if left >= 1 else "")
            print(
                f"{REWRITE}{words}" if terminal else words, end="" if terminal else "\n", file=out, flush=True
            )

    print(f"{title} …", end="" if terminal else "\n", file=out, flush=True)
    reporter = threading.Thread(target=report_progress, daemon=True)
    reporter.start()
    try:
        result = call()
    finally:
        ended.set()
        reporter.join()
        print(REWRITE if terminal else "", end="", file=out, flush=True)
    print(f"{title}: {result.outcome}, {time.monotonic() - begun:.1f} s", file=out, flush=True)
    return result


def result_checked(system: str, result: Result) -> Result:
    """Returns `result` if its program ended with status 0, else raises LabError."""
    if result.outcome != "exit" or result.status != 0:
        raise run_failed(system, result)
    return result


def figures_keep(path: Path, figures: Any, text: str, out: TextIO) -> None:
    """Writes the figures of a benchmark as JSON, whole or not at all, and prints them as `text`. OSError if
    the file cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text_write(path, json.dumps(figures, indent=2) + "\n")
    print(f"\n{text}\n\n{path}", file=out, flush=True)
