# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-programs prints what it was given, sees a difference, and does not take a failed run for a
figure."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import programs
from lab.cli import dispatch as lab


@dataclass
class Ended:
    stdout: bytes
    status: int | None = 0
    stderr: bytes = b""
    outcome: str = "exit"
    reason: str = ""
    console: str = ""
    command: list[str] = field(default_factory=lambda: ["qemu"])
    seconds: float = 1.0


class Machines:
    """A runner that runs nothing."""

    class RunnerError(Exception):
        pass

    def __init__(self, linux_ticks: int = 1000, entries: int = 0, cores_fail: bool = False) -> None:
        self.linux_ticks, self.entries, self.cores_fail = linux_ticks, entries, cores_fail

    def run_tacet(self, app: Path, args: list[str], **keywords: Any) -> Ended:
        if "-t" in args and self.cores_fail:
            return Ended(b"", 73, b"stream: thread 1 cannot be started\n")
        return Ended(f"least_ticks 1000\nmean_ticks 1000\nkernel_entries {self.entries}\n".encode())

    def run_linux(self, app: Path, args: list[str], **keywords: Any) -> Ended:
        return Ended(f"least_ticks {self.linux_ticks}\nmean_ticks {self.linux_ticks + 9}\n".encode())


def run(tmp_path: Path, machines: Machines) -> tuple[int, str, dict[str, Any]]:
    for name in programs.PROGRAMS:
        (tmp_path / name).write_bytes(b"")
    out = io.StringIO()
    status = lab.main(
        ["bench-programs", "--apps", str(tmp_path), "--out", str(tmp_path)], machines=machines, out=out
    )
    written = tmp_path / "bench_programs.json"
    return status, out.getvalue(), json.loads(written.read_text()) if written.exists() else {}


def test_equal_instructions_and_no_entry_hold(tmp_path: Path) -> None:
    status, printed, written = run(tmp_path, Machines())
    assert status == 0 and "NO" not in printed and all(figures["held"] for figures in written.values())
    assert written["stream"]["entries"] == {"1": 0, "2": 0, "4": 0}


@pytest.mark.parametrize(
    "machines", [Machines(linux_ticks=998), Machines(entries=1), Machines(cores_fail=True)]
)
def test_a_difference_an_entry_or_a_missing_figure_does_not_hold(machines: Machines, tmp_path: Path) -> None:
    status, printed, written = run(tmp_path, machines)
    assert status == 0 and "NO" in printed and not written["stream"]["held"]
    assert not machines.cores_fail or "thread 1 cannot be started" in printed


def test_a_program_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        lab.main(["bench-programs", "--apps", str(tmp_path), "--out", str(tmp_path)], machines=Machines())
        == 1
    )
    assert "no such program" in capsys.readouterr().err
