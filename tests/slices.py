# SPDX-License-Identifier: BSD-2-Clause
"""Which of the long tests each `make test` runs: a slice of at most budget.SLICE_S seconds of all workers.

The long tests that tests/costs.txt has a cost of are cut, in the order of their names, into slices; a test
that costs more than a slice is one of its own. The cost of a test is the time for which it has a worker
(`price`), and what has to be built first counts once in a slice (BUILDS). The number of commits picks the
slice, so that commit after commit all of them come. Before it come the long tests of the rooms that the
change touches, by the table in tests/README.md.

The change is what differs from a base: $BASE, else the merge base with origin/main, else HEAD^. A tree whose
history is missing has no change, and its commit's hash picks the slice.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tests.budget import Cost
from tests.running import ROOT
from tests.stages import CPUS

#: A test that costs more than this many slices is in no slice: make test-long alone runs it.
SLICES_MAX = 2.0
#: What only some long tests build, by words in their names: CPU seconds.
BUILDS = {"sqlite": 116.0, "curl": 66.0, "test_mpich.py": 280.0}
#: Tests that a single worker runs, one after the other: the other workers have nothing to do.
SERIAL = "tests/documents/"


@dataclass(frozen=True)
class Choice:
    """A slice's tests, its number (from 0), the count of slices, and what the change was compared with ("" if
    nothing)."""

    tests: list[str]
    number: int
    count: int
    base: str


def price(name: str, cost: Cost) -> float:
    """The seconds of workers that a long test takes."""
    return (cost.cpu_s + cost.idle_s) * (CPUS if name.startswith(SERIAL) else 1)


def build_of(name: str) -> str:
    """The word of BUILDS in a test's name; "" if there is none."""
    return next((word for word in BUILDS if word in name), "")


def whole_cost(names: Collection[str], costs: Mapping[str, float]) -> float:
    """What tests cost together, with what they build, each of it once."""
    builds = {build_of(name) for name in names} - {""}
    return sum(costs[name] for name in names) + sum(BUILDS[word] for word in builds)


def cut(costs: Mapping[str, float], slice_s: float) -> list[list[str]]:
    """Cuts tests, in the order of what they build and of their names, into slices, none above `slice_s`
    unless it is a single test."""
    whole = {name: whole_cost([name], costs) for name in costs}
    names = sorted(costs, key=lambda name: (build_of(name), name))
    alone = [[name] for name in names if slice_s < whole[name] <= SLICES_MAX * slice_s]
    small = [name for name in names if whole[name] <= slice_s]
    slices: list[list[str]] = []
    filled = math.inf
    for name in small:
        same = filled < math.inf and build_of(slices[-1][-1]) == build_of(name)
        cost = costs[name] if same else whole[name]
        if filled + cost > slice_s:
            slices.append([])
            filled, cost = 0.0, whole[name]
        slices[-1].append(name)
        filled += cost
    return slices + alone


def rooms_of(page: str) -> dict[str, set[str]]:
    """Reads the table of tests/README.md, "Which tests hold which room": for each path of the tree, the names
    of the files with its tests."""
    rooms: dict[str, set[str]] = {}
    for line in page.partition("## Which tests hold which room")[2].partition("\n## ")[0].splitlines():
        cells = line.split("|")
        if line.startswith("| `"):
            names = {PurePath(name).name for cell in cells[2:] for name in re.findall(r"`([\w/]+)`", cell)}
            for path in re.findall(r"`([^`]+)`", cells[1]):
                rooms[path] = rooms.get(path, set()) | names
    return rooms


def touched(changed: Sequence[str], rooms: Mapping[str, set[str]]) -> set[str]:
    """The names of the files with tests of what has changed: of the innermost room of each path, and files
    with tests that have changed themselves."""
    found: set[str] = set()
    for path in changed:
        around = [room for room in rooms if path.startswith(room)]
        if around:
            found |= rooms[max(around, key=len)]
        if (own := PurePath(path)).suffix == ".py" and own.name.startswith("test_"):
            found.add(own.stem)
    return found


def chosen(
    costs: Mapping[str, float], slice_s: float, number: int, first: set[str], base: str = ""
) -> Choice:
    """The slice with this number, modulo their count; before its tests come those of the files named in
    `first`, and both together stay below a slice's cost. If `first` have more than fits, the number picks a
    slice of them."""
    slices = cut(costs, slice_s)
    if not slices:
        return Choice([], 0, 0, base)
    number %= len(slices)
    before = cut({n: c for n, c in costs.items() if PurePath(n.partition("::")[0]).stem in first}, slice_s)
    tests = list(before[number % len(before)]) if before else []
    for name in slices[number]:
        if name not in tests and (not tests or whole_cost([*tests, name], costs) <= slice_s):
            tests.append(name)
    return Choice(tests, number, len(slices), base)


def git(*words: str) -> str:
    """What git says, or "" if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def base_of_change(named: str) -> str:
    """The commit that the change is compared with; "" if none. ValueError if `named` is no commit."""
    if named:
        if not (found := git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")):
            raise ValueError(f"BASE={named}: there is no such commit")
        return found
    head, merged = git("rev-parse", "HEAD"), git("merge-base", "origin/main", "HEAD")
    return merged if merged and merged != head else git("rev-parse", "--verify", "--quiet", "HEAD^")


def changed_since(base: str) -> list[str]:
    """Paths that differ from a commit, those that git does not know yet included."""
    if not base:
        return []
    listed = git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")
    return sorted({path for text in listed for path in text.splitlines()})


def commit_number() -> int:
    """How many commits there are; where history is missing, a number from the commit's hash."""
    if git("rev-parse", "--is-shallow-repository") == "false" and (
        count := git("rev-list", "--count", "HEAD")
    ):
        return int(count)
    return int(git("rev-parse", "HEAD") or "0", 16)


def of_this_tree(costs: Mapping[str, float], slice_s: float, number: int | None, base: str | None) -> Choice:
    """The slice of the tree as it is; `number` and `base`, if given, instead of what git says."""
    found = base_of_change(os.environ.get("BASE", "") if base is None else base)
    rooms = rooms_of((ROOT / "tests" / "README.md").read_text(encoding="utf-8"))
    first = touched(changed_since(found), rooms)
    return chosen(costs, slice_s, commit_number() if number is None else number, first, found)
