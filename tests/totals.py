# SPDX-License-Identifier: BSD-2-Clause
"""Reads the numbers that stages print."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A line of numbers: pytest's last one, `N passed, M failed` of a fuzzer's run, `NAME: N passed, M failed` of
#: a host test.
COUNTS = re.compile(r"^(?:[=. ]*|\w[\w ./-]*: )(?=\d+ (?:passed|failed|skipped|error))(.*)$")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
#: A line of pytest's --durations, and of tests/host/run.py.
DURATION = re.compile(r"^\s*(\d+\.\d+)s (?:call|setup|teardown)\s+(\S.*)$")
SLOWEST_SHOWN = 3
#: What ports/fetch.py and ports/apt.sh say of a download.
FETCHED = re.compile(r"^\s*FETCHED \S+ in (\d+) s$")


@dataclass
class Total:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, line: str) -> bool:
        """Takes a line's numbers; False if it holds none."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        if not (counts := COUNTS.match(plain)):
            return False
        for number, kind in COUNT.findall(counts[1]):
            if kind == "passed":
                self.passed += int(number)
            elif kind == "skipped":
                self.skipped += int(number)
            else:
                self.failed += int(number)
        return True

    def __iadd__(self, other: Total) -> Total:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (
            f", {self.skipped} skipped" if self.skipped else ""
        )


def downloads(lines: list[str]) -> str:
    """The seconds that downloads took meanwhile (ports/ says so), as an end of a stage's line."""
    seconds = sum(int(found[1]) for found in map(FETCHED.match, lines) if found)
    return f", {seconds} s of downloads meanwhile" if seconds else ""


def slowest(lines: list[str]) -> str:
    """The slowest tests of a stage, as an end of its line."""
    found = [(float(m[1]), m[2].rsplit("/", 1)[-1].strip()) for m in map(DURATION.match, lines) if m]
    shown = sorted(found, reverse=True)[:SLOWEST_SHOWN]
    return "".join(
        f"{', ' if i else '; slowest: '}{name} {seconds:.0f} s" for i, (seconds, name) in enumerate(shown)
    )
