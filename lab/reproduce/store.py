# SPDX-License-Identifier: BSD-2-Clause
"""Stores results so that they survive an interruption: one file per point, written whole or not at all, which
the next run uses.

A point is identified by its name and everything that it depends on. If any of that changes, the point is
computed again.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from lab.common.files import text_write

BAR_WIDTH = 30


class Progress:
    """A bar on a terminal, else a line now and then. `total` may grow while points are added."""

    def __init__(self, total: int, out: TextIO | None = None) -> None:
        self.total = total
        self.done = 0
        self.again = 0
        self.out = out or sys.stderr
        self.begin = time.monotonic()
        self.shown = -10

    def step(self, words: str, again: bool) -> None:
        self.done += 1
        self.again += again
        percent = 100 * self.done // max(self.total, 1)
        seconds = time.monotonic() - self.begin
        if self.out.isatty():
            full = BAR_WIDTH * min(self.done, self.total) // max(self.total, 1)
            bar = "#" * full + "." * (BAR_WIDTH - full)
            end = "\n" if self.done == self.total else ""
            self.out.write(f"\r[{bar}] {self.done}/{self.total} {seconds:5.0f} s  {words[:60]:<60}{end}")
        elif percent >= self.shown + 10:
            self.shown = percent
            self.out.write(f"{self.done}/{self.total} {seconds:.0f} s  {words}\n")
        self.out.flush()


class Store:
    """The points of the experiments, in a folder."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.progress = progress

    def point(self, name: str, depends: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Returns the point's value, which must fit JSON: from its file, or computed now and stored."""
        key = json.dumps(depends, sort_keys=True)
        words = re.sub(r"[^a-zA-Z0-9.-]+", "-", name)[:80]
        path = self.folder / "points" / f"{words}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            again = kept["depends"] == json.loads(key)
        except (OSError, ValueError, KeyError, TypeError):
            again = False
        if not again:
            kept = {"name": name, "depends": depends, "value": compute()}
            text_write(path, json.dumps(kept))
        self.progress.step(name, again)
        return kept["value"]
