# SPDX-License-Identifier: BSD-2-Clause
"""Says which software made a saved value: its commit, and whether the tree had changes of its own."""

from __future__ import annotations

import subprocess
from functools import lru_cache

from lab.common import paths

UNKNOWN = "tacet, version unknown"


@lru_cache(maxsize=1)
def version() -> str:
    """Returns `tacet` and the first twelve digits of the tree's commit, with `+` if files differ from it;
    UNKNOWN outside a git tree or without git."""
    words = ["git", "-C", str(paths.ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return f"tacet {done.stdout.strip()}" if done.returncode == 0 and done.stdout.strip() else UNKNOWN
