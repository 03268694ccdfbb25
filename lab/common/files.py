# SPDX-License-Identifier: BSD-2-Clause
"""Writes files whole or not at all: the old file stays until the new content is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.common.errors import LabError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a path in the same folder, with the same suffix, to write to. At the end that file replaces
    `path`; on any failure, also an interrupt, it is removed. A pipe or a device is written directly. LabError
    if the file cannot be written: the system's own error on a full disk names no file."""
    target = Path(os.path.realpath(path))  # a symbolic link stays; the file that it names is replaced
    regular = target.is_file() or not target.exists()
    part = target.with_name(f"{target.stem}.part{os.getpid()}{target.suffix}") if regular else target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield part
        if regular:
            os.replace(part, target)
    except BaseException as error:
        if regular:
            try:
                part.unlink(missing_ok=True)
            except OSError:
                pass  # if the folder cannot be written, there is no file to remove
        if isinstance(error, OSError):
            kept = "; what was there before is unchanged" if regular and target.is_file() else ""
            raise LabError(f"{path}: cannot be written: {error.strerror or error}{kept}") from None
        raise


def text_write(path: Path, text: str) -> None:
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def bytes_write(path: Path, content: bytes) -> None:
    with written_whole(path) as part:
        part.write_bytes(content)
