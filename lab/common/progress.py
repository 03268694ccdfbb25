# SPDX-License-Identifier: BSD-2-Clause
"""A bar on a terminal for work that takes long."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 30
#: Work that ends before this shows nothing, s; the bar changes no oftener than this.
AFTER_S = 2.0
STEP_S = 0.2


class Bar:
    """Shows how much of `total` is done. Nothing if standard error is no terminal."""

    def __init__(self, total: int, words: str, out: TextIO | None = None) -> None:
        self.total = max(total, 1)
        self.words = words
        self.out = out or sys.stderr
        self.done = 0
        self.begin = time.monotonic()
        self.next = self.begin + AFTER_S if self.out.isatty() else float("inf")

    def add(self, amount: int) -> None:
        self.done += amount
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + STEP_S
        share = min(self.done / self.total, 1.0)
        full = int(WIDTH * share)
        left_s = (now - self.begin) * (1 / share - 1) if share else 0.0
        bar = "#" * full + "." * (WIDTH - full)
        self.out.write(f"\r[{bar}] {100 * share:3.0f} %  {self.words}, {left_s:.0f} s left \x1b[K")
        self.out.flush()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.out.isatty() and self.next > self.begin + AFTER_S:
            self.out.write("\r\x1b[K")
            self.out.flush()
