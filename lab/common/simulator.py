# SPDX-License-Identifier: BSD-2-Clause
"""Calls the LogGOPS simulator (simulator/, docs/lab/loggops.md)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lab.common import paths
from lab.common.errors import LabError
from lab.common.version import files_version


def sim(words: Sequence[object]) -> str:
    """Runs the simulator and returns its output. LabError with its message if it fails."""
    program = _program()
    try:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LabError(f"{program}: cannot be started: {error}") from None
    if done.returncode:
        raise LabError(done.stderr.strip() or f"{program}: ended with status {done.returncode}")
    return done.stdout


@cache
def sim_version() -> str:
    """Returns the version of the simulator: of its program's file. LabError if it is missing."""
    return f"simulator {files_version([_program()])}"


def _program() -> Path:
    if not paths.SIMULATOR.is_file():
        raise LabError(f"{paths.SIMULATOR}: no simulator; build it with `make sim`")
    return paths.SIMULATOR
