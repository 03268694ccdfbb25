# SPDX-License-Identifier: BSD-2-Clause
"""Reads what a host did during its measurement: /proc/interrupts and /proc/stat from before and after.

Interrupts are counts per second by line and CPU. /proc/stat gives shares of each CPU's time: `stolen` is what
the hypervisor kept, `busy` all time that was neither idle nor waiting for I/O. If a copy is missing or
damaged, or the first is not older than the second, the result is empty, never partial.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

BYTES_MAX = 1 << 24


@dataclass(frozen=True)
class Line:
    """A line of /proc/interrupts: its name (`24`, `LOC`), its description, and interrupts per second by
    CPU."""

    name: str
    what: str
    per_second: dict[int, float]


@dataclass
class Activity:
    """`busy` and `stolen`: shares of each CPU's time."""

    lines: list[Line] = field(default_factory=list)
    busy: dict[int, float] = field(default_factory=dict)
    stolen: dict[int, float] = field(default_factory=dict)

    def line(self, name: str) -> Line | None:
        return next((line for line in self.lines if line.name == name), None)

    @property
    def devices(self) -> list[Line]:
        """The interrupts of devices: the lines whose name is a number."""
        return [line for line in self.lines if line.name.isdigit()]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""


def _interrupts(text: str) -> dict[str, tuple[str, dict[int, int]]]:
    head, _, rest = text.partition("\n")
    cpus = [int(word[3:]) for word in head.split() if re.fullmatch(r"CPU\d{1,5}", word)]
    found: dict[str, tuple[str, dict[int, int]]] = {}
    for line in rest.split("\n"):
        name, colon, values = line.partition(":")
        words = values.split(None, len(cpus))
        counts = words[: len(cpus)]
        if colon and cpus and len(counts) == len(cpus) and all(re.fullmatch(r"\d{1,18}", c) for c in counts):
            what = " ".join(words[len(cpus)].split()) if len(words) > len(cpus) else ""
            found[name.strip()] = what, dict(zip(cpus, map(int, counts)))
    return found


def _stat(text: str) -> dict[int, list[int]]:
    found = {}
    for match in re.finditer(r"^cpu(\d{1,5})((?: \d{1,18}){8,12})$", text, re.M):
        found[int(match[1])] = [int(word) for word in match[2].split()]
    return found


def activity_read(folder: Path, lasted_s: float | None) -> Activity:
    """Returns the difference of the two copies in a host's folder; empty if it is unknown. `lasted_s` is the
    length of the run, None if unknown."""
    found = Activity()
    before, after = (_interrupts(_text(folder / f"interrupts-{when}.txt")) for when in ("before", "after"))
    if lasted_s:
        for name, (what, counts) in after.items():
            earlier = before.get(name, ("", {}))[1]
            rises = {
                cpu: (count - earlier[cpu]) / lasted_s for cpu, count in counts.items() if cpu in earlier
            }
            if rises and min(rises.values()) >= 0 and max(rises.values()) > 0:
                found.lines.append(Line(name, what, rises))
    first, last = (_stat(_text(folder / f"stat-{when}.txt")) for when in ("before", "after"))
    for cpu in sorted(set(first) & set(last)):
        spent = [b - a for a, b in zip(first[cpu], last[cpu])][:8]  # guest time is part of user time
        if min(spent) < 0 or not sum(spent):
            continue
        found.busy[cpu] = 1 - (spent[3] + spent[4]) / sum(spent)
        found.stolen[cpu] = spent[7] / sum(spent)
    return found
