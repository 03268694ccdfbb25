# SPDX-License-Identifier: BSD-2-Clause
"""The result of an experiment: published values compared with ours, as a table and as JSON, and the data of
its picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.common.text import table
from lab.reproduce.store import Store

#: The paper's simulations for each number of ranks [Hoefler10 §IV-B].
SIMULATIONS = 1000
#: By default at most this number of messages for each number of ranks, but at least SIMULATIONS_MIN
#: simulations.
MESSAGES_MAX = 20_000_000
SIMULATIONS_MIN = 20


@dataclass(frozen=True)
class Settings:
    """The extent of an experiment. `quick` is for tests and a first look."""

    store: Store
    folder: Path
    quick: bool = False
    simulations: int | None = None
    largest: int = 20  # log2 of the most ranks
    threads: int = 0
    seed: int = 1

    def logs(self, first: int = 2, step: int = 2) -> list[int]:
        """Returns numbers of ranks, as their log2."""
        last = min(self.largest, 8) if self.quick else self.largest
        return list(range(first, last + 1, step))

    def repeat(self, messages: int, samples: int = 1) -> int:
        """Returns the number of simulations of `messages` each; one simulation shows `samples` places of the
        noise."""
        if self.simulations:
            return self.simulations
        least = -(-SIMULATIONS_MIN // samples)
        return min(30 if self.quick else SIMULATIONS, max(least, MESSAGES_MAX // messages))


#: Text instead of a deviation if our value was made from the published one.
RESTATED = "is input"


@dataclass(frozen=True)
class Row:
    """A published value and ours; `ours` has a value for each variant (usually the noise rule). `published`
    may be text. `restates`: ours was made from the published value, so their agreement means nothing."""

    what: str
    published: float | str | None
    ours: Mapping[str, float]
    restates: bool = False

    def deviation(self, key: str) -> float | None:
        if isinstance(self.published, (int, float)) and self.published and key in self.ours:
            return self.ours[key] / self.published - 1
        return None


@dataclass(frozen=True)
class Outcome:
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    draw: Callable[[Path, int], None] | None = None  # draws to a path, with a width in pixels
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        rows = [
            {
                "what": row.what,
                "published": row.published,
                "ours": dict(row.ours),
                "restates": row.restates,
                "deviation": {key: row.deviation(key) for key in row.ours},
            }
            for row in self.rows
        ]
        return {"title": self.title, "rows": rows, "notes": list(self.notes), "data": dict(self.data)}

    def as_text(self) -> str:
        keys = list(dict.fromkeys(key for row in self.rows for key in row.ours))
        head = ["", "published", *(word for key in keys for word in (key, "deviation"))]
        lines = []
        for row in self.rows:
            line = [row.what, _text(row.published)]
            for key in keys:
                deviation = row.deviation(key)
                off = "" if deviation is None else RESTATED if row.restates else f"{100 * deviation:+.0f} %"
                line += [_text(row.ours.get(key)), off]
            lines.append(line)
        return typeset("\n".join([self.title, "", table(head, lines), "", *self.notes]).rstrip() + "\n")


def typeset(text: str) -> str:
    """Writes us as µs, as pictures have it. Rows have names that a program can type."""
    return re.sub(r"\bus\b", "µs", text)


def _text(value: float | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if value else "0"


@dataclass(frozen=True)
class Experiment:
    """An experiment: its name on the command line, its place in the papers, what it shows, and the function
    that runs it."""

    name: str
    paper: str
    summary: str
    run: Callable[[Settings], Outcome]
    measured: bool = False  # runs machines in QEMU


@dataclass(frozen=True)
class Waiting:
    """A figure or table that cannot be repeated here yet: its place, what it shows, what it needs."""

    paper: str
    summary: str
    needs: str


#: The cost of a detour: the three rules of docs/lab/loggops.md.
RULES = ("loggopsim", "paper2010", "physical")


def by_rule(values: Mapping[str, float]) -> dict[str, float]:
    """Returns the values in the rules' order; a rule may be missing."""
    return {rule: values[rule] for rule in RULES if rule in values}


def ranks_text(ranks: int) -> str:
    return f"{ranks:,}"
