# SPDX-License-Identifier: BSD-2-Clause
"""What a run in QEMU returns, for tests of the lab that run nothing."""

from __future__ import annotations

from dataclasses import dataclass, field


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
