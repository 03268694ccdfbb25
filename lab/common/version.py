# SPDX-License-Identifier: BSD-2-Clause
"""Versions of the software, for results that are kept: digests of what computes them. So each change counts,
without a number that must be increased, and the same files have the same version on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lab.common.paths import ROOT

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
