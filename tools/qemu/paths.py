# SPDX-License-Identifier: BSD-2-Clause
"""Paths of the tree, of built files, and of files that are made for QEMU."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from .errors import RunnerError
from .sizes import size_text

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TACET_BUILD") or ROOT / "build")
#: The default architecture's kernel; `kernel` gives the others.
KERNEL = BUILD / "x86_64" / "tacet.elf"
BUSYBOX = Path("/bin/busybox")

#: How many files of each kind `keep` leaves in build/run.
KEPT_MAX = 64


def kernel(arch: str) -> Path:
    """The kernel of an architecture."""
    return BUILD / arch / KERNEL.name


def keep(name: str, content: bytes) -> Path:
    """Write a file to build/run, named by its content, so that a command that was shown works later. The
    newest KEPT_MAX files stay. RunnerError if it cannot be written."""
    folder = BUILD / "run"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}-{name}"
    part = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.touch()
            return path
        handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except OSError as error:
        if part:
            Path(part).unlink(missing_ok=True)
        raise RunnerError(
            f"cannot write {name}, {size_text(len(content))}, to {folder}: {error.strerror}"
        ) from None
    by_age = sorted((p for p in folder.iterdir() if p.suffix == path.suffix), key=_age)
    for old in by_age[:-KEPT_MAX]:
        old.unlink(missing_ok=True)
    return path


def _age(path: Path) -> float:
    """A file's time of modification; 0 if another run has removed the file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
