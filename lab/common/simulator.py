# SPDX-License-Identifier: BSD-2-Clause
"""Calls the LogGOPS simulator (simulator/, docs/lab/loggops.md)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from lab.common import paths
from lab.common.errors import LabError


def sim(words: Sequence[object]) -> str:
    """Runs the simulator and returns its output. LabError with its message if it fails."""
    program = paths.SIMULATOR
    if not program.is_file():
        raise LabError(f"{program}: no simulator; build it with `make sim`")
    try:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LabError(f"{program}: cannot be started: {error}") from None
    if done.returncode:
        raise LabError(done.stderr.strip() or f"{program}: ended with status {done.returncode}")
    return done.stdout
