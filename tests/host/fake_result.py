# SPDX-License-Identifier: BSD-2-Clause
"""What runs in QEMU return, and a runner, for tests of the lab that run nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class FakeResult:
    stdout: bytes = b""
    stderr: bytes = b""
    status: int | None = 0
    outcome: str = "exit"
    reason: str = ""
    console: str = "first line\nlast words of the console\n"
    command: list[str] = field(default_factory=lambda: ["qemu", "-m", "256M"])
    seconds: float = 1.0


class FakeRunner:
    """Answers with what `answer` makes of the system, the program's name and its arguments."""

    class RunnerError(Exception):
        pass

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[tuple[str, str, list[str], dict[str, Any]]] = []

    def _call(self, system: str, app: Path, args: list[str], keywords: dict[str, Any]) -> Any:
        self.calls.append((system, app.name, list(args), keywords))
        answer = self.answer(system, app.name, list(args))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run_tacet(self, app: Path, args: list[str], **keywords: Any) -> Any:
        return self._call("tacet", app, args, keywords)

    def run_linux(self, app: Path, args: list[str], *, variant: str = "stock", **keywords: Any) -> Any:
        return self._call(variant, app, args, keywords)


def option(args: list[str], letter: str) -> str:
    return args[args.index(letter) + 1]
