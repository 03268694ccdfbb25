# SPDX-License-Identifier: BSD-2-Clause
"""Makes what several test files need, one at a time: pytest's workers run side by side, and two makes of one
target disturb each other."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def made(*targets: str, seconds: float = 900) -> None:
    """The targets exist and are up to date. AssertionError with what make said."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "--no-print-directory", "-j2", *targets],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    assert done.returncode == 0, f"make {' '.join(targets)}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
