# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-cores prints what it was given, says what does not hold, and does not take a run without all its
CPUs for a figure."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import cores
from lab.cli import dispatch as lab
from tests.host.fake_result import FakeResult


class Machines:
    """A runner that runs nothing."""

    class RunnerError(Exception):
        pass

    def __init__(self, entries: int = 0, loss_ns: int = 900, silent_cpus: int = 0, absent: str = "") -> None:
        self.entries, self.loss_ns, self.silent_cpus, self.absent = entries, loss_ns, silent_cpus, absent

    def run_tacet(self, app: Path, args: list[str], **keywords: Any) -> FakeResult:
        assert (keywords["icount"], keywords["turns_ns"], keywords["qemu"]) == (0, 10_000, "newest")
        if self.absent:
            raise self.RunnerError(self.absent)
        ranks = range(keywords["cpus"] - self.silent_cpus)
        if app.name == "ftq":
            said = "".join(
                f"{rank}: kernel_entries: {self.entries}\n{rank}: kernel_entries_source: the kernel\n"
                f"{rank}: largest_loss_ns: {self.loss_ns + rank} ns\n"
                for rank in ranks
            )
            return FakeResult(b"", said.encode())
        if args == ["-w"]:
            return FakeResult(b"futex_wake_ticks_median 858\n", b"")
        slept = {"min": 828, "median": 830, "max": 1066}
        lines = [f"{r}: sleep_exact_late_{part}_ns {ns + r}\n" for r in ranks for part, ns in slept.items()]
        return FakeResult("".join(lines).encode(), b"")


def run(tmp_path: Path, machines: Machines) -> tuple[int, str, dict[str, Any]]:
    for name in ("ftq", "cost"):
        (tmp_path / name).write_bytes(b"")
    out = io.StringIO()
    status = lab.main(
        ["bench-cores", "--apps", str(tmp_path), "--out", str(tmp_path)], machines=machines, out=out
    )
    written = tmp_path / "bench_cores.json"
    return status, out.getvalue(), json.loads(written.read_text()) if written.exists() else {}


def test_figures_of_each_number_of_cpus_stand_in_table_and_file(tmp_path: Path) -> None:
    status, said, found = run(tmp_path, Machines())
    assert status == 0 and list(found) == ["2", "4", "8"]
    assert found["8"] == {
        "entries": 0, "loss_ns": 907, "wake": 858, "late_min_ns": 828, "late_median_ns": 837,
        "late_max_ns": 1073, "held": True,
    }  # fmt: skip
    assert "longest loss of a quantum, ns" in said and "NO" not in said


@pytest.mark.parametrize(
    ("machines", "line"),
    [(Machines(entries=1), "kernel entries of all"), (Machines(loss_ns=9_995), "longest loss of a quantum")],
)
def test_what_does_not_hold_is_said(machines: Machines, line: str, tmp_path: Path) -> None:
    status, said, found = run(tmp_path, machines)
    (shown,) = (text for text in said.splitlines() if line in text)
    assert status == 0 and shown.endswith("NO") and not found["8"]["held"]


def test_a_cpu_that_says_nothing_is_no_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, found = run(tmp_path, Machines(silent_cpus=1))
    assert status == 1 and not found
    assert "2 CPUs must print kernel_entries, but 1 did" in capsys.readouterr().err


def test_without_qemu_10_the_figures_are_absent(tmp_path: Path) -> None:
    status, said, found = run(tmp_path, Machines(absent="turns of 10000 ns need QEMU 10"))
    assert status == 0 and not found and "several CPUs: absent: turns of 10000 ns need QEMU 10" in said
    assert not cores.held(cores.Figures(0, 10_000, 1, 1, 1, 1))["loss_ns"]
