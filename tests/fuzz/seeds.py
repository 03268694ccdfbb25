# SPDX-License-Identifier: BSD-2-Clause
"""Generates the fuzzers' first inputs, so that no binary is kept in the tree."""

from collections.abc import Callable, Iterator
from pathlib import Path

GENERATORS: dict[str, Callable[[], Iterator[bytes]]] = {}


def write(name: str, folder: Path) -> None:
    """Writes the seeds of fuzzer `name` as numbered files; none is fine."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = GENERATORS.get(name)
    if generator is None:
        return
    for number, content in enumerate(generator()):
        (folder / str(number)).write_bytes(content)
