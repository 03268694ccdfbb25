# SPDX-License-Identifier: BSD-2-Clause
"""The comparison with a real Linux kernel: the same FTQ on both, Tacet silent, Linux not."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from tests.making import made

pytestmark = pytest.mark.xdist_group("compare")

FIGURES = {
    "disturbed_quanta": int,
    "noise_ratio": float,
    "max_loss_ns": (int, float),
    "kernel_entries": int,
    "quantum_ns": int,
    "operation_instructions": int,
}


@dataclass
class Comparison:
    folder: Path
    printed: str
    figures: dict[str, Any]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """One comparison, for all tests here."""
    made("build/linux/version")
    folder = tmp_path_factory.mktemp("compare")
    command = ["tools/lab", "compare", "--out", str(folder), "--samples", "1000"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return Comparison(folder, ran.stdout, json.loads((folder / "ftq.json").read_text()))


@pytest.mark.parametrize("system", ["tacet", "linux"])
def test_each_system_has_its_figures(system: str, comparison: Comparison) -> None:
    figures = comparison.figures[system]
    for name, kind in FIGURES.items():
        assert isinstance(figures[name], kind), (name, figures)
    assert figures["quantum_ns"] == 1_000_000 and 0 < figures["operation_instructions"] <= 300
    assert "tools/lab compare" in comparison.figures["command"]


def test_tacet_is_silent(comparison: Comparison) -> None:
    tacet = comparison.figures["tacet"]
    assert tacet["disturbed_quanta"] == 0 and tacet["kernel_entries"] == 0
    assert tacet["noise_ratio"] == 0 and tacet["max_loss_ns"] == 0


def test_linux_is_not_silent_or_the_method_is_blind(comparison: Comparison) -> None:
    linux = comparison.figures["linux"]
    # 250 ticks a second in a second of samples.
    assert 160 <= linux["disturbed_quanta"] <= 400, linux
    assert linux["kernel_entries"] >= 200 and linux["noise_ratio"] > 0.0001, linux


def test_a_tuned_linux_has_figures_or_a_reason_why_not(comparison: Comparison) -> None:
    tuned = comparison.figures["linux_tuned"]
    assert tuned.get("absent") or all(name in tuned for name in FIGURES), tuned
    if not tuned.get("absent"):
        assert tuned["kernel_entries"] < comparison.figures["linux"]["kernel_entries"] / 10, tuned
        # In bounded turns they are this CPU's own figures: nothing is marked.
        assert tuned["turns_ns"] and not tuned["remark"] and "Linux, tuned *" not in comparison.printed
        assert tuned["disturbed_quanta"] <= tuned["kernel_entries"] + 1, tuned


def test_both_noises_stand_side_by_side(comparison: Comparison) -> None:
    header = next(
        line
        for line in comparison.printed.splitlines()
        if "Tacet" in line and "Linux" in line and "…" not in line
    )
    assert header.index("Tacet") < header.index("Linux")
    assert re.search(r"disturbed quanta\s+0 of 1000\s+\d+ of 1000", comparison.printed), comparison.printed
    assert (comparison.folder / "ftq.png").read_bytes().startswith(b"\x89PNG")
    for system in ("tacet", "linux"):
        assert (comparison.folder / f"ftq-{system}.dat").read_text().startswith("#")


def test_tacet_and_linux_are_shown_before_the_tuned_linux_is_measured(comparison: Comparison) -> None:
    first = comparison.printed.split("FTQ on Linux, tuned", 1)[0]
    assert re.search(r"^disturbed quanta\s+0 of 1000\s+\d+ of 1000$", first, re.M), first
    assert f"{comparison.folder}/ftq.png" in first


def test_the_kernels_command_lines_stand_below_the_table(comparison: Comparison) -> None:
    below = comparison.printed.rsplit("command lines of the kernels:", 1)[1]
    assert re.search(r"^  Linux +console=ttyS0 quiet$", below, re.M), below
    assert re.search(r"^  Tacet +.*argv0=ftq -- -n 1000", below, re.M), below
    assert comparison.figures["linux_tuned"].get("absent") or "nohz_full=1" in below


def test_the_readme_shows_what_make_run_prints(comparison: Comparison) -> None:
    """`make run` is `tools/lab compare --out build/report`, and its digits are the same every time."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = next(
        block
        for block in re.findall(r"^```\w*\n(.*?)^```", readme, re.M | re.S)
        if "disturbed quanta" in block
    )
    shown = [line.rstrip() for line in table.splitlines() if not line.startswith(("$", "…"))]
    printed = comparison.printed.replace(str(comparison.folder), "build/report")
    lines = [line.rstrip() for line in printed.splitlines()]
    begin = lines.index(shown[0]) if shown[0] in lines else 0
    assert lines[begin : begin + len(shown)] == shown, printed
