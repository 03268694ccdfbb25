# SPDX-License-Identifier: BSD-2-Clause
"""What tests/recorder.py has written in a run: how each test ended, and what it cost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests import budget
from tests.budget import Cost

#: A test without a measurement is named if it costs more than this many budgets: on a busy machine CPU
#: times vary.
UNMEASURED_FACTOR = 1.5


@dataclass(frozen=True)
class Test:
    """One test's record, as recorder.py describes it."""

    name: str
    cpu_s: float
    wall_s: float
    outcome: str
    fixtures: tuple[str, ...] = ()
    skip: str = ""
    lost_time: bool = False
    said: str = ""

    @property
    def idle_s(self) -> float:
        return max(0.0, self.wall_s - self.cpu_s)


@dataclass
class Records:
    """One run's tests, and by name what each making of a shared fixture cost."""

    tests: list[Test] = field(default_factory=list)
    fixtures: dict[str, list[Cost]] = field(default_factory=lambda: defaultdict(list))
    #: What tests had to make although a stage had built what they need: CPU seconds, by make's targets.
    made: Counter[str] = field(default_factory=Counter)
    #: All cases that were collected, whether they ran or not: `short`, `long` by their cost, or `marked` as
    #: long by hand.
    collected: dict[str, str] = field(default_factory=dict)

    def __iadd__(self, other: Records) -> Records:
        self.tests += other.tests
        self.collected |= other.collected
        self.made += other.made
        for name, made in other.fixtures.items():
            self.fixtures[name] += made
        return self

    def lost(self) -> list[Test]:
        """The tests that failed by lost time alone."""
        return [test for test in self.tests if test.outcome == "failed" and test.lost_time]

    def skips(self) -> Counter[str]:
        """How many tests were skipped for each reason."""
        return Counter(test.skip for test in self.tests if test.outcome == "skipped")


def read(folder: Path) -> Records:
    """Reads all of a folder. A line that a killed process has not finished is left out."""
    records = Records()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "test" in row:
                row["fixtures"] = tuple(row["fixtures"])
                records.tests.append(Test(name=row.pop("test"), **row))
            elif "fixture" in row:
                cost = Cost(row["cpu_s"], max(0.0, row["wall_s"] - row["cpu_s"]))
                records.fixtures[row["fixture"]].append(cost)
            elif "made" in row:
                records.made[row["made"]] += row["cpu_s"]
    if (collected := folder / "collected.txt").is_file():
        for line in collected.read_text(encoding="utf-8").splitlines():
            kind, _, name = line.partition(" ")
            records.collected[name] = kind
    return records


def costs_of(records: Records, slowness: float) -> dict[str, Cost]:
    """The cost of each test that passed: its own, and its share of the fixtures that it shares with others,
    each made once. Seconds are the reference machine's."""
    users = Counter(name for test in records.tests for name in test.fixtures)
    shares = {
        name: Cost(
            sum(cost.cpu_s for cost in made) / len(made) / users[name],
            sum(cost.idle_s for cost in made) / len(made) / users[name],
        )
        for name, made in records.fixtures.items()
        if users[name]
    }

    def whole(test: Test) -> Cost:
        parts = [Cost(test.cpu_s, test.idle_s), *(shares[name] for name in test.fixtures if name in shares)]
        return Cost(
            sum(part.cpu_s for part in parts) / slowness, sum(part.idle_s for part in parts) / slowness
        )

    return {test.name: whole(test) for test in records.tests if test.outcome == "passed"}


def unmeasured(records: Records, known: budget.Costs, slowness: float) -> list[tuple[str, Cost]]:
    """Tests without a line in tests/costs.txt that cost much more CPU time than their budget."""
    return sorted(
        (name, cost)
        for name, cost in costs_of(records, slowness).items()
        if name not in known.tests and cost.cpu_s > UNMEASURED_FACTOR * budget.BUDGET_S
    )


def merged(
    known: budget.Costs, measured: dict[str, Cost], collected: dict[str, str], remark: str
) -> budget.Costs:
    """`known`, with what was measured now in its place. A stage of which some were measured now gets the sum
    of its tests below the listed ones from them. Of a stage that was `collected`, tests that are not among
    these are gone."""
    listed = budget.listed(measured)
    rest = dict(known.rest_cpu_s)
    for stage in {budget.stage_of(name) for name in measured}:
        of_stage = (n for n in measured if n not in listed and budget.stage_of(n) == stage)
        rest[stage] = sum(measured[name].cpu_s for name in of_stage if collected.get(name) != "marked")
    stages = {budget.stage_of(name) for name in collected}
    stay = {
        name: cost
        for name, cost in known.tests.items()
        if name not in measured and (name in collected or budget.stage_of(name) not in stages)
    }
    tests = {**stay, **listed}
    elsewhere = (name for name in known.kept if budget.stage_of(name) not in stages)
    kept = budget.kept_of(tests, collected, budget.long_functions()) | frozenset(elsewhere)
    return budget.Costs(tests, rest, (remark,), kept)


def refused_skips(skips: Iterable[str], listed: Iterable[str]) -> list[str]:
    """The reasons that no listed beginning covers."""
    known = tuple(listed)
    return [reason for reason in skips if not reason.startswith(known)]
