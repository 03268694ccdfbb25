# SPDX-License-Identifier: BSD-2-Clause
"""Runs spin on a model: searches all of its states, or up to the first error."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

MEMORY_MIB, DEPTH = 1024, 100_000
#: Words by which pan says that it has not searched all states.
PARTLY = ("max search depth too small", "out of memory", "pan: reached", "search not completed")


#: GCC's optimization of pan. A search that ends at an early error takes less time than optimizing would; some
#: hundred thousand states are worth light optimization, millions are worth more.
SHORT, WHOLE, HUGE = "-O0", "-Og", "-O1"


def checked(
    folder: Path, model: Path, defines: Sequence[str], is_progress: bool = False, level: str = SHORT
) -> str:
    """Returns the output of pan, the checker that spin makes of the model, up to the first error. It checks
    assertions and invalid end states; with `is_progress` that what must happen happens in the end."""
    spin = ["spin", *(f"-D{name}" for name in defines), "-a", str(model)]
    subprocess.run(spin, cwd=folder, check=True, capture_output=True)
    options = ["-DNFAIR=3"] if is_progress else ["-DSAFETY"]
    compiled = ["gcc", level, "-w", *options, "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"]
    subprocess.run(compiled, cwd=folder, check=True)
    pan = ["./pan", f"-m{DEPTH}", "-n", *(["-a", "-f"] if is_progress else [])]
    return subprocess.run(pan, cwd=folder, check=True, capture_output=True, text=True).stdout


def expect_whole(said: str, more_than: int) -> None:
    """Asserts that pan has searched all states, more than `more_than`, without an error."""
    assert "errors: 0" in said, said
    for partly in PARTLY:
        assert partly not in said, said
    states = re.search(r"([\d.e+]+) states, stored", said)
    assert states and float(states[1]) > more_than, said


def expect_broken(said: str, why: str) -> None:
    """Asserts that pan has found an error, for the reason `why` (a regular expression)."""
    assert "errors: 1" in said, said
    assert re.search(why, said), said
