# SPDX-License-Identifier: BSD-2-Clause
"""The units of systemd: how little they leave open, by systemd's own judgement, and that each thing that
tacet-launchd's leaves open has a reason in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONDUCTOR = ROOT / "service/conductor/tacet-conductor.service"
LAUNCHD = ROOT / "service/launchd/tacet-launchd.service"


def judged(unit: Path) -> tuple[float, list[str]]:
    """The exposure of a unit, 0 to 10, and the names of what is open."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", unit]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={"SYSTEMD_COLORS": "0"})
    level = re.search(rf"Overall exposure level for {unit.name}: (\d+\.\d)", done.stdout)
    assert level, done
    return float(level[1]), re.findall(r"^✗ (\S+)", done.stdout, re.MULTILINE)


def test_the_conductor_s_unit_leaves_little_open() -> None:
    level, _ = judged(CONDUCTOR)
    assert level < 4


def test_what_launchd_s_unit_leaves_open_has_a_reason() -> None:
    level, open_ = judged(LAUNCHD)
    assert level < 7 and len(open_) > 10
    reasons = "".join(line for line in LAUNCHD.read_text().splitlines(True) if line.startswith("#   "))
    missing = []
    for name in open_:
        option, _, value = name.partition("=")
        if option == "CapabilityBoundingSet":  # ~CAP_NET_(BIND_SERVICE|BROADCAST|RAW)
            begin, _, ends = value.strip("~)").partition("(")
            known = any(f"{begin}{end}" in reasons for end in ends.split("|"))
        else:
            known = f"{option}=" in reasons
        missing += [] if known else [name]
    assert not missing


def test_jobs_have_a_group_below_the_service_s() -> None:
    assert "\nDelegate=yes\n" in LAUNCHD.read_text()
