# SPDX-License-Identifier: BSD-2-Clause
"""Stores results so that they survive an interruption: one file per point, written whole or not at all, which
the next run uses.

A point is identified by its name and everything that it depends on. If any of that changes, the point is
computed again. Each also carries the version of the software that computed it, and the seed. A value of
another version is not used: it is named, and computed again.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.common.files import text_write
from lab.common.version import lab_version

BAR_WIDTH = 30


class Progress:
    """A bar on a terminal, else a line now and then. `total` may grow while points are added."""

    def __init__(self, total: int, out: TextIO | None = None) -> None:
        self.total = total
        self.done = 0
        self.again = 0
        self.outdated = 0
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

    def named(self, words: str) -> None:
        """Writes a line of its own."""
        self.out.write(f"\r{words:<{BAR_WIDTH + 80}}\n" if self.out.isatty() else f"{words}\n")


@dataclass(frozen=True)
class Maker:
    """What computes a point: the version of the software (lab/common/version.py), and the seed, None if
    nothing is random."""

    version: str
    seed: int | None = None


class Store:
    """The points of the experiments, in a folder."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.progress = progress
        self.versions = {lab_version()}  # of all software that made what was used

    def point(
        self, name: str, depends: dict[str, Any], compute: Callable[[], Any], maker: Maker | None = None
    ) -> Any:
        """Returns the point's value, which must fit JSON: from its file, or computed now and stored. Without
        `maker` it is the lab itself."""
        maker = maker or Maker(lab_version())
        self.versions.add(maker.version)
        key = json.dumps(depends, sort_keys=True)
        words = re.sub(r"[^a-zA-Z0-9.-]+", "-", name)[:80]
        path = self.folder / "points" / f"{words}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.json"
        kept = self._kept(path, json.loads(key), maker)
        again = kept is not None
        if kept is None:
            kept = {"name": name, **asdict(maker), "depends": depends, "value": compute()}
            text_write(path, json.dumps(kept))
        self.progress.step(name, again)
        return kept["value"]

    def _kept(self, path: Path, depends: Any, maker: Maker) -> dict[str, Any] | None:
        """Returns the content of a point's file, or None if there is none that can be used."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["depends"] != depends or "value" not in kept:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        made = Maker(kept.get("version", "an unknown version"), kept.get("seed"))
        if made == maker:
            return kept
        self.progress.outdated += 1
        by, now = (made.version, maker.version) if made.version != maker.version else (
            f"seed {made.seed}", f"seed {maker.seed}",
        )  # fmt: skip
        self.progress.named(f"{path.name}: made by {by}, now {now}: computed again")
        return None
