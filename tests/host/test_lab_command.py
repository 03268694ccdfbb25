# SPDX-License-Identifier: BSD-2-Clause
"""The `lab` command: its help, its registration, and how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as command


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[command.Command, ...]:
    """Commands whose modules are there, absent, and broken."""
    (tmp_path / "plug_here.py").write_text(
        "def add_parser(subparsers):\n"
        "    subparsers.add_parser('here', description='returns its number').add_argument('--number', "
        "type=int)\n"
        "def run(options):\n"
        "    if options.number is None:\n"
        "        from lab.common.errors import DataError\n"
        "        raise DataError('file:3: no number')\n"
        "    return options.number\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return (
        command.Command("here", "plug_here", "is here"),
        command.Command("gone", "plug_gone.command", "is not"),
    )


def test_a_plugged_command_gets_its_options(plugged: tuple[command.Command, ...]) -> None:
    assert command.main(["here", "--number", "7"], plugged) == 7


def test_a_command_without_module_is_not_offered(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["help"], plugged) == 0
    text = capsys.readouterr().out
    assert "is here" in text and "is not" not in text
    assert command.main(["gone"], plugged) == 2
    assert capsys.readouterr().err == "lab: no such command: 'gone'; there are here, and help\n"


def test_an_error_of_the_data_is_one_line_and_status_1(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["here"], plugged) == 1
    assert capsys.readouterr().err == "lab here: file:3: no number\n"


def test_help_of_a_command_reports_its_options(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["help", "here"], plugged)
    assert ended.value.code == 0
    assert "--number" in capsys.readouterr().out


def test_the_wrapper_works_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "tools/lab", "help"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.startswith("lab: ")
    done = subprocess.run([ROOT / "tools/lab"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "usage" in done.stderr
