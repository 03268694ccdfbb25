# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-deaths prints a row for each death, and names the cluster's message if figures are missing."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import deaths
from lab.common.errors import LabError


def cluster_says(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 125, "\n".join(lines), "cluster: node3 has stopped")

    monkeypatch.setattr(deaths.subprocess, "run", run)


def test_each_death_has_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [
        "deaths: " + json.dumps({mode: {row: at + 0.25 for at, row in enumerate(deaths.ROWS)}})
        for mode in deaths.PROGRAMS
    ]
    cluster_says(monkeypatch, "node1: spins", *lines)
    out = io.StringIO()
    options = argparse.Namespace(out=tmp_path, program=Path("/bin/jobs"))
    assert deaths.run(options, out=out) == 0
    rows = out.getvalue().splitlines()[2:]
    assert all(line.startswith(row) for line, row in zip(rows, deaths.ROWS, strict=True))
    assert rows[0].split()[-4:-2] == ["0.2", "s"] and rows[4].endswith("4.2 s")
    assert set(json.loads((tmp_path / "deaths.json").read_text())) == set(deaths.PROGRAMS)


def test_a_cluster_that_ends_early_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_says(monkeypatch, 'deaths: {"wait": {}}')
    with pytest.raises(LabError, match="status 125:\ncluster: node3 has stopped"):
        deaths.measure(Path("/bin/jobs"))
