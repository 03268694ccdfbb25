# SPDX-License-Identifier: BSD-2-Clause
"""Versions of the software, for results that are kept or shown. What is kept has digests of what computes it:
each change counts, without a number that must be increased, and the same files have the same version on every
machine. What is shown to readers names the commit."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lab.common.paths import ROOT

UNKNOWN = "tacet, version unknown"
#: Letters of a digest that are kept.
LETTERS = 12


def files_version(paths: Iterable[Path]) -> str:
    """Returns a digest of the files' contents, in this order. OSError if one cannot be read."""
    whole = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        whole.update(len(content).to_bytes(8, "little") + content)
    return whole.hexdigest()[:LETTERS]


@cache
def lab_version() -> str:
    """Returns the version of the lab's own code: of all its Python files."""
    return f"lab {files_version(sorted((ROOT / 'lab').rglob('*.py')))}"


@cache
def version() -> str:
    """Returns `tacet` and the first twelve digits of the tree's commit, with `+` if files differ from it;
    UNKNOWN outside a git tree or without git."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return f"tacet {done.stdout.strip()}" if done.returncode == 0 and done.stdout.strip() else UNKNOWN
