# SPDX-License-Identifier: BSD-2-Clause
"""spin on a model: all of its states, whole or up to the first error."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

MEMORY_MIB, DEPTH = 1024, 100_000
#: That is no whole search.
PARTLY = ("max search depth too small", "out of memory", "pan: reached", "search not completed")


#: How GCC compiles pan: a search that ends at an early error takes less time than an optimizer, the search of
#: some hundred thousand states is worth a light one, that of millions a real one.
SHORT, WHOLE, HUGE = "-O0", "-Og", "-O1"


def checked(
    folder: Path, model: Path, defines: Sequence[str], is_progress: bool = False, level: str = SHORT
) -> str:
    """Returns what pan, the checker that spin makes of the model, says of it, up to the first error: of
    assertions and ends that are none, or of what must come in the end."""
    spin = ["spin", *(f"-D{name}" for name in defines), "-a", str(model)]
    subprocess.run(spin, cwd=folder, check=True, capture_output=True)
    options = ["-DNFAIR=3"] if is_progress else ["-DSAFETY"]
    compiled = ["gcc", level, "-w", *options, "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"]
    subprocess.run(compiled, cwd=folder, check=True)
    pan = ["./pan", f"-m{DEPTH}", "-n", *(["-a", "-f"] if is_progress else [])]
    return subprocess.run(pan, cwd=folder, check=True, capture_output=True, text=True).stdout


def expect_whole(said: str, more_than: int) -> None:
    """All states, more than so many, and no error."""
    assert "errors: 0" in said, said
    for partly in PARTLY:
        assert partly not in said, said
    states = re.search(r"([\d.e+]+) states, stored", said)
    assert states and float(states[1]) > more_than, said


def expect_broken(said: str, why: str) -> None:
    """An error, for the reason that belongs to it."""
    assert "errors: 1" in said, said
    assert re.search(why, said), said
