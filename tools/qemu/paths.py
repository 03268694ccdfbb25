# SPDX-License-Identifier: BSD-2-Clause
"""Where things are: the tree, what is built, and the files that are made for QEMU."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TACET_BUILD") or ROOT / "build")
KERNEL = BUILD / "x86_64" / "tacet.elf"
BUSYBOX = Path("/bin/busybox")

#: How many archives `keep` leaves in build/run.
ARCHIVES_MAX = 64


def keep(name: str, content: bytes) -> Path:
    """A file for QEMU, named by its content, so that a command that was shown works later. The newest ones
    stay."""
    folder = BUILD / "run"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}-{name}"
    if path.exists():
        path.touch()
        return path
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(part, path)
    by_age = sorted((p for p in folder.iterdir() if p.suffix == ".cpio"), key=lambda p: p.stat().st_mtime)
    for old in by_age[:-ARCHIVES_MAX]:
        old.unlink(missing_ok=True)
    return path
