# SPDX-License-Identifier: BSD-2-Clause
"""Files written whole or not at all: what is there stays until the new content is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.common.errors import LabError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A path of the same ending, beside it, to write to; what is there becomes `path` at the end, or is
    removed when something fails, an interrupt too. LabError if it cannot be written: on a full disk the
    system's own error names no file. A pipe or a device is written as it is."""
    target = Path(os.path.realpath(path))  # a link stays, and its file is another one
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
                pass  # where nothing can be written, nothing was
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
