# SPDX-License-Identifier: BSD-2-Clause
"""What all programs of the service node have in common: their help, and how they say that a word is wrong."""

from __future__ import annotations

import subprocess

import pytest

from tests.making import ROOT, made

SERVICE = ROOT / "build/service"
PATIENCE_S = 60
#: Each program, and the exit status with which it says that it could not do its part.
PROGRAMS = {
    "conductor": 1,
    "conductorctl": 1,
    "listener": 1,
    "tacet-launchd": 1,
    "tacet-mpirun": 125,
    "tacetrun": 125,
}


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_is_there_and_names_its_program(program: str) -> None:
    done = subprocess.run([SERVICE / program, "--help"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {program} ") and done.stderr == ""


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_that_cannot_be_written_is_a_failure(program: str) -> None:
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([SERVICE / program, "--help"], stdout=full, timeout=PATIENCE_S)
    assert done.returncode == PROGRAMS[program]


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_option_that_there_is_not_is_named_in_a_line(program: str) -> None:
    done = subprocess.run([SERVICE / program, "--colour"], capture_output=True, text=True, timeout=PATIENCE_S)
    said = f"{program}: --colour: no such option ({program} --help)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
