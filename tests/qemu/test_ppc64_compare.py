# SPDX-License-Identifier: BSD-2-Clause
"""The comparison with a real Linux kernel on POWER: the same FTQ on both, Tacet silent, Linux not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from tests.making import made

pytestmark = pytest.mark.xdist_group("compare")

SAMPLES = 400
#: Linux's timer, which Debian has at 250 a second.
TICKS = SAMPLES * 250 // 1000


def compared(folder: Path) -> tuple[str, dict[str, Any]]:
    """What is printed, and the figures; by QEMU's own firmware, which starts at once."""
    words = ["--arch", "ppc64", "--firmware", "vof", "--samples", str(SAMPLES), "--out", str(folder)]
    ran = subprocess.run(
        ["tools/lab", "compare", *words], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, json.loads((folder / "ftq.json").read_text())


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of two comparisons, for all tests here."""
    made("kernel", "apps", "build/linux-ppc64/version", "build/ppc64/busybox", "ARCH=ppc64")
    folders = [tmp_path_factory.mktemp("compare") for _ in range(2)]
    for folder in folders:
        printed, _ = compared(folder)
        (folder / "printed").write_text(printed)
    return folders


def figures_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "ftq.json").read_text())


def test_tacet_is_silent_on_power(comparisons: list[Path]) -> None:
    figures = figures_of(comparisons[0])
    assert figures["arch"] == "ppc64"
    tacet = figures["tacet"]
    assert tacet["disturbed_quanta"] == 0 and tacet["kernel_entries"] == 0, tacet
    assert tacet["noise_ratio"] == 0 and tacet["max_loss_ns"] == 0, tacet


def test_linux_is_not_silent_on_power_or_the_method_is_blind(comparisons: list[Path]) -> None:
    linux = figures_of(comparisons[0])["linux"]
    assert TICKS <= linux["disturbed_quanta"] <= TICKS + 10, linux
    assert TICKS <= linux["kernel_entries"] <= TICKS + 10, linux
    assert linux["kernel_entries_by_cause"]["LOC"] >= TICKS, linux
    assert 1_000 < linux["max_loss_ns"] < 100_000, linux


def test_both_noises_of_power_stand_side_by_side(comparisons: list[Path]) -> None:
    printed = (comparisons[0] / "printed").read_text()
    assert f"0 of {SAMPLES}" in printed and "zero detours" in printed
    assert "Linux, tuned" not in printed
    assert (comparisons[0] / "ftq.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("system", ["tacet", "linux"])
def test_two_comparisons_on_power_have_the_same_digits(system: str, comparisons: list[Path]) -> None:
    first, second = ((folder / f"ftq-{system}.dat").read_bytes() for folder in comparisons)
    assert first == second


def test_the_page_of_power_shows_what_make_run_prints(tmp_path: Path, comparisons: list[Path]) -> None:
    """`make run ARCH=ppc64` is `tools/lab compare --arch ppc64`, by the real firmware."""
    words = ["tools/lab", "compare", "--arch", "ppc64", "--out", str(tmp_path)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    page = (ROOT / "docs" / "power.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    shown = next(block for block in blocks if "disturbed quanta" in block)
    lines = [line.rstrip() for line in ran.stdout.splitlines()]
    rows = [line.rstrip() for line in shown.splitlines()]
    assert any(lines[at : at + len(rows)] == rows for at in range(len(lines))), ran.stdout


def test_costs_of_power_stand_beside_linux_s(tmp_path: Path, comparisons: list[Path]) -> None:
    """The table of costs that `make bench ARCH=ppc64` prints."""
    words = ["tools/lab", "bench", "--arch", "ppc64", "--firmware", "vof", "--out", str(tmp_path)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    figures = json.loads((tmp_path / "bench.json").read_text())
    assert figures["arch"] == "ppc64"
    for name in ("getpid_instructions", "boot_instructions", "kernel_memory_bytes", "map_page_instructions"):
        both = figures[name].get("large", figures[name])
        assert 0 < both["tacet"] < both["linux"], (name, figures[name])
    assert "a tick of the clock is 1.95 instructions" in ran.stdout
